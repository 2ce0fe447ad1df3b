"""C identifiers, and lines of code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

_KEYWORDS = """
alignas alignof and asm auto bool break case catch char class const constexpr continue default delete do double else enum explicit
export extern false float for friend goto if inline int long mutable namespace new not operator or private protected public register
return short signed sizeof static struct switch template this throw true try typedef typeid typename union unsigned using virtual
void volatile while xor
"""
_OURS = "lane warp thread smem t n i j k trips ex2 twill DEVICE min max abs"
_TAKEN = frozenset(f"{_KEYWORDS} {_OURS}".split())


@dataclass
class Names:
    """Identifiers that are in use in a function."""

    used: set[str] = field(default_factory=lambda: set(_TAKEN))

    def new(self, wanted: str) -> str:
        """An identifier like `wanted` that is not in use."""
        base = re.sub(r"\W", "_", wanted).strip("_") or "v"
        base = f"v{base}" if base[0].isdigit() else base
        found, count = base, 1
        while found in self.used:
            count += 1
            found = f"{base}_{count}"
        self.used.add(found)
        return found


@dataclass(frozen=True)
class Line:
    """A line of code; `declares` a name that nothing else may depend on."""

    depth: int
    text: str
    declares: str = ""

    def __str__(self) -> str:
        return "  " * self.depth + self.text if self.text else ""


def words(lines: Iterable[Line]) -> set[str]:
    """Identifiers and keywords in lines, comments left out."""
    return {word for line in lines for word in re.findall(r"[A-Za-z_]\w*", line.text.split("//")[0])}


def declared_array(line: Line) -> str | None:
    """The array that a line declares and does nothing else; None for other lines."""
    found = re.fullmatch(r"(?:float|double|int|uint32_t|bool|long long) (\w+)\[\d+\];", line.text)
    return found[1] if found is not None else None


@dataclass
class Code:
    """Lines of a function, in order."""

    depth: int = 1
    lines: list[Line] = field(default_factory=list)

    def add(self, text: str, declares: str = "") -> None:
        """One line."""
        self.lines.append(Line(self.depth, text, declares))

    @contextmanager
    def block(self, head: str, tail: str = "}") -> Iterator[None]:
        """Lines in braces behind `head`."""
        self.add(f"{head} {{" if head else "{")
        self.depth += 1
        yield
        self.depth -= 1
        self.add(tail)

    @contextmanager
    def unrolled(self, count: int, start: int = 0, step: int = 1, most: int = 0) -> Iterator[None]:
        """An unrolled loop over registers `i`; `most`: so many turns at a time, 0 for all."""
        self.lines.append(Line(0, f"#pragma unroll {most}" if most else "#pragma unroll"))
        advance = "i++" if step == 1 else f"i += {step}"
        self.add(f"for (int i = {start}; i < {count}; {advance}) {{")
        self.depth += 1
        yield
        self.depth -= 1
        self.add("}")


def without_unused(lines: list[Line]) -> list[Line]:
    """The lines without declarations of names that nothing uses, and without loops and blocks that they leave empty."""
    while True:
        counts: dict[str, int] = {}
        for line in lines:
            for word in words([line]):
                counts[word] = counts.get(word, 0) + 1
        kept = [line for line in lines if not line.declares or counts[line.declares] > 1]
        if len(kept) == len(lines):
            return kept
        lines = kept
