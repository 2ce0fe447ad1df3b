"""The `twill` command and its exit status; every error becomes one sentence on standard error."""

from __future__ import annotations

import importlib
from typing import Any

import click

from twill import version
from twill.cli import output
from twill.cli.options import State, debug_option
from twill.errors import ExitCode, TwillError

COMMANDS = {
    "build": "command",
    "check": "check",
    "compile": "command",
    "examples": "examples",
    "lower": "command",
    "machines": "machines",
    "perf": "command",
    "reproduce": "command",
    "schedule": "schedule",
    "simulate": "command",
}
"""Name of a subcommand and of its module, and what it is called there."""


class Commands(dict[str, click.Command]):
    """Subcommands by name, imported when they are asked for."""

    def __getitem__(self, name: str) -> click.Command:
        found: click.Command = getattr(importlib.import_module(f"twill.cli.{name}"), COMMANDS[name])
        return found

    def get(self, name: str, default: Any = None) -> Any:
        return default if name not in COMMANDS else self[name]


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"twill {version()}")
        context.exit()


@click.group(commands=Commands.fromkeys(COMMANDS), context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Print the version.")
@debug_option
def cli() -> None:
    """Optimal software pipelining and warp specialization for tensor-core GPU kernels, with proof.

    \b
    Start with a kernel that comes with twill:
      twill examples .
      twill schedule attention_fwd.ttgir --machine h100

    \b
    Exit status:
      0 scheduled    2 bad input      4 proved infeasible    6 solver error
      1 internal     3 unsupported    5 no answer in time    7 failed verification
    """


def run(arguments: list[str]) -> int:
    """Run the command line `arguments` (without the program's name) and return the exit status."""
    state = State()
    try:
        status = cli.main(arguments, prog_name="twill", standalone_mode=False, obj=state)
        return int(status or 0)
    except TwillError as error:
        output.error(str(error))
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return ExitCode.BAD_INPUT
    except (KeyboardInterrupt, click.Abort):
        output.error("interrupted.")
        return ExitCode.UNKNOWN
    except MemoryError:
        output.error("out of memory.")
        return ExitCode.UNKNOWN
    except BrokenPipeError:
        output.discard_rest()
        return ExitCode.SCHEDULED
    except OSError as error:  # help and version are printed by click
        output.discard_rest()
        output.error(f"the operating system refuses: {(error.strerror or str(error)).lower()}.")
        return ExitCode.BAD_INPUT
    except Exception as error:  # the last line of defence: nothing may reach the user as a traceback
        if _is_interrupt(error):
            output.error("interrupted.")
            return ExitCode.UNKNOWN
        output.error(f"internal error: {type(error).__name__}: {error}. Please report it with the command and its input.")
        if state.debug:
            import traceback

            traceback.print_exc()
        return ExitCode.INTERNAL


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is an interrupt in other clothes: before 3.12, one that comes while a class is made becomes a RuntimeError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None
