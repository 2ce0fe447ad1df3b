"""`twill schedule`: the command that everything else is for."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

import twill
from twill.cli import output
from twill.cli.options import Step, debug_option, engine_options
from twill.cli.progress import Progress, Stopwatch
from twill.cli.reading import Reading, reading_options
from twill.errors import ExitCode
from twill.files import write_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from twill.problem import Problem
    from twill.schedule import Result
    from twill.search import Options
    from twill.stepping import Chosen
    from twill.subtiling import Choice

STATUS = {
    "optimal": ExitCode.SCHEDULED,
    "feasible": ExitCode.SCHEDULED,
    "infeasible": ExitCode.INFEASIBLE,
    "unknown": ExitCode.UNKNOWN,
}


@click.command(short_help="Find, prove and explain the best schedule of a loop.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--machine", metavar="NAME|PATH", help="Machine: a name that `twill machines` lists, or a TOML file.")
@click.option("--loop", "loop_line", metavar="LINE", type=int, help="Line of the loop in FILE (default: the innermost tensor loop).")
@click.option("--function", metavar="NAME", help="Kernel, when FILE holds several.")
@click.option(
    "--coupling",
    type=click.Choice(["auto", "coupled", "alone"]),
    default="auto",
    show_default=True,
    help="Costs of CUDA-core work beside a busy tensor core, or beside an idle one.",
)
@click.option(
    "--subtile",
    metavar="auto|none|N|DIM=N|x=N",
    help="Split the loop body into sub-tiles; auto (the default) compares what the tile admits and keeps the best; x=N makes N programs "
    "that are neighbours in the grid one (also y, z).",
)
@click.option(
    "--step",
    metavar="auto|N",
    type=Step(),
    help="Let an iteration of the loop go N elements on instead of the kernel's own step, with tiles of that size (any, not only powers of "
    "two), for generated CUDA; auto: the step with the smallest proved bound an element.",
)
@click.option(
    "--model",
    type=click.Choice(["paper", "hardware"]),
    help="Rules for kernels: hardware (the default), where warp groups issue in order, buffers are held until their readers are done and "
    "register values stay in their group or are charged; or those of the paper (the default of --literal and --normalize).",
)
@click.option("--for", "backend", metavar="BACKEND", help="Only schedules that it can lower: cuda-sm90, triton-3.9, triton-3.9-partitions.")
@click.option(
    "--operands",
    type=click.Choice(["auto", "kernel", "shared"]),
    default="auto",
    show_default=True,
    help="First operands of products that do not change in the loop: as the kernel has them, or in shared memory; auto: what the backend "
    "of --for reads.",
)
@click.option("--no-cross-warp", is_flag=True, help="No register value may leave its warp group.")
@click.option("--equal-warps", is_flag=True, help="Ops that need different numbers of warps may not share a group.")
@reading_options
@engine_options
@click.option("--pareto", is_flag=True, help="List what a smaller II costs: registers, warp groups, shared memory.")
@click.option("--json", "json_file", metavar="FILE", type=click.Path(), help="Write schedule and evidence (for `twill check`).")
@click.option("--problem-json", metavar="FILE", type=click.Path(), help="Write the costed graph.")
@click.option("--dot", "dot_file", metavar="FILE", type=click.Path(), help="Write the costed graph for Graphviz.")
@click.option("--progress/--no-progress", default=None, help="Progress on standard error (default: on a terminal).")
@click.option("-q", "--quiet", is_flag=True, help="Print no report; exit status and files only.")
@debug_option
def schedule(
    file: Path,
    machine: str | None,
    loop_line: int | None,
    function: str | None,
    coupling: str,
    subtile: str | None,
    step: int | Literal["auto"] | None,
    model: str | None,
    backend: str | None,
    operands: str,
    no_cross_warp: bool,
    equal_warps: bool,
    reading: Reading,
    options: Options,
    pareto: bool,
    json_file: str | None,
    problem_json: str | None,
    dot_file: str | None,
    progress: bool | None,
    quiet: bool,
) -> int:
    """Find the best schedule of the loop in FILE, prove it, check it independently, and explain it.

    FILE is Triton's TTGIR (the module before its software pipeliner) or a costed graph (.json).

    \b
    Examples:
      twill schedule attention_fwd.ttgir --machine h100
      twill schedule gemm.ttgir --machine h200 --json gemm.schedule.json
      twill schedule kernel.ttgir --machine my_gpu.toml --loop 57 --time-limit 60
      twill schedule graph.json --engine cpsat

    \b
    Exit status:
      0 scheduled    2 bad input      4 proved infeasible    6 solver error
      1 internal     3 unsupported    5 no answer in time    7 failed verification
    """
    watch = Stopwatch()
    shown = sys.stderr.isatty() if progress is None else progress
    if pareto and (reading.literal or reading.method != "none"):
        raise click.UsageError("--pareto compares default searches: it goes with neither --literal nor --normalize.")
    subtile, model = _defaults(file, subtile, model, backend, reading)
    pricing = {"coupling": coupling, "model": model, "operands": _operands(operands, backend), "step": step}
    restrict = _Restriction(no_cross_warp, equal_warps, backend)
    if "auto" in (subtile, step):
        _refuse_comparison(subtile, step, reading)
        kernel = {"function": function, "loop_line": loop_line, "subtile": subtile, **pricing}
        chosen = _choose(file, machine, options, shown, watch, kernel, restrict)
        wanted = Outputs(json_file, problem_json, dot_file, quiet)
        status = _deliver(chosen.problem, chosen.result, [], options, reading, watch, wanted)
        return _compare(chosen.problem, chosen.result, options, pareto, quiet) or status
    raw = restrict(_problem(file, machine, loop_line, function, {**pricing, "subtile": subtile}, watch))
    normalized = reading.normalized(raw)
    problem = _as_read(raw if normalized is None else normalized.problem, reading)
    wanted = Outputs(json_file, problem_json, dot_file, quiet)
    wanted.write_graph(problem)
    result = _search(problem, options, reading, shown, watch)
    before: list[RenderableType] = []
    if normalized is not None:
        from twill.report.normalization import normalization

        before = normalization(normalized.report, result)
        problem = _as_read(raw, reading)
        result = twill.on_raw_costs(problem, normalized, result)
    status = _deliver(problem, result, before, options, reading, watch, replace(wanted, problem_json=None, dot=None))
    return _compare(problem, result, options, pareto, quiet) or status


def _refuse_comparison(subtile: str, step: int | Literal["auto"] | None, reading: Reading) -> None:
    """What does not go with a comparison of several problems."""
    if published(reading):
        option = "--subtile" if subtile == "auto" else "--step"
        raise click.UsageError(f"{option} auto compares default searches: give a number with --literal and --normalize.")
    if subtile == step == "auto":
        raise click.UsageError("--step auto compares steps alone: give the sub-tiles, such as --subtile 2 or --subtile none.")


def published(reading: Reading) -> bool:
    """Whether the paper's own search or costs are asked for."""
    return reading.literal or reading.method != "none"


def _defaults(file: Path, subtile: str | None, model: str | None, backend: str | None, reading: Reading) -> tuple[str, str]:
    """Sub-tiles and rules where the user does not choose them.

    What comes nearest to the paper for its own readings; else the rules of the hardware, and for kernels the best number of sub-tiles.
    Triton's pipeliner lowers the loop body as it is.
    """
    if subtile is None:
        whole = published(reading) or file.suffix == ".json" or (backend is not None and backend.startswith("triton"))
        subtile = "none" if whole else "auto"
    return subtile, model or ("paper" if published(reading) else "hardware")


@dataclass(frozen=True)
class _Restriction:
    """Rules of the command line and of a backend, for the problem of a kernel or a graph."""

    no_cross_warp: bool
    equal_warps: bool
    backend: str | None

    def __call__(self, problem: Problem) -> Problem:
        rules = problem.rules
        crossing, mixed = rules.cross_warp and not self.no_cross_warp, rules.mixed and not self.equal_warps
        problem = replace(problem, rules=replace(rules, cross_warp=crossing, mixed=mixed))
        if self.backend is None:
            return problem
        from twill.backends.targets import restricted

        return restricted(problem, self.backend)


@dataclass(frozen=True)
class Outputs:
    """Files that the user asked for, and whether a report is wanted."""

    json: str | None
    problem_json: str | None
    dot: str | None
    quiet: bool

    def write_graph(self, problem: Problem) -> None:
        """Write the costed graph in the forms that were asked for."""
        if self.problem_json is not None:
            from twill.frontends.graph_json import problem_to_json

            write_text(self.problem_json, problem_to_json(problem))
        if self.dot is not None:
            from twill.report.dot import dot

            write_text(self.dot, dot(problem))


def _deliver(
    problem: Problem,
    result: Result,
    before: list[RenderableType],
    options: Options,
    reading: Reading,
    watch: Stopwatch,
    wanted: Outputs,
) -> int:
    wanted.write_graph(problem)
    if wanted.json is not None:
        _write_result(wanted.json, problem, result, options, reading)
    if not wanted.quiet:
        _print_report(problem, result, before, watch)
    return STATUS[result.certificate.status]


def _compare(problem: Problem, result: Result, options: Options, wanted: bool, quiet: bool) -> int:
    """Print the non-dominated points, where they are asked for; 0."""
    if not wanted or quiet or result.schedule is None:
        return 0
    from twill.report.pareto import pareto
    from twill.report.render import render

    output.emit(render(pareto(twill.pareto_front(problem, options, result)), sys.stdout))
    return 0


def _choose(
    file: Path, machine: str | None, options: Options, shown: bool, watch: Stopwatch, kernel: dict[str, Any], restrict: _Restriction
) -> Choice | Chosen:
    """The best number of sub-tiles, or the best step, whichever of both is left open in `kernel`."""
    choose, option = (twill.best_step, "step") if kernel["step"] == "auto" else (twill.best_subtiles, "subtile")
    if file.suffix == ".json":
        raise click.UsageError(f"--{option} is for kernels; a graph (.json) is scheduled as it is.")
    progress = Progress(shown)
    given = {name: value for name, value in kernel.items() if name != option}
    try:
        return choose(file, machine, options, progress, stage=watch.stage, restrict=restrict, **given)
    finally:
        watch.stage("")
        progress.close()


def _problem(
    file: Path, machine: str | None, loop_line: int | None, function: str | None, pricing: dict[str, Any], watch: Stopwatch
) -> Problem:
    if file.suffix == ".json":
        for given, option in ((machine, "--machine"), (loop_line, "--loop"), (function, "--function"), (pricing["step"], "--step")):
            if given is not None:
                raise click.UsageError(f"{option} is for kernels; a graph (.json) carries its costs and limits.")
    problem = twill.load_problem(file, machine, function=function, loop_line=loop_line, stage=watch.stage, **pricing)
    watch.stage("")
    return problem


def _operands(wanted: str, backend: str | None) -> str:
    """Where first operands that do not change in the loop live; generated CUDA reads them from shared memory."""
    if wanted != "auto" or backend is None:
        return "kernel" if wanted == "auto" else wanted
    from twill.backends.cuda.constraints import TARGETS

    return "shared" if backend in TARGETS else "kernel"


def _as_read(problem: Problem, reading: Reading) -> Problem:
    if not reading.literal:
        return problem
    from twill.literal import as_published

    return as_published(replace(problem, rules=replace(problem.rules, warp_sets=problem.rules.warp_sets or reading.warp_sets)))


def _search(problem: Problem, options: Options, reading: Reading, shown: bool, watch: Stopwatch) -> Result:
    progress = Progress(shown)
    watch.stage("search")
    try:
        return (twill.schedule_published if reading.literal else twill.schedule)(problem, options, progress)
    finally:
        watch.stage("")
        progress.close()


def _write_result(path: str, problem: Problem, result: Result, options: Options, reading: Reading) -> None:
    from twill.frontends.graph_json import schedule_to_json

    asked: dict[str, Any] = {"engine": options.engine, "max_ii": options.max_ii, "memory_limit_mb": options.memory_limit_mb}
    if options.depth is not None:
        asked["depth"] = options.depth
    if options.objectives is not None:
        asked["objective"] = ",".join(options.objectives) or "first"
    if options.slack:
        asked["ii_slack"] = str(options.slack)
    write_text(path, schedule_to_json(problem, result, {**asked, **reading.asked}))


def _print_report(problem: Problem, result: Result, before: list[RenderableType], watch: Stopwatch) -> None:
    from twill.report.render import render
    from twill.report.text import report

    watch.stage("check")
    audit = twill.check(problem, result.schedule) if result.schedule is not None else None
    watch.stage("")
    output.emit(render([*before, *report(problem, result, audit, watch.seconds)], sys.stdout))
