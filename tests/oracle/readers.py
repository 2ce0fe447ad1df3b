"""What twill does with the text of a file before it searches, for fuzzing: every outcome is a result or a TwillError."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path

from twill import bounds, costs, machine_models, verify
from twill.backends import pipelined_ir
from twill.cli.programs import expanded, written
from twill.errors import TwillError
from twill.frontends import graph_json, ttgir
from twill.graph.kernel import kernel_loop

MOST_OPS = 60
"""Larger graphs are read but not priced and bounded: that would only take time."""


def read_ttgir(path: Path) -> None:
    """Program, graph (nests that Triton flattened are taken apart) and costs."""
    program = ttgir.load(path)
    graph = kernel_loop(program)
    if len(graph.nodes) <= MOST_OPS:
        costs.price(graph, machine_models.load("b200" if "cuda:100" in path.read_text("utf-8", "replace") else "h100"))


def read_json(path: Path) -> None:
    """A problem with its bounds; a schedule with its audit."""
    try:
        problem = graph_json.read_problem(path)
    except TwillError:
        read = graph_json.read_schedule(path)
        if read.schedule is not None and len(read.problem.ops) <= MOST_OPS:
            verify.check(read.problem, read.schedule)
        return
    graph_json.problem_to_json(problem)
    if len(problem.ops) <= MOST_OPS and not bounds.contradictions(problem):
        bounds.lower_bounds(problem)


def read_machine(path: Path) -> None:
    """A machine model."""
    machine_models.load(str(path))


def read_schedule(path: Path) -> None:
    """A recorded schedule as `twill lower` reads it: its program, with the code around the loop where the kernel comes with twill."""
    problem, program = expanded(path)
    pipelined_ir.to_text(program)
    kernel = Path(problem.provenance.file or "").name
    if kernel in {entry.name for entry in resources.files("twill.examples").iterdir()}:
        with resources.as_file(resources.files("twill.examples") / kernel) as example:
            pipelined_ir.to_text(expanded(path, example)[1])


def read_program(path: Path) -> None:
    """Pipelined IR, which is the same program when it is written and read again."""
    program = written(path)
    assert pipelined_ir.from_text(pipelined_ir.to_text(program), "again") == program, "what was written is another program"


READERS: Mapping[str, tuple[str, Callable[[Path], None]]] = {
    "ttgir": (".ttgir", read_ttgir),
    "json": (".json", read_json),
    "machine": (".toml", read_machine),
    "schedule": (".json", read_schedule),
    "program": (".pir", read_program),
}
"""Suffix of the files and what reads them."""


def outcome(reader: str, text: str) -> str:
    """ "read", or the class of the TwillError that says why not; any other exception is a fault of twill and passes through."""
    suffix, read = READERS[reader]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"input{suffix}")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            read(path)
        except TwillError as error:
            sentence = str(error)
            if not sentence or "\n" in sentence or not error.message.strip():
                raise AssertionError(f"not one sentence: {sentence!r}") from error
            return type(error).__name__
    return "read"


def good(reader: str, instances: Path) -> list[str]:
    """Files that twill reads without complaint; `instances` is the folder of that name in tests/golden."""
    if reader == "schedule":
        return [path.read_text(encoding="utf-8") for path in sorted(instances.parent.glob("schedules/hardware/*.json"))]
    if reader == "program":
        return [path.read_text(encoding="utf-8") for path in sorted(instances.parent.glob("*/*.pir"))]
    if reader == "json":
        return [path.read_text(encoding="utf-8") for path in sorted(instances.glob("*.json"))] + [SCHEDULE, PROBLEM]
    package, suffix = ("twill.examples", ".ttgir") if reader == "ttgir" else ("twill.machine_models", ".toml")
    entries = sorted(resources.files(package).iterdir(), key=lambda entry: entry.name)
    return [entry.read_text(encoding="utf-8") for entry in entries if entry.name.endswith(suffix)]


PROBLEM = """{"schema": "twill.problem/1", "name": "p", "limits": {"units": {"TMA": 1, "TC": 2}, "memories": {"smem": 65536}, "warps": 8,
 "registers_per_warp": 6000, "registers_per_sm": null}, "rules": {"cross_warp": false, "window": "cycles", "hold": true, "mixed": false},
 "ops": [
  {"name": "load", "unit": "TMA", "occupancy": 2, "latency": 6, "variable_latency": true, "streaming": true, "memory": {"smem": 16384}},
  {"name": "mma", "reservations": [{"unit": "TC", "offset": 1, "duration": 4, "amount": 2}], "cycles": 9, "issue": 1, "warps": 4,
   "registers": 8192, "spill": 3, "spill_bytes": 9, "asynchronous": true},
  {"name": "add", "rrt": {"TC": [1, 0, 1]}, "warps": 4}],
 "dependences": [{"src": "load", "dst": "mma", "blocking": true, "value": "%7", "in_place": true},
  {"src": "mma", "dst": "mma", "delay": 4, "distance": 1}, {"src": "mma", "dst": "add", "kind": "token"}]}
"""
SCHEDULE = """{"schema": "twill.schedule/1", "ii": 4, "length": 13, "starts": {"load": 0, "mma": 6, "add": 11},
 "groups": {"load": 0, "mma": 1, "add": 1},
 "certificate": {"status": "optimal", "checked": true, "modulo": {"ii": 4, "length": 13},
  "bounds": [{"kind": "resource", "value": 4, "subject": "TC", "ops": ["mma"], "detail": "d"}],
  "claims": [{"objective": "ii", "value": 4, "lower_bound": 4, "proved": true, "evidence": "e"}],
  "refuted": [{"ii": 3, "length": null, "through": "bound", "detail": ""}],
  "reading": "published", "probes": [{"ii": 4, "length": 13, "verdict": "sat", "how": "asked"}], "engines": ["x"]},
 "options": {"engine": "auto", "max_ii": null}, "problem": {"schema": "twill.problem/1", "name": "q",
  "limits": {"units": {"TMA": 1, "TC": 1}, "memories": {"smem": 65536}, "warps": 8},
  "ops": [{"name": "load", "unit": "TMA", "occupancy": 2, "latency": 6, "variable_latency": true, "memory": {"smem": 16384}},
   {"name": "mma", "unit": "TC", "occupancy": 4, "latency": 5, "issue": 1, "warps": 4, "registers": 8192}, {"name": "add", "warps": 4}],
  "dependences": [{"src": "load", "dst": "mma"}, {"src": "mma", "dst": "add"}]}}
"""
