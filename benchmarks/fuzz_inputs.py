"""Fuzz the readers: `python benchmarks/fuzz_inputs.py [--seconds 600] [--seed 1] [--keep FOLDER]`.

Changes good TTGIR, JSON and machine files, recorded schedules and pipelined programs at random (tests/oracle/mutations.py) and reads
the result as `twill schedule` would, up to the search, and as `twill lower` and `twill simulate` would.  With Triton installed there
is a kernel among them whose nest of loops Triton flattened.  Every case must be read or refused with one sentence; anything else is a
fault, is kept in FOLDER, and makes the exit status 1.  A case that takes more than `--slow` seconds is a fault as well.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from oracle.mutations import mutated  # noqa: E402
from oracle.readers import READERS, good, outcome  # noqa: E402


class SlowError(Exception):
    """A case took too long."""


def _too_slow(*_: object) -> None:
    raise SlowError


def flattened() -> list[str]:
    """A persistent GEMM with descriptors whose two loops Triton made one; none without Triton."""
    if importlib.util.find_spec("triton") is None:
        return []
    from twill.frontends.triton_source import to_ttgir

    spec = importlib.util.spec_from_file_location("forms", ROOT / "tests" / "kernels" / "forms.py")
    assert spec is not None and spec.loader is not None
    forms = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(forms)
    types = dict.fromkeys("abc", "tensordesc<fp16[64,64]>") | dict.fromkeys("MNK", "i32")
    return [to_ttgir(forms.persistent, types, {"BM": 64, "BN": 64, "BK": 64, "SMS": 2, "FLAT": True}, arch=90, warps=4)]


def run(seconds: float, seed: int, slow: int, keep: Path) -> int:
    """Number of faults."""
    draw = random.Random(seed)
    texts = {reader: good(reader, ROOT / "tests" / "golden" / "instances") for reader in READERS}
    texts["ttgir"] += flattened()
    counts: dict[str, Counter[str]] = {reader: Counter() for reader in READERS}
    signal.signal(signal.SIGALRM, _too_slow)
    end, faults, longest = time.monotonic() + seconds, 0, 0.0
    while time.monotonic() < end:
        reader = draw.choice(list(READERS))
        text = mutated(draw, texts[reader])
        begun = time.monotonic()
        signal.alarm(slow)
        try:
            counts[reader][outcome(reader, text)] += 1
        except Exception as error:  # every kind of failure is what this looks for
            faults += 1
            counts[reader]["FAULT"] += 1
            keep.mkdir(parents=True, exist_ok=True)
            path = keep / f"{reader}-{seed}-{sum(map(Counter.total, counts.values()))}{READERS[reader][0]}"
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            print(f"{path}: {type(error).__name__}: {error}", *traceback.format_tb(error.__traceback__)[-2:], sep="\n", flush=True)
        finally:
            signal.alarm(0)
        longest = max(longest, time.monotonic() - begun)
    print(f"{'reader':8} {'cases':>8} {'read':>8} {'refused':>8} {'faults':>7}")
    for reader, count in counts.items():
        refused = count.total() - count["read"] - count["FAULT"]
        kinds = ", ".join(f"{number} {kind}" for kind, number in count.most_common() if kind not in ("read", "FAULT"))
        print(f"{reader:8} {count.total():8} {count['read']:8} {refused:8} {count['FAULT']:7}  {kinds}")
    print(f"seed {seed}, {seconds:g} s, longest case {longest:.2f} s")
    return faults


def main() -> None:
    """Parse the command line and fuzz."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slow", type=int, default=20, help="seconds after which a case counts as a fault")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-faults"))
    options = parser.parse_args()
    sys.exit(1 if run(options.seconds, options.seed, options.slow, options.keep) else 0)


if __name__ == "__main__":
    main()
