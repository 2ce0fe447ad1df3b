"""Shared by all tests: golden files, and where things are."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# The same examples in every run, so that a change is judged by what it changes; `--hypothesis-profile=default` draws others.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden with what tests got")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` fails, with a diff, unless `tests/golden/<name>` holds `text`; `--update-golden` rewrites it."""
    update = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        path = ROOT / "tests" / "golden" / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        if text != expected:
            lines = difflib.unified_diff(expected.splitlines(), text.splitlines(), f"tests/golden/{name}", "now", lineterm="")
            pytest.fail("\n".join(["run with --update-golden if the new text is right", *lines]), pytrace=False)

    return compare


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The folder that holds tests/, README.md and pyproject.toml."""
    return ROOT


@pytest.fixture(scope="session")
def source_tree() -> Path:
    """The source tree: beside the tests, or where `TWILL_SOURCE` says (`.ci/run` tests the wheel away from the sources)."""
    return Path(os.environ.get("TWILL_SOURCE", ROOT))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The project's collection of designs, instances and IR samples; tests that need it are skipped where it is absent."""
    path = ROOT.parent / "shared"
    if not path.is_dir():
        pytest.skip("needs the folder ../shared")
    return path
