"""`twill examples`: write out the kernels that come with twill."""

from __future__ import annotations

from pathlib import Path

import click

from twill.cli import output
from twill.cli.options import debug_option


@click.command(short_help="Write the kernels that come with twill.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path), required=False)
@click.option("--list", "only_list", is_flag=True, help="List the examples and write nothing.")
@click.option("--force", is_flag=True, help="Overwrite files that differ.")
@debug_option
def examples(folder: Path | None, only_list: bool, force: bool) -> None:
    """Write the bundled kernels to DIR: TTGIR, the Triton sources, and a page that lists them.

    \b
    Examples:
      twill examples .          all of them into this folder
      twill examples --list     what there is
    """
    from twill.examples import examples as bundled
    from twill.examples import write

    if only_list:
        width = max(len(e.file) for e in bundled())
        output.emit("".join(f"{e.file:<{width}}  {e.target:<8}  {e.summary}\n" for e in bundled()))
        return
    if folder is None:
        raise click.UsageError("Missing argument 'DIR'.")
    output.emit("".join(f"{path}\n" for path in write(folder, force=force)))
