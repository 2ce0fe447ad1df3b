"""Solvers, checker and exhaustive oracle on many random tiny problems: `python benchmarks/agreement.py [COUNT] [SEED]`.

Prints how many II verdicts and shortest lengths were compared, per engine, and stops at the first disagreement.  CI compares 200
problems (tests/properties/test_joint_oracle.py); this is the recorded run.
"""

from __future__ import annotations

import importlib.util
import random
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parent.parent / "tests"


def load_oracle() -> None:
    """Make tests/oracle importable as `oracle`, as tests/properties/conftest.py does."""
    folder = TESTS / "oracle"
    spec = importlib.util.spec_from_file_location("oracle", folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None and spec.loader is not None
    sys.modules["oracle"] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)


load_oracle()

from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from oracle import brute_force  # noqa: E402
from oracle.strategies import problems  # noqa: E402

from twill.asking import Asker  # noqa: E402
from twill.engines.process import ProcessEngine  # noqa: E402
from twill.engines.registry import available  # noqa: E402
from twill.joint.assemble import Question  # noqa: E402
from twill.problem import Problem  # noqa: E402
from twill.verify import check  # noqa: E402


def compare(problem: Problem, ii: int, engines: list[ProcessEngine], tally: dict[str, int]) -> None:
    """One problem at one II with every engine; AssertionError names the disagreement."""
    shortest = brute_force.feasible(problem, ii)
    tally["feasible" if shortest is not None else "infeasible"] += 1
    for engine in engines:
        asker = Asker(problem, engine)
        found = asker.ask(Question(problem, ii))
        assert (found is None) == (shortest is None), (engine.name, ii, shortest, problem)
        if shortest is None:
            continue
        best = asker.ask(Question(problem, ii, shortest))
        assert found is not None and best is not None and best.length == shortest, (engine.name, ii, problem)
        assert not check(problem, found).violations and not check(problem, best).violations, (engine.name, ii, problem)
        assert shortest == 1 or asker.ask(Question(problem, ii, shortest - 1)) is None, (engine.name, ii, problem)


def main() -> None:
    """Compare COUNT problems."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    start = int(sys.argv[2]) if len(sys.argv) > 2 else random.Random(0).randrange(2**32)
    engines = [ProcessEngine(name) for name in available()]
    tally = {"feasible": 0, "infeasible": 0}

    @seed(start)
    @settings(max_examples=count, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(problem=problems(max_ops=4), ii=st.integers(1, 4))
    def run(problem: Problem, ii: int) -> None:
        compare(problem, ii, engines, tally)

    begun = time.monotonic()
    run()
    for engine in engines:
        engine.close()
    names = " and ".join(engine.name for engine in engines)
    print(
        f"{sum(tally.values())} problems ({tally['feasible']} feasible, {tally['infeasible']} infeasible at their II), seed {start}: "
        f"{names}, checker and oracle agree on all; {time.monotonic() - begun:.0f} s"
    )


if __name__ == "__main__":
    main()
