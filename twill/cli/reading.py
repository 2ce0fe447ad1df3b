"""Options that choose what is solved: the published reading beside ours, and normalized costs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from twill.cli.options import Finite

if TYPE_CHECKING:
    from twill.normalize import Normalized
    from twill.problem import Problem

METHODS = ("none", "scale", "zlp", "zlp-lex")


@dataclass(frozen=True)
class Reading:
    """What `--literal` and the `--normalize` options say."""

    literal: bool
    warp_sets: bool
    method: str
    budget: int
    tolerance: float
    floor: int
    target: int

    def normalized(self, problem: Problem) -> Normalized | None:
        """The problem in normalized cycles, None with `--normalize none`."""
        if self.method == "none":
            return None
        from fractions import Fraction

        from twill.normalize import Settings, normalize

        tolerance = Fraction(str(self.tolerance)) / 100
        return normalize(problem, self.method, Settings(self.budget, tolerance, self.floor, self.target))

    @property
    def asked(self) -> dict[str, str | int | bool | None]:
        """The options that are not at their defaults, for result files."""
        found: dict[str, str | int | bool | None] = {"literal": True} if self.literal else {}
        if self.warp_sets:
            found["warp_sets"] = True
        return found if self.method == "none" else {**found, "normalize": self.method}


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options, given to the command as one `reading: Reading`."""

    @functools.wraps(command)
    def wrapped(
        literal: bool,
        warp_sets: bool,
        normalize: str,
        normalize_budget: int,
        normalize_tolerance: float,
        normalize_floor: int,
        normalize_target: int,
        **others: Any,
    ) -> Any:
        if warp_sets and not literal:
            raise click.UsageError("--warp-sets is a reading of the published constraints: it goes with --literal.")
        reading = Reading(literal, warp_sets, normalize, normalize_budget, normalize_tolerance, normalize_floor, normalize_target)
        return command(reading=reading, **others)

    for option in (
        click.option(
            "--normalize-target",
            metavar="II",
            type=click.IntRange(2, 2**16),
            default=64,
            show_default=True,
            help="scale: largest lower bound on the II.",
        ),
        click.option(
            "--normalize-floor",
            metavar="N",
            type=click.IntRange(min=1),
            default=32,
            show_default=True,
            help="zlp-lex: costs below 1/N of the largest become 0.",
        ),
        click.option(
            "--normalize-tolerance",
            metavar="PERCENT",
            type=Finite(0, 100),
            default=10,
            show_default=True,
            help="zlp-lex: merge costs this close.",
        ),
        click.option(
            "--normalize-budget",
            metavar="U",
            type=click.IntRange(1, 2**16),
            default=300,
            show_default=True,
            help="zlp, zlp-lex: limit on the sum of the values.",
        ),
        click.option(
            "--normalize",
            type=click.Choice(METHODS),
            default="none",
            show_default=True,
            help="Map costs to small integers first; the order found is then timed on raw costs.",
        ),
        click.option(
            "--warp-sets",
            is_flag=True,
            help="With --literal: every op has a set of warps, and sets may overlap, as in the public reproduction.",
        ),
        click.option("--literal", is_flag=True, help="The published constraints and search to the letter, for comparison."),
    ):
        wrapped = option(wrapped)
    return wrapped
