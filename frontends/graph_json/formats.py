"""Which format a document has, and the Problem in any that has one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from twill.frontends.graph_json import golden, problem_json
from twill.frontends.graph_json.document import Item, parse, read_text
from twill.problem import SCHEMA, Problem


def schema(item: Item, *readable: str) -> str:
    """The document's format, one of `readable`; BadInput when it has another or none."""
    if not isinstance(item.value, Mapping):
        raise item.wrong("an object")
    remedy = f"Expected here: {' or '.join(readable)}."
    if "schema" not in item.value:
        raise item.error('the field "schema" is missing.', remedy)
    name = item.child("schema", item.value["schema"])
    if name.value not in readable:
        raise name.error(f"unknown format {name.shown}.", remedy)
    return name.text()


def problem_from_item(item: Item) -> Problem:
    """The Problem in a `twill.problem/1` or `twill-golden-1` document."""
    if schema(item, SCHEMA, golden.SCHEMA) == SCHEMA:
        return problem_json.problem_from_item(item)
    return golden.golden_from_item(item).problem


def read_problem(path: str | Path) -> Problem:
    """The Problem in a `twill.problem/1` or `twill-golden-1` file; BadInput with file, path and value when it is neither."""
    return problem_from_item(parse(read_text(path), str(path)))
