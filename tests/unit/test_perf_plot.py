"""The picture: well-formed, complete, the same bytes for the same numbers."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

from twill.perf.candidates import Conditions, enumerate_space
from twill.perf.parameters import load
from twill.perf.plot import picture
from twill.perf.search import rank
from twill.perf.shapes import Shape
from twill.perf.tiles import TileSpace

SVG = "{http://www.w3.org/2000/svg}"


def drawn(space: TileSpace, shape: Shape, machine: str = "h200") -> Xml.Element:
    found, rejected = enumerate_space(load(machine), shape, space, Conditions())
    best = rank(found)[0].candidate
    text = picture("a title", found, rejected, best, "sequential")
    assert text == picture("a title", found, rejected, best, "sequential")
    return Xml.fromstring(text)


def texts(root: Xml.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_one_cell_for_every_tile_and_one_frame() -> None:
    root = drawn(TileSpace((64, 128, 256), (128, 256), (64, 128), (2, 3)), Shape(4096, 4096, 4096))
    shown = texts(root)
    assert [label for label in shown if label.startswith("TK")] == ["TK = 64", "TK = 128"]
    rectangles = list(root.iter(f"{SVG}rect"))
    assert len([r for r in rectangles if r.get("width") == "84" and r.get("height") == "38"]) == 2 * 3 * 2
    assert len([r for r in rectangles if r.get("fill") == "#eeeeee"]) == 2
    assert len([r for r in rectangles if r.get("stroke") == "#d94801"]) == 1


def test_timeline_names_what_is_waited_for() -> None:
    root = drawn(TileSpace((128,), (128,), (128,), (1,)), Shape(1024, 1024, 1024), "a6000")
    hints = [hint.text for hint in root.iter(f"{SVG}title")]
    assert hints.count("waits for load B of stage 1 to arrive") == 1
    assert hints.count("waits for slot of stage 1 to be released") == 1
    assert len([h for h in hints if h is not None and h.startswith("compute of stage")]) == 8


def test_a_single_tile_has_a_picture_too() -> None:
    assert "first 2 stages of tile 64x64x64 with 1 slot: who works, who waits" in texts(
        drawn(TileSpace((64,), (64,), (64,), (1,)), Shape(64, 64, 128))
    )
