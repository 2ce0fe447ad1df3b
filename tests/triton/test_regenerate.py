"""The bundled TTGIR is what the pinned Triton prints for the bundled kernels."""

from __future__ import annotations

import pytest

from twill.examples import TRITON_VERSION, contents, examples

triton = pytest.importorskip("triton")


@pytest.mark.skipif(triton.__version__ != TRITON_VERSION, reason=f"needs Triton {TRITON_VERSION}")
@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_triton_prints_the_bundled_text(example: object) -> None:
    from twill.examples.regenerate import ttgir

    assert ttgir(example) == contents()[example.file]
