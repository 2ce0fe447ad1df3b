"""Machine files that no TOML reader should be trusted with."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from twill.errors import BadInput
from twill.machine_models import load


@pytest.mark.parametrize("text", ["x = " + "[" * 5000, f"x = {'9' * 5000}"], ids=["nested", "digits"])
def test_depth_and_digits(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        load(path)
    assert str(caught.value) == f"{path}: not a machine file: a number is too long, or lists are nested too deep."


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999999", "-1", "true", '"1"', "[]"])
def test_numbers_that_are_none(tmp_path: Path, number: str) -> None:
    text = (resources.files("twill.machine_models") / "h200.toml").read_text(encoding="utf-8")
    path = tmp_path / "m.toml"
    path.write_text(text.replace("sms = { value = 132,", f"sms = {{ value = {number},", 1), encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:device.sms.value: ")
