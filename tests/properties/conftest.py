"""Makes `oracle`, the exhaustive reference of tests/oracle, importable from property tests (tests are not packages here)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "oracle"

if "oracle" not in sys.modules:
    spec = importlib.util.spec_from_file_location("oracle", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)])
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["oracle"] = package
    spec.loader.exec_module(package)
