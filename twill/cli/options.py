"""Options that several commands share."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


class Finite(click.FloatRange):
    """A number in a range; "nan" and "inf" are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


@dataclass
class State:
    """What options tell the outermost error handler."""

    debug: bool = False


def _set_debug(context: click.Context, _: click.Parameter, debug: bool) -> None:
    if debug:
        context.ensure_object(State).debug = True


def debug_option(command: Command) -> Command:
    """`--debug`, for use on every command."""
    option = click.option("--debug", is_flag=True, expose_value=False, callback=_set_debug, help="Show where an internal error arose.")
    return option(command)


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--engine`, `--time-limit`, `--memory-limit`, `--max-ii`, given to the command as one `options: twill.search.Options`."""

    @functools.wraps(command)
    def wrapped(engine: str, time_limit: float | None, memory_limit: int | None, max_ii: int | None, **others: Any) -> Any:
        from twill.search import Options

        options = Options(engine=engine, time_limit=time_limit, memory_limit_mb=memory_limit, max_ii=max_ii)
        return command(options=options, **others)

    for option in (
        click.option("--max-ii", metavar="II", type=click.IntRange(min=1), help="Give up above this II."),
        click.option(
            "--memory-limit", metavar="MB", type=click.IntRange(1, 2**30), default=8192, show_default=True, help="Memory of a solver."
        ),
        click.option("--time-limit", metavar="SECONDS", type=Finite(min=0, min_open=True), help="Stop with what is proved by then."),
        click.option("--engine", type=click.Choice(["auto", "yices", "cpsat"]), default="auto", show_default=True, help="Solver."),
    ):
        wrapped = option(wrapped)
    return wrapped
