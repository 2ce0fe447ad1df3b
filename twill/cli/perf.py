"""`twill perf`: how long a tiled matrix product takes, by the published performance model and by the ring model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twill.cli import output
from twill.cli.options import Finite, debug_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from twill.perf.candidates import Conditions


def _conditions_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options from which `_conditions` makes a `Conditions`."""
    for option in (
        click.option("--warm-l2", is_flag=True, help="The operands lie in L2 when the kernel starts."),
        click.option("--clock", metavar="MHZ", type=Finite(min=0, min_open=True), help="SM clock measured during the run."),
        click.option(
            "--composition",
            type=click.Choice(["sequential", "overlapped", "persistent"]),
            default="sequential",
            show_default=True,
            help="How waves follow each other.",
        ),
        click.option("--shape", metavar="M,N,K", required=True, help="Size of the product, in elements."),
        click.option("--machine", metavar="NAME|PATH", required=True, help="Machine parameters: a6000, h200 or a TOML file."),
    ):
        command = option(command)
    return command


def _conditions(clock: float | None, warm_l2: bool, composition: str) -> Conditions:
    from fractions import Fraction

    from twill.perf.candidates import Conditions

    return Conditions(None if clock is None else Fraction(str(clock)), warm_l2, composition)


@click.group("perf", short_help="Predict kernel times, search tiles, calibrate.")
@debug_option
def command() -> None:
    """Predict the time of a warp-specialized GEMM, search its tile, calibrate the model.

    \b
    Examples:
      twill perf predict --machine h200 --shape 4096,4096,4096 --tile 128,256,64
      twill perf search --machine h200 --shape 4096,4096,4096 --plot tiles.svg
      twill perf calibrate rows.csv
      twill perf published
    """


@command.command(short_help="Predict the time of one tile.")
@_conditions_options
@click.option("--tile", metavar="TM,TN,TK", required=True, help="Tile of a thread block and its step along K, in elements.")
@click.option("--depth", metavar="SLOTS", type=int, help="Slots of the ring (default: chosen, and said).")
@click.option("--steps", metavar="COUNT", type=click.IntRange(min=1), help="Show the first stages: who waits for what.")
@debug_option
def predict(
    machine: str,
    shape: str,
    tile: str,
    depth: int | None,
    steps: int | None,
    composition: str,
    clock: float | None,
    warm_l2: bool,
) -> None:
    """Predict the time of a kernel: phases, what bounds it, every assumption.

    \b
    Examples:
      twill perf predict --machine h200 --shape 8192,8192,8192 --tile 128,256,64 --clock 1400
      twill perf predict --machine a6000 --shape 1024,1024,1024 --tile 128,64,64 --steps 6
    """
    from twill.perf import parameters, text
    from twill.perf.predict import predict as predict_
    from twill.perf.shapes import parse_shape, parse_tile
    from twill.perf.simulate import simulate

    made = predict_(parameters.load(machine), parse_shape(shape), parse_tile(tile), depth, _conditions(clock, warm_l2, composition))
    output.emit(text.prediction(made))
    if steps is not None:
        candidate = made.candidate
        shown = simulate(candidate.stage, candidate.depth, min(steps, candidate.plan.steps))
        output.emit("\nfirst stages of a tile\n" + text.timeline(shown))


@command.command(short_help="Find the best tile and ring depth.")
@_conditions_options
@click.option("--space", "space_file", metavar="FILE", help="TOML lists tile_m, tile_n, tile_k, depth (default: the machine's).")
@click.option(
    "--objective", type=click.Choice(["time", "waiting"]), default="time", show_default=True, help="Kernel time, or waiting of the math."
)
@click.option(
    "--method",
    type=click.Choice(["closed", "cpsat", "smt"]),
    default="closed",
    show_default=True,
    help="Closed form, or an encoding of every stage for a solver, checked against the recurrences.",
)
@click.option("--time-limit", metavar="SECONDS", type=Finite(min=0, min_open=True), default=600, show_default=True)
@click.option("--top", metavar="COUNT", type=click.IntRange(min=1), default=10, show_default=True, help="Rows to show.")
@click.option("--plot", metavar="FILE", help="Write a picture (.svg): time over the space, and the timeline of the best tile.")
@debug_option
def search(
    machine: str,
    shape: str,
    space_file: str | None,
    objective: str,
    method: str,
    time_limit: float,
    top: int,
    plot: str | None,
    composition: str,
    clock: float | None,
    warm_l2: bool,
) -> None:
    """Find the tile and ring depth with the least predicted time.

    \b
    Examples:
      twill perf search --machine h200 --shape 4096,4096,4096
      twill perf search --machine a6000 --shape 1024,1024,1024 --method smt
      twill perf search --machine h200 --shape 8192,8192,512 --space tiles.toml --plot tiles.svg
    """
    from twill.perf import parameters, text
    from twill.perf import search as searching
    from twill.perf.candidates import enumerate_space
    from twill.perf.shapes import parse_shape
    from twill.perf.tiles import TileSpace

    size = parse_shape(shape)
    if plot is not None and not plot.endswith(".svg"):
        raise click.BadParameter("the picture is SVG; name it *.svg.", param_hint="--plot")
    model = parameters.load(machine)
    space = model.space if space_file is None else TileSpace.load(space_file)
    found, rejected = enumerate_space(model, size, space, _conditions(clock, warm_l2, composition))
    output.emit(f"{size} on {model.name} ({model.status}), {len(found)} candidates\n")
    if method == "closed":
        ranked = searching.rank(found, objective=objective, composition=composition)
        output.emit(text.ranking(ranked, objective, top))
    else:
        best = searching.solve(found, method, objective=objective, composition=composition, time_limit=time_limit)
        output.emit(text.ranking([best], objective, 1) + f"proved optimal by {method}; equal to the recurrences.\n")
        ranked = (best,)
    output.emit(text.left_out(rejected))
    if plot is not None:
        from twill.files import write_text
        from twill.perf.plot import picture

        write_text(plot, picture(f"{size} on {model.name}", found, rejected, ranked[0].candidate, composition))


@command.command(short_help="Fit throughput and startup to measured rows.")
@click.argument("rows", type=click.Path(path_type=Path))
@click.option(
    "--tolerance",
    metavar="SHARE",
    type=Finite(min=0, min_open=True),
    default=0.05,
    show_default=True,
    help="Refuse a fit that misses a row by more than this share of its time.",
)
@debug_option
def calibrate(rows: Path, tolerance: float) -> None:
    """Fit throughput and startup to the measurements in ROWS, a CSV file, and print them as entries of a machine file.

    \b
    The columns are quantity (load, math, launch, epilogue), amount, amount_unit, time, time_unit:
      quantity,amount,amount_unit,time,time_unit
      load,16384,B,0.52,us
      math,262144,MAC,128,ns
      launch,,,1.7,us
    """
    from fractions import Fraction

    from twill.perf import text
    from twill.perf.calibrate import calibrate as calibrate_
    from twill.perf.rows import read_rows

    output.emit(text.calibration(calibrate_(read_rows(rows), tolerance=Fraction(str(tolerance)))))


@command.command(short_help="The published rows beside what the formulas give.")
@debug_option
def published() -> None:
    """Show the published rows of arXiv:2506.11209 beside what the published formulas give, and why the two disagree."""
    from twill.perf import published as rows

    output.emit(rows.report())
