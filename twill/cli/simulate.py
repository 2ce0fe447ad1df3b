"""`twill simulate`: check the program of a schedule without a GPU."""

from __future__ import annotations

from pathlib import Path

import click

from twill.cli import output
from twill.cli.options import debug_option
from twill.errors import ExitCode


@click.command("simulate", short_help="Check the program of a schedule without a GPU.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--ir", "ir_file", metavar="FILE", type=click.Path(path_type=Path), help="Check this pipelined IR instead of the expansion.")
@click.option(
    "--kernel", metavar="FILE", type=click.Path(path_type=Path), help="TTGIR that was scheduled: checks the code around the loop."
)
@click.option("--loop", "loop_line", metavar="LINE", type=int, help="Line of the loop in the kernel, as for `twill schedule`.")
@click.option("--trips", metavar="N", type=click.IntRange(min=1), default=16, show_default=True, help="Iterations of the trace.")
@click.option("--trace", "trace_file", metavar="FILE", type=click.Path(), help="Write a trace for Perfetto: a row a group and a unit.")
@debug_option
def command(file: Path, ir_file: Path | None, kernel: Path | None, loop_line: int | None, trips: int, trace_file: str | None) -> int:
    """Check the program that the schedule in FILE becomes: that it cannot hang, that no buffer or register is used too early or too
    late, and how fast it runs.

    FILE is what `twill schedule --json` writes.

    \b
    Examples:
      twill simulate gemm.schedule.json
      twill simulate gemm.schedule.json --trips 8 --trace gemm.trace.json
      twill lower gemm.schedule.json -o gemm.pir, edit it, then
      twill simulate gemm.schedule.json --ir gemm.pir

    \b
    Exit status:
      0 right    2 bad input    3 unsupported    7 the program is wrong
    """
    if ir_file is not None and kernel is not None:
        raise click.UsageError("--ir and --kernel exclude each other: pipelined IR says what is around the loop.")
    from twill.cli.programs import expanded, scheduled, written
    from twill.simulate import report
    from twill.simulate.protocol import prove
    from twill.simulate.timing import event_graph, timing

    problem, program = expanded(file, kernel, loop_line) if ir_file is None else (scheduled(file)[0], written(ir_file))
    output.emit(report.summary(program))
    proof = prove(program, problem)
    output.emit(report.protocol_text(proof))
    if not proof.holds or event_graph(program, problem).hang():
        return ExitCode.VERIFICATION_FAILED
    output.emit(report.timing_text(timing(program, problem)))
    if trace_file is not None:
        from twill.files import write_text
        from twill.simulate.trace import trace

        write_text(trace_file, trace(program, problem, trips))
    return ExitCode.SCHEDULED
