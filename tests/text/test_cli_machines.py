"""`twill machines`: list, show, lint."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest


def test_bare_command_lists_the_models(twill_command: Callable[..., Any]) -> None:
    done = twill_command("machines")
    assert (done.status, done.err) == (0, "")
    assert [line.split()[:2] for line in done.out.splitlines()] == [["b200", "cuda:100"], ["h100", "cuda:90"], ["h200", "cuda:90"]]
    assert twill_command("machines", "list") == done


@pytest.mark.parametrize("name", ["h100", "h200", "b200"])
def test_show_names_unit_quality_and_source_of_every_number(twill_command: Callable[..., Any], name: str) -> None:
    done = twill_command("machines", "show", name)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"{name}  ")
    headings = re.findall(r"(?m)^([A-Z][^\n]*?)(?:  .*)?$", done.out)
    assert headings[:3] == ["Units", "Memories", "Limits"]
    units = done.out.split("\nUnits\n")[1].split("\n\n")[0]
    assert all(re.search(r"measured|documented|derived", line) for line in units.splitlines() if re.match(r"  \w", line))


def test_lint_is_silent_about_the_bundled_models(twill_command: Callable[..., Any]) -> None:
    assert twill_command("machines", "lint", "h100").out == "h100: no findings\n"


def test_lint_prints_findings_and_is_bad_input(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    text = (resources.files("twill.machine_models") / "h200.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    assert twill_command("machines", "lint", path).status == 0
    path.write_text(text.replace("[units", "[unts", 1), encoding="utf-8")
    done = twill_command("machines", "lint", path)
    assert done.status == 2
    assert done.out.startswith(f"{path}:") and "unts" in done.out


def test_an_unknown_machine_names_the_known_ones(twill_command: Callable[..., Any]) -> None:
    done = twill_command("machines", "show", "h900")
    assert (done.status, done.out) == (2, "")
    assert done.err == 'twill: there is no machine called "h900". Known: b200, h100, h200; or give the path of a .toml file.\n'
