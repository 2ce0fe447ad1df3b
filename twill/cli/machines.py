"""`twill machines`: what machine models there are, and what stands in them."""

from __future__ import annotations

import sys

import click

from twill.cli import output
from twill.cli.options import debug_option
from twill.errors import ExitCode


@click.group(invoke_without_command=True, short_help="List, show and check machine models.")
@debug_option
@click.pass_context
def machines(context: click.Context) -> None:
    """List, show and check machine models.

    \b
    Examples:
      twill machines                    the models that come with twill
      twill machines show h100          every number with its unit and source
      twill machines lint my_gpu.toml   check a model of your own
    """
    if context.invoked_subcommand is None:
        context.invoke(list_machines)


@machines.command("list")
@debug_option
def list_machines() -> None:
    """List the models that come with twill."""
    from twill.machine_models import load, names

    models = [load(name) for name in names()]
    width = max(len(model.name) for model in models)
    output.emit("".join(f"{m.name:<{width}}  {m.target:<8}  {m.description}\n" for m in models))


@machines.command()
@click.argument("name", metavar="NAME|PATH")
@debug_option
def show(name: str) -> None:
    """Show a model: every number with its unit, its source, and whether it was measured, documented or derived."""
    from twill.machine_models import load
    from twill.report.machine import machine_report
    from twill.report.render import render

    output.emit(render(machine_report(load(name)), sys.stdout))


@machines.command()
@click.argument("path", type=click.Path())
@debug_option
def lint(path: str) -> int:
    """Check a model file; print every finding with its place."""
    from twill.machine_models import lint as findings

    found = findings(path)
    output.emit("".join(f"{finding}\n" for finding in found) or f"{path}: no findings\n")
    return ExitCode.BAD_INPUT if found else ExitCode.SCHEDULED
