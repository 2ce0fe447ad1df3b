"""`twill compile`: a kernel with its schedule through the rest of Triton, to machine code, without a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from twill.cli import output
from twill.cli.options import debug_option, engine_options
from twill.errors import BadInput, ExitCode, Place, Unsupported

if TYPE_CHECKING:
    from twill.backends.triton_compiler import Compiled
    from twill.backends.triton_marks import Marked
    from twill.feedback import Reading
    from twill.graph.loopgraph import LoopGraph
    from twill.problem import Problem
    from twill.schedule import Schedule
    from twill.search import Options


@click.command("compile", short_help="Compile a kernel with its schedule through Triton, without a GPU.")
@click.argument("kernel", type=click.Path(path_type=Path))
@click.option("--machine", metavar="NAME|PATH", help="Machine that is scheduled for, when no schedule is given.")
@click.option("--schedule", "schedule_file", metavar="FILE", type=click.Path(path_type=Path), help="Schedule (twill schedule --json).")
@click.option("--loop", "loop_line", metavar="LINE", type=int, help="Line of the loop in KERNEL, as for `twill schedule`.")
@click.option("--for", "version", metavar="TRITON", help="Triton that reads the marks; default: the installed one, in stages.")
@click.option("--num-stages", "stages", type=click.IntRange(2, 16), default=3, show_default=True, help="Triton's num_stages.")
@click.option("--feedback", type=click.Choice(["ptxas"]), help="Tighten the registers and solve again until nothing is spilled.")
@click.option("--experimental-hopper-ws", "tasks", is_flag=True, help="Warp groups on sm_90 as well; some such kernels hang.")
@click.option("-o", "--output", "prefix", metavar="PREFIX", type=click.Path(path_type=Path), help="Write PREFIX.ttgir .ptx .cubin .sass.")
@engine_options
@debug_option
def command(
    kernel: Path,
    machine: str | None,
    schedule_file: Path | None,
    loop_line: int | None,
    version: str | None,
    stages: int,
    feedback: str | None,
    tasks: bool,
    prefix: Path | None,
    options: Options,
) -> int:
    """Put a schedule into KERNEL as marks, run the rest of the installed Triton and its ptxas, and report what became of it.

    KERNEL is the TTGIR before Triton's software pipeliner.  Triton's own version is compiled beside it.  Without --schedule the loop is
    scheduled first, with what that Triton cannot lower as constraints.

    \b
    Examples:
      twill compile gemm.ttgir --machine h100
      twill compile gemm.ttgir --schedule gemm.schedule.json -o gemm
      twill compile attention_fwd_2tile.ttgir --machine h100 --feedback ptxas

    \b
    Exit status:
      0 compiled    2 bad input    3 unsupported    4 no schedule    7 not what the schedule asked for
    """
    case = _case(kernel, machine, schedule_file, loop_line, version, stages, tasks, options)
    if feedback is not None:
        case = _with_feedback(case, machine, options, schedule_file)
    marked = case.marked()
    ours = case.compiled(marked)
    theirs = case.own()
    if prefix is not None:
        _write(prefix, marked, ours)
    output.emit(_text(case, marked, ours, theirs))
    from twill.triton.checks import worse, wrong

    fault = wrong(case.graph, marked, ours)
    if fault:
        output.error(f"{kernel}: {fault}.")
        return ExitCode.VERIFICATION_FAILED
    against = worse(ours, theirs)
    if against:
        output.error(f"{kernel}: {against}.")
    return ExitCode.SCHEDULED


@dataclass(frozen=True)
class Case:
    """A kernel, its schedule, and how it is compiled."""

    kernel: Path
    problem: Problem
    schedule: Schedule
    graph: LoopGraph
    version: str | None
    stages: int
    tasks: bool

    def marked(self) -> Marked:
        """The kernel with marks."""
        from twill.cli.marks import marks

        return marks(self.problem, self.schedule, self.graph, self.version, tasks=self.tasks)

    def compiled(self, marked: Marked) -> Compiled:
        """Ours.  Tasks are read by a pass in front of Triton's scheduler, everything else behind it."""
        from twill.backends.triton_compiler import compile_text

        after = "" if self.tasks else "schedule_loops"
        return compile_text(marked.text, stages=self.stages, after=after, file=str(self.kernel))

    def own(self) -> Compiled:
        """What Triton makes of the kernel without us."""
        from twill.backends.triton_compiler import compile_text

        return compile_text(self.graph.program.text, stages=self.stages, file=str(self.kernel))


def _case(
    kernel: Path,
    machine: str | None,
    schedule_file: Path | None,
    loop_line: int | None,
    version: str | None,
    stages: int,
    tasks: bool,
    options: Options,
) -> Case:
    from twill.cli.marks import loop_graph_of
    from twill.cli.programs import scheduled

    version = version if version is not None or tasks else f"triton-{_installed()}"
    if schedule_file is not None:
        if machine is not None:
            raise click.UsageError("--machine is for scheduling; a schedule was made for one.")
        problem, schedule = scheduled(schedule_file)
    else:
        problem, schedule = _scheduled(kernel, machine, loop_line, version, options)
    return Case(kernel, problem, schedule, loop_graph_of(problem, kernel, loop_line), version, stages, tasks)


def _installed() -> str:
    """Version of the installed Triton, as in "3.9", without importing it."""
    from importlib import metadata

    from twill.backends.triton_compiler import INSTALL

    try:
        return ".".join(metadata.version("triton").split(".")[:2])
    except metadata.PackageNotFoundError:
        raise Unsupported("compiling a kernel needs Triton.", remedy=INSTALL) from None


def _scheduled(kernel: Path, machine: str | None, loop_line: int | None, version: str | None, options: Options) -> tuple[Problem, Schedule]:
    import twill
    from twill.backends.triton_marks import restricted

    if kernel.suffix == ".json":
        raise BadInput("a graph cannot be compiled.", place=Place(file=str(kernel)), remedy="Give a kernel (.ttgir).")
    problem = twill.load_problem(kernel, machine, loop_line=loop_line, model="hardware")
    problem = problem if version is None else restricted(problem, version)
    return problem, _solved(problem, options)


def _solved(problem: Problem, options: Options) -> Schedule:
    import twill
    from twill.errors import Infeasible, Unknown

    result = twill.schedule(problem, options)
    if result.schedule is None:
        kind = Infeasible if result.certificate.status == "infeasible" else Unknown
        raise kind(f"there is no schedule: {result.certificate.reason}.".replace("..", "."))
    return result.schedule


def _with_feedback(case: Case, machine: str | None, options: Options, schedule_file: Path | None) -> Case:
    """The case with the schedule that the feedback loop ends with; its history is printed."""
    from dataclasses import replace

    import twill
    from twill.feedback import Reading, until_no_spills
    from twill.feedback.text import history

    if schedule_file is not None:
        raise click.UsageError("--feedback solves again: give a --machine and no --schedule.")

    def build(problem: Problem, schedule: Schedule) -> Reading:
        now = replace(case, problem=problem, schedule=schedule)
        ours = now.compiled(now.marked())
        return Reading(ours.registers, ours.spills)

    found = until_no_spills(case.problem, lambda problem: twill.schedule(problem, options), build)
    output.emit(history(found))
    if found.result.schedule is None:
        raise Unsupported(f"there is no schedule: {found.result.certificate.reason}", place=Place(file=str(case.kernel)))
    return replace(case, problem=found.problem, schedule=found.result.schedule)


def _write(prefix: Path, marked: Marked, ours: Compiled) -> None:
    from twill.files import write_bytes, write_text

    for suffix, text in (("ttgir", marked.text), ("ptx", ours.ptx), ("sass", ours.sass)):
        write_text(f"{prefix}.{suffix}", text)
    write_bytes(f"{prefix}.cubin", ours.cubin)


def _text(case: Case, marked: Marked, ours: Compiled, theirs: Compiled) -> str:
    rows = [
        ("", "scheduled", "Triton's own"),
        ("registers a thread", f"{ours.registers}", f"{theirs.registers}"),
        ("spills, bytes a thread", f"{ours.spills:,}", f"{theirs.spills:,}"),
        ("shared memory, bytes", f"{ours.shared:,}", f"{theirs.shared:,}"),
        ("tensor memory, columns", f"{ours.tensor}", f"{theirs.tensor}"),
        ("warps", _warps(ours), _warps(theirs)),
    ]
    widths = [max(len(row[n]) for row in rows) for n in range(3)]
    schedule = case.schedule
    lines = [
        f"{case.kernel}: Triton {ours.triton}, sm_{ours.arch}, num_stages {ours.stages}; II {schedule.ii}, length {schedule.length}",
        *(f"  {name.ljust(widths[0])}  {a.rjust(widths[1])}  {b.rjust(widths[2])}".rstrip() for name, a, b in rows),
        *(f"  ptxas, scheduled: {note}" for note in ours.notes),
        *(f"  ptxas, Triton's own: {note}" for note in theirs.notes),
        *(f"  ring {name}: {slots} slots" for name, slots in marked.rings.items()),
        f"  machine code: {_order(case, marked, ours)}",
        *(f"  not expressed: {limit}" for limit in marked.limits),
    ]
    return "\n".join(lines) + "\n"


def _warps(compiled: Compiled) -> str:
    return f"{compiled.warps} ({' + '.join(map(str, compiled.roles))})" if compiled.roles else f"{compiled.warps}"


def _order(case: Case, marked: Marked, ours: Compiled) -> str:
    from twill.backends.triton_compiler.order import LOAD, PRODUCT, compare

    if ours.roles or not marked.marks:
        return "warp groups run on their own; no order of one stream to compare"
    position = {node.name: (marked.marks[node.operations[0]][1], n) for n, node in enumerate(case.graph.nodes)}
    kinds = {node.name: node.kind for node in case.graph.nodes}
    body = sorted((name for name in position if kinds[name] in ("mma", "tma_load", "async_copy")), key=position.__getitem__)
    read = {d.src for d in case.problem.dependences if d.carries_value and not d.distance}
    wanted = [PRODUCT if kinds[name] == "mma" else LOAD for name in body]
    return compare(ours.sass, wanted, [name in read for name in body if kinds[name] == "mma"]).text
