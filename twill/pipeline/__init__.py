"""A schedule as a program of warp groups: data types in `program`, `expand` makes one."""

from __future__ import annotations

from twill.pipeline.expand import expand

__all__ = ["expand"]
