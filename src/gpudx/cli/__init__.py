"""The command line. Every module here that defines `command` is one command, named as its file.

Adding a file adds a command. Heavy imports stay inside the commands, so that `gpudx --help` is quick.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from types import ModuleType
from typing import Annotated, NoReturn, TextIO

import typer

from gpudx import __version__
from gpudx.cli.overview import overview
from gpudx.cli.speak import complain
from gpudx.errors import UserError

USAGE = 2  # exit status of a command line without a command
HELP = {"help_option_names": ["-h", "--help"]}


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gpudx {__version__}")
        raise typer.Exit


def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Reports why a GPU program failed: gpudx run -- ./app

    Exit status: that of the command; 2 if gpudx cannot do what was asked.
    """


def make_app(asked: str = "") -> typer.Typer:
    """All commands, or only the one that is asked for: to load them all takes longer than most of them."""
    made = typer.Typer(
        name="gpudx",
        callback=_top,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for name, module in (commands(asked) or commands()).items():
        settings, kind = {**HELP, **getattr(module, "SETTINGS", {})}, getattr(module, "Command", None)
        made.command(name, cls=kind, context_settings=settings)(module.command)
    return made


def commands(asked: str = "") -> dict[str, ModuleType]:
    """The modules that define `command`, by the commands' names: all, or the one of that name."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__) if found.name != "__main__")
    wanted = [name for name in names if asked in ("", name.rstrip("_"))]
    modules = {name.rstrip("_"): importlib.import_module(f"{__name__}.{name}") for name in wanted}
    return {name: module for name, module in modules.items() if hasattr(module, "command")}


def main() -> NoReturn:
    """The program `gpudx`. A UserError becomes one line on stderr."""
    for stream in (sys.stdout, sys.stderr):
        _show_anything(stream)
    try:
        if not sys.argv[1:] or sys.argv[1] in HELP["help_option_names"]:
            sys.stdout.write(overview())
            sys.exit(0 if sys.argv[1:] else USAGE)
        make_app(*sys.argv[1:2])(prog_name="gpudx")
    except UserError as error:
        complain(error)
        sys.exit(error.exit_code)
    sys.exit(0)


def _show_anything(stream: TextIO | None) -> None:
    """A terminal that cannot show a character must not end the program."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
