"""The command itself: help, version, usage errors, internal errors, closed pipes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twill


def test_help_without_a_command_teaches_the_first_two(twill_command: Callable[..., Any]) -> None:
    done = twill_command("--help")
    assert done.status == 0
    assert "  twill examples .\n    twill schedule attention_fwd.ttgir --machine h100\n" in done.out
    assert [line.split()[0] for line in done.out.split("Commands:\n")[1].splitlines()] == [
        "build",
        "check",
        "compile",
        "examples",
        "lower",
        "machines",
        "perf",
        "reproduce",
        "schedule",
        "simulate",
    ]
    assert "..." not in done.out.split("Commands:\n")[1]


@pytest.mark.parametrize("command", ["schedule", "build", "check", "machines", "examples", "perf"])
def test_every_help_has_examples(twill_command: Callable[..., Any], command: str) -> None:
    done = twill_command(command, "--help")
    assert done.status == 0
    assert "Examples:\n" in done.out
    assert f"    twill {command}" in done.out


def test_version(twill_command: Callable[..., Any]) -> None:
    assert twill_command("--version").out == f"twill {twill.version()}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["schedule"], "Error: Missing argument 'FILE'.\n"),
        (["schedule", "x.json", "--machine", "h100"], "Error: --machine is for kernels; a graph (.json) carries its costs and limits.\n"),
        (["schedule", "x.json", "--loop", "3"], "Error: --loop is for kernels; a graph (.json) carries its costs and limits.\n"),
        (["schedule", "x.json", "--time-limit", "0"], "Error: Invalid value for '--time-limit': 0.0 is not in the range x>0.\n"),
        (["schedule", "x.json", "--engine", "z3"], "Error: Invalid value for '--engine': 'z3' is not one of 'auto', 'yices', 'cpsat'.\n"),
        (["examples"], "Error: Missing argument 'DIR'.\n"),
        (["shedule"], "Error: No such command 'shedule'. Did you mean 'schedule'?\n"),
    ],
)
def test_usage_errors_are_bad_input(twill_command: Callable[..., Any], arguments: list[str], message: str) -> None:
    done = twill_command(*arguments)
    assert done.status == 2
    assert done.out == ""
    assert done.err.endswith(message)


def test_an_internal_error_is_one_sentence(twill_command: Callable[..., Any], instances: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(twill, "schedule", broken)
    file = instances / "g01_fig1_attention.json"
    done = twill_command("schedule", file)
    sentence = "twill: internal error: ZeroDivisionError: division by zero. Please report it with the command and its input.\n"
    assert (done.status, done.out, done.err) == (1, "", sentence)
    for place in (["--debug", "schedule", file], ["schedule", file, "--debug"]):
        shown = twill_command(*place)
        assert shown.status == 1
        assert shown.err.startswith(f"{sentence}Traceback (most recent call last):\n")


def test_ctrl_c_outside_the_search_is_no_answer(
    twill_command: Callable[..., Any], instances: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(twill, "schedule", interrupted)
    done = twill_command("schedule", instances / "g01_fig1_attention.json")
    assert (done.status, done.out, done.err) == (5, "", "\ntwill: interrupted.\n")


def test_ctrl_c_while_a_class_is_made_is_no_internal_error(
    twill_command: Callable[..., Any], instances: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Python 3.12 an interrupt that comes in `__set_name__`, while a module is imported, arrives as a RuntimeError."""

    def interrupted(*_: object) -> None:
        raise RuntimeError("Error calling __set_name__ on 'Field' instance") from KeyboardInterrupt()

    monkeypatch.setattr(twill, "schedule", interrupted)
    done = twill_command("schedule", instances / "g01_fig1_attention.json")
    assert (done.status, done.out, done.err) == (5, "", "twill: interrupted.\n")


@pytest.mark.parametrize("arguments", [["examples", "--list"], ["machines", "show", "h100"]])
def test_a_closed_pipe_is_no_error(arguments: list[str]) -> None:
    program = f"import sys; from twill.cli.main import run; sys.exit(run({arguments!r}))"
    command = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout is not None and command.stderr is not None
    command.stdout.close()
    errors = command.stderr.read()
    assert (command.wait(timeout=60), errors) == (0, b"")
