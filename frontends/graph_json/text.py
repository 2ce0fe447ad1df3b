"""How our JSON files look: one line for each op, dependence, claim or other entry, so that people and `diff` can read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

_WIDTH = 120


def layout(value: object, indent: int = 0) -> str:
    """JSON text of `value`: on one line where it fits and holds no list of objects, else one line an entry."""
    flat = json.dumps(value, allow_nan=False)
    if len(flat) + indent <= _WIDTH and not _is_table(value):
        return flat
    step = " " * (indent + 2)
    if isinstance(value, Mapping) and value:
        lines = [f"{json.dumps(key)}: {layout(entry, indent + 2)}" for key, entry in value.items()]
        return "{\n" + ",\n".join(step + line for line in lines) + "\n" + " " * indent + "}"
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        lines = [json.dumps(entry, allow_nan=False) for entry in value]
        return "[\n" + ",\n".join(step + line for line in lines) + "\n" + " " * indent + "]"
    return flat


def _is_table(value: object) -> bool:
    """Whether the value is the whole document or holds a list of objects, which get a line each."""
    if isinstance(value, Mapping):
        return "schema" in value or "ops" in value
    return isinstance(value, Sequence) and any(isinstance(entry, Mapping) for entry in value)
