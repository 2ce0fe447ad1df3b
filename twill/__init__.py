"""twill: optimal software pipelining and warp specialization for tensor-core GPU kernels, with proof.

The public face.  Readers, solvers and the checker are imported when they are first used, so that `import twill` is cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from twill.errors import BadInput, Place, TwillError, VerificationFailed
from twill.problem import Problem

# The submodule is loaded before the function below takes its name, so that no later import puts it back.
from twill.schedule import Result, Schedule

if TYPE_CHECKING:
    from twill.backends.cuda.kernel import CudaKernel
    from twill.cuda import LoadedKernel
    from twill.graph.loopgraph import LoopGraph
    from twill.machine import Machine
    from twill.normalize import Normalized
    from twill.pareto import Front
    from twill.program.program import TileProgram
    from twill.search import Options
    from twill.stepping import Chosen
    from twill.subtiling import Choice
    from twill.verify import Audit, Violation

__all__ = [
    "TwillError",
    "best_step",
    "best_subtiles",
    "check",
    "load",
    "load_machine",
    "load_problem",
    "load_program",
    "on_raw_costs",
    "pareto_front",
    "schedule",
    "schedule_published",
    "version",
]

# In a source checkout the readers, writers and machines lie beside this folder; in an installed package, inside it.
if not (Path(__file__).parent / "frontends").is_dir():
    __path__.append(str(Path(__file__).parent.parent))


def load_program(path: str | Path, *, function: str | None = None) -> TileProgram:
    """Read a TTGIR file.  `function` picks one of several kernels.

    Raises BadInput for text that is not TTGIR, Unsupported for TTGIR that this version does not read.
    """
    from twill.frontends import ttgir

    return ttgir.load(path, function=function)


def load_machine(name_or_path: str | Path) -> Machine:
    """The machine model called so ("h100", "h200", "b200"), or the one in a TOML file.  Raises BadInput."""
    from twill import machine_models

    return machine_models.load(name_or_path)


def load_problem(
    path: str | Path,
    machine: str | Path | Machine | None = None,
    *,
    function: str | None = None,
    loop_line: int | None = None,
    coupling: str = "auto",
    model: str = "hardware",
    subtile: str = "none",
    operands: str = "kernel",
    step: int | None = None,
    stage: Callable[[str], None] = lambda _: None,
) -> Problem:
    """The scheduling problem in a file: a costed graph (.json), or a loop of a kernel (TTGIR) on a machine.

    machine    needed for TTGIR; a graph carries its costs and limits
    loop_line  line of the loop in the TTGIR; None for the innermost loop with tensor-core work
    coupling   costs of CUDA-core work beside a busy tensor core ("coupled"), beside an idle one ("alone"), or what fits ("auto")
    model      "hardware": warp groups issue in order, buffers are held (`twill.costs.MODELS`); "paper": the published rules
    subtile    split the loop body first: "none", a number of sub-tiles, or DIM=NUMBER (`best_subtiles` chooses the number)
    operands   first operands of products that do not change in the loop: "kernel", where the kernel has them, or "shared", in shared
               memory (`twill.graph.invariants`)
    step       elements by which an iteration of the loop goes on; None: as the kernel says (`twill.graph.resize`)
    stage      told "read", "graph" and "costs" as these begin

    Raises BadInput or Unsupported.
    """
    if Path(path).suffix == ".json":
        from twill.frontends import graph_json

        stage("read")
        return graph_json.read_problem(path)
    graph, gpu = _graph_and_machine(path, machine, function, loop_line, operands, step, stage)
    from twill import costs, subtiling
    from twill.graph.subtile import split

    wanted = subtiling.request(subtile)
    if wanted.parts is None:
        raise BadInput("the number of sub-tiles is left open.", remedy="Give a number, or use best_subtiles.")
    if wanted != subtiling.WHOLE:
        graph = split(graph, wanted.parts, axis=wanted.axis)
    stage("costs")
    return costs.price(graph, gpu, coupling=coupling, model=model)


def best_subtiles(
    path: str | Path,
    machine: str | Path | Machine | None,
    options: Options | None = None,
    progress: Callable[[str], None] = lambda _: None,
    *,
    function: str | None = None,
    loop_line: int | None = None,
    coupling: str = "auto",
    model: str = "hardware",
    operands: str = "kernel",
    step: int | None = None,
    restrict: Callable[[Problem], Problem] = lambda problem: problem,
    stage: Callable[[str], None] = lambda _: None,
) -> Choice:
    """Schedule a kernel's loop in every number of sub-tiles that it admits and keep the best; arguments as for `load_problem`.

    restrict  further rules for each problem, such as those of a backend

    The comparison is among the decisions of the choice's problem; its result is checked as that of `schedule` is.
    """
    graph, gpu = _graph_and_machine(path, machine, function, loop_line, operands, step, stage)
    from twill import costs, subtiling

    def price(each: LoopGraph, on: Machine) -> Problem:
        return restrict(costs.price(each, on, coupling=coupling, model=model))

    stage("search")
    return subtiling.best(graph, gpu, subtiling.AUTO, options=options, price=price, solve=schedule, progress=progress)


def best_step(
    path: str | Path,
    machine: str | Path | Machine | None,
    options: Options | None = None,
    progress: Callable[[str], None] = lambda _: None,
    *,
    function: str | None = None,
    loop_line: int | None = None,
    coupling: str = "auto",
    model: str = "hardware",
    subtile: str = "none",
    operands: str = "kernel",
    restrict: Callable[[Problem], Problem] = lambda problem: problem,
    stage: Callable[[str], None] = lambda _: None,
) -> Chosen:
    """Schedule a kernel's loop in the step for which the smallest bound is proved, an element; arguments as for `best_subtiles`.

    subtile  as for `load_problem`

    Raises Unsupported when the kernel's step cannot be changed.
    """
    if machine is None:
        raise BadInput("a kernel needs a machine.", place=Place(file=str(path)), remedy="Name one, for example: --machine h100.")
    from twill import costs, search, stepping, subtiling
    from twill.graph.hoist import filled_once
    from twill.graph.invariants import SHARED, in_shared_memory
    from twill.graph.nests import nested
    from twill.graph.subtile import split

    stage("read")
    program = filled_once(nested(load_program(path, function=function)))
    gpu = load_machine(machine) if isinstance(machine, (str, Path)) else machine
    wanted = subtiling.request(subtile)

    def price(graph: LoopGraph) -> Problem:
        graph = in_shared_memory(graph) if operands == SHARED else graph
        graph = split(graph, wanted.parts or 1, axis=wanted.axis)
        return restrict(costs.price(graph, gpu, coupling=coupling, model=model))

    stage("costs")
    listed = stepping.offers(program, price, loop_line=loop_line)
    stage("search")
    return stepping.best(listed, options or search.Options(), schedule, progress)


def _graph_and_machine(
    path: str | Path,
    machine: str | Path | Machine | None,
    function: str | None,
    loop_line: int | None,
    operands: str,
    step: int | None,
    stage: Callable[[str], None],
) -> tuple[LoopGraph, Machine]:
    if machine is None:
        raise BadInput("a kernel needs a machine.", place=Place(file=str(path)), remedy="Name one, for example: --machine h100.")
    stage("read")
    program = load_program(path, function=function)
    gpu = load_machine(machine) if isinstance(machine, (str, Path)) else machine
    from twill.graph.invariants import SHARED, in_shared_memory
    from twill.graph.kernel import kernel_loop

    stage("graph")
    graph = kernel_loop(program, loop_line=loop_line, step=step)
    return in_shared_memory(graph) if operands == SHARED else graph, gpu


def schedule(problem: Problem, options: Options | None = None, progress: Callable[[str], None] | None = None) -> Result:
    """The best schedule of `problem` that the options allow, with what proves it; see `twill.search.schedule`.

    A schedule in the result has passed the independent checker, and `certificate.checked` says so.  Raises VerificationFailed when
    it did not pass, SolverError when a solver died or lied.
    """
    from twill import search

    result = search.schedule(problem, options or search.Options(), progress)
    return result if result.schedule is None else _checked(result, check(problem, result.schedule).violations)


def schedule_published(
    problem: Problem,
    options: Options | None = None,
    progress: Callable[[str], None] | None = None,
    *,
    from_one: bool = False,
) -> Result:
    """What the published search finds under the published constraints, for comparison; see `twill.literal.schedule`.

    A schedule in the result has passed an independent check of the published system.  It need not be one of the steady state: `check`
    says what is missing.  Raises as `schedule` does.
    """
    from twill import literal
    from twill.verify.published import asked_length, check_published

    result = literal.schedule(problem, options, progress, from_one=from_one)
    if result.schedule is None:
        return result
    return _checked(
        result, check_published(literal.as_published(problem), result.schedule, asked_length(result.schedule, result.certificate))
    )


def on_raw_costs(problem: Problem, normalized: Normalized, result: Result) -> Result:
    """What `result`, found for `normalized.problem`, is worth for `problem`, from which that was made: its order, timed on raw costs.

    The schedule has passed the independent checker; its II is proved only where it meets a lower bound.  Status "unknown" when there
    is none: nothing about raw costs follows from that.  Where the costs were left alone, `result` is returned as it is.
    """
    if not normalized.report.changed or not problem.ops:
        return result
    from twill import raw_costs

    return raw_costs.on_raw_costs(problem, normalized, result)


def _checked(result: Result, violations: Sequence[Violation]) -> Result:
    if violations:
        more = f" ({len(violations) - 1} more)" if len(violations) > 1 else ""
        raise VerificationFailed(
            f"the search returned a schedule that the independent checker rejects: {violations[0].message}{more}",
            remedy="This is an error in twill: please report it with the input.",
        )
    return replace(result, certificate=replace(result.certificate, checked=True))


def pareto_front(problem: Problem, options: Options | None = None, first: Result | None = None) -> Front:
    """What a smaller II costs in registers, warp groups and shared memory; see `twill.pareto.front`.

    first  the answer of `schedule` for the problem, when it is known already
    """
    from twill import pareto, search

    def costs(each: Problem, found: Schedule) -> tuple[int, int]:
        audit = check(each, found)
        return max((-(-use.peak // 32) for use in audit.groups), default=0), audit.warps

    return pareto.front(problem, schedule, costs, options or search.Options(), first=first)


def check(problem: Problem, schedule: Schedule) -> Audit:
    """What the independent checker finds: violations, and peaks of every register file, memory and unit."""
    from twill import verify

    return verify.check(problem, schedule)


def load(kernel: CudaKernel | str | Path, *, compiler: str = "auto") -> LoadedKernel:
    """A generated kernel as a Python callable on the current GPU; see `twill.cuda.load`.

    kernel    what `twill.backends.cuda` generated, or a .cu file with it, or the .cubin file that `twill build` makes of one
    compiler  for a kernel that is compiled now: "nvcc", "nvrtc", or "auto" for the first of them that is there

    Raises BadInput for other files, Unsupported without a GPU of the kernel's architecture, a compiler or cuda.core.
    """
    from twill import cuda

    return cuda.load(kernel, compiler=compiler)


def version() -> str:
    """Version of the installed distribution `twill-scheduler`."""
    from importlib import metadata

    return metadata.version("twill-scheduler")
