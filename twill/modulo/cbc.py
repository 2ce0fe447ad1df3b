"""CBC through PuLP 3: the model as a PuLP problem, the CBC binary that PuLP brings, PuLP's reader of its solution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twill.errors import SolverError
from twill.modulo.child import run
from twill.modulo.linear import LinearModel
from twill.modulo.question import Question, Reply

# CBC prints eight significant digits, so start cycles are exact below this; longer horizons go to another solver.
HORIZON_LIMIT = 10**8

# CBC decides the loops that we know within 300 nodes; beyond this many CP-SAT is the better choice.  A count, not a time: the answer
# does not depend on the machine.
NODE_LIMIT = 2000

# Cuts and heuristics cost more than they save here: the windows have done their work (measured: 3 to 8 times slower with them).
_OPTIONS = ("-threads", "1", "-randomSeed", "1", "-randomCbcSeed", "1", "-cuts", "off", "-heuristics", "off")
_STRICT = ("-integerTolerance", "1e-9", "-primalTolerance", "1e-9")
_REMEDY = "Reinstall PuLP 3 (python -m pip install --force-reinstall 'pulp>=3,<4'), which brings the CBC binary."


class Cbc:
    """CBC as a stage 1 solver."""

    exact = False

    @property
    def name(self) -> str:
        """Name with the version of PuLP, which fixes that of CBC."""
        import importlib.metadata

        return f"CBC of PuLP {importlib.metadata.version('pulp')}"

    def solve(self, question: Question, *, time_limit: float | None, strict: bool) -> Reply:
        """See `question.Solver`.  `strict` also declares the starts integer."""
        try:
            return self._solve(question, time_limit, strict)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise SolverError(f"the files that CBC reads and writes cannot be made: {reason}.", remedy="Set TMPDIR.") from error

    def _solve(self, question: Question, time_limit: float | None, strict: bool) -> Reply:
        import tempfile
        import warnings

        import pulp

        with warnings.catch_warnings():
            # PuLP 3.3 announces names that PuLP 4 drops; the dependency is pinned below 4.
            warnings.simplefilter("ignore", DeprecationWarning)
            problem, variables = _pulp_problem(question.linear, strict)
            with tempfile.TemporaryDirectory(prefix="twill-cbc-") as folder:
                solution = Path(folder, "solution")
                names = problem.writeMPS(str(Path(folder, "model.mps")), rename=1)
                command = _command(Path(folder, "model.mps"), solution, time_limit, strict)
                try:
                    ended = run(command, time_limit=time_limit)
                except OSError as error:
                    raise SolverError(f"CBC cannot be started: {error.strerror}: {command[0]}.", remedy=_REMEDY) from error
                if ended is None:
                    return Reply("not solved", {}, comment="CBC did not stop at its time limit")
                if ended[0] != 0 or not solution.exists():
                    raise SolverError(f"CBC ended with status {ended[0]} and without a solution file.", remedy=_REMEDY)
                reader = pulp.PULP_CBC_CMD(msg=False)
                status, values, _, _, _, certainty = reader.readsol_MPS(str(solution), problem, *names[:3])
        proved = status == pulp.LpStatusOptimal and certainty == pulp.LpSolutionOptimal
        feasible = status == pulp.LpStatusOptimal and not proved
        infeasible = status == pulp.LpStatusInfeasible
        word = "optimal" if proved else "feasible" if feasible else "infeasible" if infeasible else "not solved"
        if word in ("infeasible", "not solved"):
            return Reply(word, {}, comment=f"CBC found no schedule within {NODE_LIMIT} nodes and its time")
        starts = {op.name: values.get(variables[v].name) for v, op in enumerate(question.problem.ops)}
        comment = "" if proved else f"CBC proved no optimum within {NODE_LIMIT} nodes and its time"
        return Reply(word, starts, values.get(variables[question.linear.objective].name), comment)


def _pulp_problem(model: LinearModel, strict: bool) -> tuple[Any, list[Any]]:
    import pulp

    problem = pulp.LpProblem("modulo", pulp.LpMinimize)
    whole = [column.whole or strict for column in model.columns]
    variables = [
        pulp.LpVariable(column.name, column.low, column.high, pulp.LpInteger if integer else pulp.LpContinuous)
        for column, integer in zip(model.columns, whole, strict=True)
    ]
    problem += variables[model.objective]
    for row in model.rows:
        terms = pulp.LpAffineExpression([(variables[column], coefficient) for coefficient, column in row.terms])
        if row.low is not None:
            problem += terms >= row.low
        if row.high is not None:
            problem += terms <= row.high
    return problem, variables


def _command(model: Path, solution: Path, time_limit: float | None, strict: bool) -> list[str]:
    import pulp

    limit = [] if time_limit is None else ["-timeMode", "elapsed", "-seconds", f"{time_limit:.3f}"]
    options = [*limit, "-maxNodes", str(NODE_LIMIT), *_OPTIONS, *(_STRICT if strict else ())]
    output = ["-solve", "-printingOptions", "all", "-solution", str(solution)]
    return [pulp.PULP_CBC_CMD.pulp_cbc_path, str(model), *options, *output]
