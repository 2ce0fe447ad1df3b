"""Reading TOML with exact decimals and errors that name the line."""

from __future__ import annotations

import re
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

from twill.errors import BadInput, Place


def parse(text: str, file: str) -> dict[str, Any]:
    """Document in which every decimal is a Fraction; BadInput with the line when it is malformed."""
    try:
        return tomllib.loads(text, parse_float=Fraction)
    except RecursionError:
        raise BadInput("lists are nested too deep.", place=Place(file)) from None
    except ValueError as error:  # TOMLDecodeError is one; so is Fraction("inf")
        where = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        place = Place(file, int(where[1]), int(where[2])) if where else Place(file)
        what = re.sub(r"\s*\(at .*\)$", "", str(error))
        raise BadInput(f"this is not TOML: {what[0].lower()}{what[1:]}.", place=place) from error


def read(path: str | Path) -> dict[str, Any]:
    """Document of the file at `path`; BadInput when it cannot be read."""
    try:
        return parse(Path(path).read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise BadInput("the file is not UTF-8 text.", place=Place(file=str(path))) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BadInput(f"cannot read the file: {reason}.", place=Place(file=str(path))) from error
