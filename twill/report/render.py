"""From rich renderables to text: with colour on a terminal, plain and of stable width everywhere else."""

from __future__ import annotations

from io import StringIO
from typing import TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

PLAIN_WIDTH = 100
"""Columns of the plain form, whatever the environment says."""


def render(parts: list[RenderableType], stream: TextIO) -> str:
    """Text of `parts`, one below the other: coloured and as wide as the terminal if `stream` is one, else plain."""
    if stream.isatty():
        console = Console(file=stream, highlight=False)
        with console.capture() as captured:
            for part in parts:
                console.print(part)
        return captured.get()
    return plain(parts)


def plain(parts: list[RenderableType]) -> str:
    """Text of `parts` without colour, `PLAIN_WIDTH` columns wide, without trailing blanks.  No environment variable matters."""
    console = Console(
        file=StringIO(),
        width=PLAIN_WIDTH,
        color_system=None,
        force_terminal=False,
        force_interactive=False,
        highlight=False,
        legacy_windows=False,
        _environ={},
    )
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def heading(title: str, detail: str = "") -> Text:
    """A section heading, preceded by an empty line."""
    text = Text("\n")
    text.append(title, style="bold")
    if detail:
        text.append(f"  {detail}", style="dim")
    return text


def columns(*headers: str, indent: int = 2) -> Table:
    """A table without lines.  A header that ends in ">" is that of a right-aligned column; without headers there is no header row."""
    table = Table(box=None, pad_edge=False, show_header=any(h.rstrip(">") for h in headers), padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", min_width=indent - 2, max_width=indent - 2, no_wrap=True)
    for header in headers:
        right = header.endswith(">")
        table.add_column(header.rstrip(">"), justify="right" if right else "left", no_wrap=right, overflow="fold")
    return table


def row(table: Table, *cells: str, style: str = "") -> None:
    """Add a row to a table of `columns`; cells are taken as they stand, never as markup."""
    table.add_row("", *(Text(cell) for cell in cells), style=style)


def count(number: int, thing: str) -> str:
    """ "1 warp", "2 warps"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
