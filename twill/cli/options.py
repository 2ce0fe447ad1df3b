"""Options that several commands share."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

if TYPE_CHECKING:
    from fractions import Fraction

Command = TypeVar("Command", bound=Callable[..., Any])


class Finite(click.FloatRange):
    """A number in a range; "nan" and "inf" are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


class Depth(click.types.StringParamType):
    """A number of slots, or "auto"."""

    name = "depth"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "auto":
            return "auto"
        if not (isinstance(value, str) and value.isascii() and value.isdigit() and int(value[:6]) >= 1 and len(value) <= 4):
            self.fail(f'"{value}" is neither auto nor a number of slots from 1 to 9999.', param, ctx)
        return int(value)


class Step(click.types.StringParamType):
    """Elements of an iteration, or "auto"."""

    name = "step"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "auto":
            return "auto"
        if not (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 6 and int(value) >= 1):
            self.fail(f'"{value}" is neither auto nor a number of elements from 1 to 999999.', param, ctx)
        return int(value)


class Objectives(click.types.StringParamType):
    """Names of objectives, comma-separated, most important first; "first" for none."""

    name = "objectives"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from twill.objectives import DEFAULT_ORDER

        names = () if value == "first" else tuple(str(value).split(","))
        for name in names:
            if name not in DEFAULT_ORDER:
                self.fail(f'there is no objective "{name}". Known: first, {", ".join(DEFAULT_ORDER)}.', param, ctx)
            if names.count(name) > 1:
                self.fail(f'"{name}" is given twice.', param, ctx)
        return names


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


TIME_LIMIT = 60
"""Seconds for a search that the user sets no limit."""

_ENGINE_OPTIONS = (
    click.option(
        "--ii-slack",
        metavar="PERCENT",
        type=Finite(0, 100),
        default=0,
        show_default=True,
        help="Let the II be larger by up to this much for better values of what only depends on warp groups.",
    ),
    click.option(
        "--objective",
        metavar="LIST",
        type=Objectives(),
        help="What to minimise after the II, in this order: crossing_bytes,groups,warps,edges,length,registers,lifetime,canonical; "
        "first: nothing but the length.",
    ),
    click.option(
        "--depth",
        metavar="auto|N",
        type=Depth(),
        help="Slots of the rings of streaming loads; auto: two more than lifetimes need (default of the hardware model).",
    ),
    click.option("--max-ii", metavar="II", type=click.IntRange(min=1), help="Give up above this II."),
    click.option(
        "--memory-limit", metavar="MB", type=click.IntRange(1, 2**30), default=8192, show_default=True, help="Memory of a solver."
    ),
    click.option(
        "--effort",
        metavar="N",
        type=Finite(min=0, min_open=True),
        help="Stop after N units of CP-SAT's deterministic time, a second or so each: the same answer on every machine.",
    ),
    click.option(
        "--time-limit",
        metavar="SECONDS",
        type=Finite(min=0, min_open=True),
        help=f"Stop with what is proved by then (default: {TIME_LIMIT}, none with --effort).",
    ),
    click.option("--engine", type=click.Choice(["auto", "yices", "cpsat"]), default="auto", show_default=True, help="Solver."),
)
"""In the order of `--help`, the last one first."""


def _exact(percent: float) -> Fraction | int:
    """The decimal that was written; fractions are imported only where there is one."""
    if not percent:
        return 0
    from fractions import Fraction

    return Fraction(str(percent))


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--engine`, `--time-limit`, `--effort`, `--memory-limit`, `--max-ii`, given to the command as one `options: twill.search.Options`."""

    @functools.wraps(command)
    def wrapped(
        engine: str,
        time_limit: float | None,
        effort: float | None,
        memory_limit: int | None,
        max_ii: int | None,
        depth: int | Literal["auto"] | None,
        objective: tuple[str, ...] | None,
        ii_slack: float,
        **others: Any,
    ) -> Any:
        from twill.search import Options

        if effort is not None and time_limit is not None:
            raise click.UsageError("--effort and --time-limit exclude each other: what a time limit cuts off is not repeatable.")
        options = Options(
            engine=engine,
            time_limit=TIME_LIMIT if time_limit is None and effort is None else time_limit,
            effort=effort,
            memory_limit_mb=memory_limit,
            max_ii=max_ii,
            depth=depth,
            objectives=objective,
            slack=_exact(ii_slack),
        )
        return command(options=options, **others)

    for option in _ENGINE_OPTIONS:
        wrapped = option(wrapped)
    return wrapped
