"""Every recorded schedule of the bundled examples through expansion, round trip, protocol proof and event graph.

    python benchmarks/pipeline_checks.py [FOLDER]

FOLDER holds schedules as `twill schedule --json` writes them (default: the recorded ones of the tests).  One line a schedule: how large
the program is, whether its text reads back as the same program, the protocol proof (runs, events, CPU seconds) and the exact period
beside the initiation interval.  The values of the same programs are compared with the interpreter's, bit by bit and for trip counts
0 to 7, by `tests/unit/test_executor_examples.py`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from twill.backends.pipelined_ir import from_text, to_text
from twill.errors import TwillError
from twill.frontends.graph_json import read_schedule
from twill.perf.text import table
from twill.pipeline import expand
from twill.simulate.protocol import prove
from twill.simulate.timing import timing

RECORDED = Path(__file__).parent.parent / "tests" / "golden" / "schedules"
HEAD = ("schedule", "groups", "rings", "instructions", "round trip", "protocol", "runs", "events", "CPU s", "period", "II")


def row(name: str, path: Path) -> tuple[str, ...]:
    """The checks of one schedule; what is wrong in words where it does not get that far."""
    read = read_schedule(path)
    if read.schedule is None:
        return (name, "", "", "", "no schedule in the file", "", "", "", "", "", "")
    try:
        program = expand(read.problem, read.schedule)
    except TwillError as error:
        return (name, "", "", "", str(error), "", "", "", "", "", str(read.schedule.ii))
    same = "same" if from_text(to_text(program)) == program else "DIFFERS"
    begun = time.process_time()
    proof = prove(program, read.problem)
    seconds = time.process_time() - begun
    found = timing(program, read.problem)
    size = sum(len(group.body) for group in program.groups)
    return (
        *(name, str(len(program.groups)), str(len(program.buffers)), str(size), same),
        *("proved" if proof.holds else "FAILS", str(len(proof.runs)), str(proof.events), f"{seconds:.2f}"),
        *(str(found.period), str(program.ii)),
    )


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    for path in sorted(folder.rglob("*.json")):
        yield row(path.relative_to(folder).with_suffix("").as_posix(), path)


def main() -> int:
    print(table(HEAD, list(rows(Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDED))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
