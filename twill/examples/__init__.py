"""The kernels that come with twill: Triton sources and the TTGIR that Triton printed for them."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from twill.errors import BadInput, Place
from twill.examples.catalog import TRITON_VERSION, Example, examples
from twill.files import write_text

__all__ = ["TRITON_VERSION", "Example", "contents", "examples", "write"]


def contents() -> dict[str, str]:
    """Text of every file that `write` writes, by path relative to the folder: TTGIR, Triton sources, a page that lists them."""
    root = resources.files(__name__)
    listed = examples()
    files = {example.file: (root / example.file).read_text(encoding="utf-8") for example in listed}
    for source in dict.fromkeys(example.source for example in listed):
        files[f"kernels/{source}"] = (root / "kernels" / source).read_text(encoding="utf-8")
    files["EXAMPLES.md"] = _page(listed)
    return files


def write(folder: str | Path, *, force: bool = False) -> tuple[Path, ...]:
    """Write all of `contents()` under `folder` (made when missing) and return the paths.

    Files that are there already with the same text are left alone.  Raises BadInput, before anything is written, when a file is
    there with other text and `force` is not set.
    """
    base, files = Path(folder), contents()
    changed = [name for name, text in files.items() if (base / name).exists() and not _holds(base / name, text)]
    if changed and not force:
        raise BadInput(
            f"the file exists with other contents{_and_others(len(changed) - 1)}; nothing was written.",
            place=Place(file=str(base / changed[0])),
            remedy="Use --force to overwrite, or another folder.",
        )
    try:
        (base / "kernels").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BadInput(f"cannot make the folder: {reason}.", place=Place(file=str(base))) from error
    for name, text in files.items():
        if not _holds(base / name, text):
            write_text(base / name, text)
    return tuple(base / name for name in files)


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode("utf-8")


def _and_others(count: int) -> str:
    return "" if count == 0 else f", and so do{'es' if count == 1 else ''} {count} more"


def _page(listed: tuple[Example, ...]) -> str:
    rows = [f"| `{e.file}` | {e.target} | {e.warps} | `kernels/{e.source}`: `{e.kernel}` | {e.summary} |" for e in listed]
    return "\n".join(
        [
            "# Examples of twill",
            "",
            f"TTGIR printed by Triton {TRITON_VERSION} just before its software pipeliner, without a GPU.",
            "Schedule one with `twill schedule FILE --machine h100` (cuda:90) or `--machine b200` (cuda:100).",
            "`python -m twill.examples.regenerate DIR` makes the TTGIR again from the kernels.",
            "",
            "| file | target | warps | kernel | what |",
            "| --- | --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )
