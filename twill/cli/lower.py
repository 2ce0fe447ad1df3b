"""`twill lower`: a schedule as a program of warp groups."""

from __future__ import annotations

from pathlib import Path

import click

from twill.cli import output
from twill.cli.options import debug_option


@click.command("lower", short_help="Turn a schedule into a program of warp groups.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--to", "target", type=click.Choice(["ir"]), default="ir", show_default=True, help="What to print: pipelined IR.")
@click.option("--kernel", metavar="FILE", type=click.Path(path_type=Path), help="TTGIR that was scheduled: adds the code around the loop.")
@click.option("--loop", "loop_line", metavar="LINE", type=int, help="Line of the loop in the kernel, as for `twill schedule`.")
@click.option("-o", "--output", "out", metavar="FILE", type=click.Path(), help="Write there instead of to standard output.")
@debug_option
def command(file: Path, target: str, kernel: Path | None, loop_line: int | None, out: str | None) -> None:
    """Expand the schedule in FILE: what each warp group executes, which buffers and barriers hand data over.

    FILE is what `twill schedule --json` writes.  The text can be edited and checked with `twill simulate`.

    \b
    Examples:
      twill schedule gemm.ttgir --machine h100 --model hardware --json gemm.schedule.json
      twill lower gemm.schedule.json --to ir
      twill lower gemm.schedule.json --kernel gemm.ttgir
    """
    from twill.backends.pipelined_ir import to_text
    from twill.cli.programs import expanded
    from twill.files import write_text

    text = to_text(expanded(file, kernel, loop_line)[1])
    if out is None:
        output.emit(text)
    else:
        write_text(out, text)
