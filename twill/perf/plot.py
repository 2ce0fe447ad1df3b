"""Pictures as SVG: predicted time over the tile space, and the timeline of both roles with their waits.

Written by hand instead of with a plotting library: two fixed pictures need rectangles and text only, the bytes depend on nothing but
the numbers, and the package keeps one dependency less.  Times are in microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from xml.etree import ElementTree as Xml

from twill.perf.candidates import Candidate
from twill.perf.shapes import Tile, Time, slots
from twill.perf.simulate import COMPUTING, LOADING, Action, Timeline, simulate

_CELL = (86, 40)
_MARGIN = 24
_LABELS = 56  # beside and above a grid of tiles
_PAGE = 1000  # grids of tiles stand beside each other up to this width
_LANE = (84, 34)  # width of a lane's name, height of a lane
_FAST, _SLOW = (8, 69, 148), (222, 235, 247)
_MISSING, _WAIT, _BEST = "#eeeeee", "#fee6ce", "#d94801"
_COLOURS = {"load A": "#4292c6", "load B": "#9ecae1", "compute": "#238b45"}
# Stages shown in a timeline: enough for the pattern to settle, few enough to read.
_STAGES = 10

_Cells = dict[tuple[int, int, int], Candidate]


def picture(
    title: str, candidates: Sequence[Candidate], rejected: Iterable[tuple[Tile, int, str]], best: Candidate, composition: str
) -> str:
    """SVG text: a grid of tiles for each T_K with the least time over the ring depths, and below the first stages of `best`.

    Darker is faster; the best tile has a frame; a tile that fits with no depth is grey.
    """
    grids, width, height = _grids(candidates, rejected, best, composition)
    shown = simulate(best.stage, best.depth, min(_STAGES, best.plan.steps))
    lanes, lanes_height = _timeline(shown, max(width, 640))
    page_width, page_height = max(width, 640) + 2 * _MARGIN, height + lanes_height + 128
    root = Xml.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {page_width} {page_height}",
            "width": str(page_width),
            "height": str(page_height),
            "font-family": "sans-serif",
            "font-size": "12",
        },
    )
    root.append(_rect(0, 0, page_width, page_height, "#ffffff"))
    root.append(_text(_MARGIN, 28, title, size=16))
    root.append(_text(_MARGIN, 48, "least predicted time over the ring depths, us; darker is faster, grey does not fit"))
    root.append(_group(_MARGIN, 60, grids))
    top = 60 + height + 24
    first = f"first {min(_STAGES, best.plan.steps)} stages of tile {best.tile} with {slots(best.depth)}"
    root.append(_text(_MARGIN, top, f"{first}: who works, who waits", size=14))
    root.append(_group(_MARGIN, top + 12, lanes))
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode") + "\n"


def _grids(
    candidates: Sequence[Candidate], rejected: Iterable[tuple[Tile, int, str]], best: Candidate, composition: str
) -> tuple[list[Xml.Element], int, int]:
    """The grids of all T_K, and the width and height that they take."""
    tiles = {candidate.tile for candidate in candidates} | {tile for tile, _, _ in rejected}
    rows, columns = sorted({tile.m for tile in tiles}), sorted({tile.n for tile in tiles})
    cells: _Cells = {}
    for candidate in candidates:
        key = (candidate.tile.m, candidate.tile.n, candidate.tile.k)
        if key not in cells or candidate.time(composition) < cells[key].time(composition):
            cells[key] = candidate
    times = [float(candidate.time(composition)) for candidate in cells.values()]
    width, height = _LABELS + len(columns) * _CELL[0] + 16, _LABELS + len(rows) * _CELL[1] + 16
    side_by_side = max(1, _PAGE // width)
    steps = sorted({tile.k for tile in tiles})
    found = []
    for i, k in enumerate(steps):
        grid = _grid(k, rows, columns, cells, (min(times), max(times)), best, composition)
        found.append(_group(i % side_by_side * width, i // side_by_side * height, grid))
    return found, min(len(steps), side_by_side) * width, math.ceil(len(steps) / side_by_side) * height


def _grid(
    k: int, rows: list[int], columns: list[int], cells: _Cells, span: tuple[float, float], best: Candidate, composition: str
) -> Iterator[Xml.Element]:
    yield _text(_LABELS, 20, f"TK = {k}", size=13)
    for column, n in enumerate(columns):
        yield _text(_LABELS + column * _CELL[0] + _CELL[0] // 2, 44, f"TN {n}", anchor="middle")
    for row, m in enumerate(rows):
        y = _LABELS + row * _CELL[1]
        yield _text(_LABELS - 6, y + 24, f"TM {m}", anchor="end")
        for column, n in enumerate(columns):
            yield from _cell(_LABELS + column * _CELL[0], y, cells.get((m, n, k)), span, best, composition)


def _cell(
    x: int, y: int, candidate: Candidate | None, span: tuple[float, float], best: Candidate, composition: str
) -> Iterator[Xml.Element]:
    if candidate is None:
        yield _rect(x, y, _CELL[0] - 2, _CELL[1] - 2, _MISSING)
        return
    time = float(candidate.time(composition))
    share = math.log(time / span[0]) / math.log(span[1] / span[0]) if span[1] > span[0] else 0.0
    colour = "#" + "".join(f"{round(fast + (slow - fast) * share):02x}" for fast, slow in zip(_FAST, _SLOW, strict=True))
    ink = "#ffffff" if share < 0.55 else "#000000"
    yield _rect(x, y, _CELL[0] - 2, _CELL[1] - 2, colour, frame=_BEST if candidate.tile == best.tile else None)
    middle = x + _CELL[0] // 2 - 1
    yield _text(middle, y + 17, f"{time:.4g}", anchor="middle", colour=ink)
    yield _text(middle, y + 31, slots(candidate.depth), anchor="middle", colour=ink, size=10)


def _timeline(shown: Timeline, width: int) -> tuple[list[Xml.Element], int]:
    """Lanes of both roles with a time axis and a legend, and their height."""
    end = float(max(action.end for action in shown.actions)) or 1.0
    scale = (width - _LANE[0] - 16) / end
    found: list[Xml.Element] = []
    for lane, role in enumerate((LOADING, COMPUTING)):
        y = 8 + lane * (_LANE[1] + 10)
        found.append(_text(_LANE[0] - 8, y + 21, role, anchor="end"))
        for action in shown.actions:
            if action.role == role:
                found += _action(action, y, scale)
    axis = 8 + 2 * (_LANE[1] + 10)
    found.append(_rect(_LANE[0], axis, round(end * scale, 2), 1, "#000000"))
    for tick in _ticks(end):
        found.append(_rect(round(_LANE[0] + tick * scale, 2), axis, 1, 5, "#000000"))
        found.append(_text(round(_LANE[0] + tick * scale, 2), axis + 18, f"{tick:g}", anchor="middle"))
    found.append(_text(width, axis + 34, "us", anchor="end"))
    x = _LANE[0]
    for what, colour in (*_COLOURS.items(), ("waits", None)):
        found.append(_rect(x, axis + 26, 14, 12, colour or _WAIT, frame="#888888", dashed=colour is None))
        found.append(_text(x + 20, axis + 36, what))
        x += 90
    return found, axis + 44


def _action(action: Action, y: int, scale: float) -> Iterator[Xml.Element]:
    x = round(_LANE[0] + float(action.start) * scale, 2)
    width = round(float(action.end - action.start) * scale, 2)
    if action.waited:
        waited = round(float(action.waited) * scale, 2)
        yield _rect(round(x - waited, 2), y, waited, _LANE[1], _WAIT, frame="#888888", dashed=True, hint=f"waits for {action.waited_for}")
    hint = f"{action.what} of stage {action.stage}: {_range(action.start, action.end)} us"
    yield _rect(x, y, width, _LANE[1], _COLOURS[action.what], frame="#ffffff", hint=hint)
    if width >= 16:
        ink = "#ffffff" if action.what == "compute" else "#000000"
        yield _text(round(x + width / 2, 2), y + 21, str(action.stage), anchor="middle", colour=ink)


def _ticks(end: float) -> list[float]:
    """Round values from 0 to `end`, between five and ten of them."""
    step = 10.0 ** math.floor(math.log10(end / 5))
    step *= next(factor for factor in (1, 2, 5, 10) if end / (step * factor) <= 10)
    return [round(step * i, 12) for i in range(int(end / step) + 1)]


def _range(start: Time, end: Time) -> str:
    return f"{float(start):.3f} to {float(end):.3f}"


def _rect(
    x: float, y: float, width: float, height: float, fill: str, *, frame: str | None = None, dashed: bool = False, hint: str = ""
) -> Xml.Element:
    attributes = {"x": f"{x:g}", "y": f"{y:g}", "width": f"{width:g}", "height": f"{height:g}", "fill": fill}
    if frame is not None:
        attributes |= {"stroke": frame, "stroke-width": "3" if frame == _BEST else "1"}
    if dashed:
        attributes["stroke-dasharray"] = "3 2"
    element = Xml.Element("rect", attributes)
    if hint:
        Xml.SubElement(element, "title").text = hint
    return element


def _text(x: float, y: float, content: str, *, anchor: str = "start", size: int = 12, colour: str = "#000000") -> Xml.Element:
    attributes = {"x": f"{x:g}", "y": f"{y:g}", "text-anchor": anchor, "font-size": str(size), "fill": colour}
    element = Xml.Element("text", attributes)
    element.text = content
    return element


def _group(x: int, y: int, children: Iterable[Xml.Element]) -> Xml.Element:
    group = Xml.Element("g", {"transform": f"translate({x} {y})"})
    group.extend(list(children))
    return group
