"""Machine models: one TOML file a machine, every number with unit, source and quality."""

from __future__ import annotations

from twill.machine_models.lint import lint
from twill.machine_models.loader import load, names

__all__ = ["lint", "load", "names"]
