"""Finding, reading and inheriting machine files.

A file may begin as a copy of another one:

    [base]
    model = "h200"                       # a name that twill knows, or a path relative to this file
    reason = "same SM, measured there"   # why the numbers hold here too

Its own entries replace those of the base one by one.  A number that was measured on the base's chip is not measured on another
chip: it becomes "derived", and its source ends with the reason.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from twill.errors import BadInput, Place
from twill.machine import Machine
from twill.machine_models.schema import HEADER, TABLES, build

_PLACED = ("device", "units", "memories", "limits", "barriers", "constants", "rules", "coupled")
"""Tables whose entries have a source and a quality."""

Table = Mapping[str, Any]


@dataclass(frozen=True)
class _File:
    """A machine file: how messages call it, and where its text and its neighbours are."""

    label: str
    where: Traversable
    folder: Path | None

    def text(self) -> str:
        try:
            return self.where.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise BadInput("the file is not UTF-8 text.", place=Place(file=self.label)) from None
        except OSError as error:
            reason = (error.strerror or "unreadable").lower()
            raise BadInput(f"cannot read the machine file: {reason}.", place=Place(file=self.label)) from None


def names() -> tuple[str, ...]:
    """The machines that twill knows, sorted."""
    folder = resources.files("twill.machine_models")
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


def load(name_or_path: str | Path) -> Machine:
    """The machine called so, or the one in a TOML file (a path that ends in .toml or has a folder in it).

    Raises BadInput, with the file and the key's path, for an unknown name and for a file with anything wrong in it.
    """
    machine, found = examine(name_or_path)
    if machine is None:
        raise found[0]
    return machine


def examine(name_or_path: str | Path) -> tuple[Machine | None, list[BadInput]]:
    """The machine, or None, and everything that is wrong with its file.  Raises BadInput when the file cannot be read at all."""
    file = _find(str(name_or_path), None, None)
    return build(_resolved(file, ()), file.label)


def _find(name: str, folder: Path | None, place: Place | None) -> _File:
    """A machine file by name, or by path: relative to `folder` when there is one."""
    if name in names():
        return _File(f"{name}.toml", resources.files("twill.machine_models") / f"{name}.toml", None)
    path = Path(name) if folder is None else folder / name
    if path.suffix != ".toml" and path.parent == (folder or Path()):
        message = f'there is no machine called "{name}".'
        raise BadInput(message, place=place, remedy=f"Known: {', '.join(names())}; or give the path of a .toml file.")
    return _File(str(path), path, path.parent)


def _resolved(file: _File, heirs: tuple[str, ...]) -> dict[str, Any]:
    """The contents of the file with those of its base filled in."""
    data = _parsed(file)
    base = data.pop("base", None)
    if base is None:
        return data
    model, reason = (_base_text(file, base, key) for key in ("model", "reason"))
    place = Place(file=file.label, path="base.model")
    found = _find(model, file.folder, place)
    if found.label in (*heirs, file.label):
        raise BadInput(f'"{model}" is based on this file itself.', place=place)
    inherited = _resolved(found, (*heirs, file.label))
    _, wrong = build(inherited, found.label)
    if wrong:
        raise wrong[0]
    return _merged(_inherited(inherited, reason, same_chip=inherited["chip"] == data.get("chip")), data)


def _parsed(file: _File) -> dict[str, Any]:
    try:
        return tomllib.loads(file.text(), parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        at = re.search(r" \(at line (\d+), column (\d+)\)$", message)
        place = Place(file.label, int(at[1]), int(at[2])) if at else Place(file.label)
        raise BadInput(f"not TOML: {message[: at.start()] if at else message}.", place=place) from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, lists in lists in lists
        raise BadInput("not a machine file: a number is too long, or lists are nested too deep.", place=Place(file.label)) from None


def _base_text(file: _File, base: object, key: str) -> str:
    value = base.get(key) if isinstance(base, dict) else None
    if not isinstance(value, str) or not value.strip():
        place = Place(file=file.label, path=f"base.{key}")
        raise BadInput("[base] needs a model and a reason.", place=place, remedy='E.g. model = "h200", reason = "same SM".')
    return value


def _inherited(data: Table, reason: str, *, same_chip: bool) -> dict[str, Any]:
    """What another file takes from this one."""
    taken = {key: value for key, value in data.items() if key not in HEADER}
    for table in () if same_chip else (name for name in _PLACED if name in taken):
        taken[table] = {key: _moved(entry, reason) for key, entry in taken[table].items()}
    return taken


def _moved(entry: Table, reason: str) -> dict[str, Any]:
    """An entry on another chip."""
    if entry["quality"] != "measured":
        return dict(entry)
    return {**entry, "quality": "derived", "source": f"{entry['source']}; {reason}"}


def _merged(base: Table, own: Table) -> dict[str, Any]:
    merged = {**base, **own}
    for table in TABLES:
        if isinstance(base.get(table), dict) and isinstance(own.get(table), dict):
            merged[table] = {**base[table], **own[table]}
    if isinstance(own.get("notes", []), list):
        merged["notes"] = [*base.get("notes", []), *own.get("notes", [])]
    return merged
