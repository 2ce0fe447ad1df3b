"""Reading takes linear time and is fast enough not to be noticed.  CPU time, with much room for slow machines."""

from __future__ import annotations

import re
from pathlib import Path
from time import process_time

from twill.frontends.ttgir import parse

SAMPLE = Path(__file__).resolve().parent.parent / "text" / "ttgir" / "triton-3.9.0-sm90-fa_fwd_desc.ttgir"


def repeated(times: int) -> str:
    """The attention kernel with its loop `times` times; every copy has names of its own."""
    lines = SAMPLE.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if "scf.for" in line)
    stop = next(i for i, line in enumerate(lines) if "scf.yield" in line) + 2
    end = next(i for i, line in enumerate(lines) if "tt.return" in line)
    loop = "\n".join(lines[start:stop])
    own = set(re.findall(r"(?m)^ *(%\w+)(?::\d+)? = ", loop)) | set(re.findall(r"(%\w+) = %|(?:\(|, )(%\w+): f32", loop))
    names = {name for match in own for name in ([match] if isinstance(match, str) else match)}
    copies = [re.sub(r"%\w+", lambda m: f"{m[0]}_{k}" if m[0] in names else m[0], loop) for k in range(times)]  # noqa: B023
    return "\n".join([*lines[:start], *copies, *lines[end:]])


def seconds(text: str) -> float:
    start = process_time()
    parse(text)
    return process_time() - start


def test_attention_is_read_at_once() -> None:
    text = SAMPLE.read_text(encoding="utf-8")
    assert min(seconds(text) for _ in range(3)) < 0.1


def test_time_grows_with_the_size_only() -> None:
    small, large = repeated(20), repeated(160)
    assert len(parse(large).loops()) == 160
    per_byte = min(seconds(small) for _ in range(2)) / len(small)
    assert seconds(large) / len(large) < 3 * per_byte
