"""The command line. Every module here that defines `command` is one command, named as its file.

Adding a file adds a command. Heavy imports stay inside the commands, so that `gpudx --help` is quick.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
import sys
from types import ModuleType
from typing import NoReturn, TextIO

import click

from gpudx import __version__
from gpudx.cli.declare import HELP_NAMES, Command, command_of
from gpudx.cli.overview import overview
from gpudx.cli.speak import complain
from gpudx.errors import UserError

USAGE = 2  # exit status of a command line without a command
INTERRUPTED = 130
# New objects until Python looks for unused cycles. Importing makes many objects and no garbage: with Python's own 700, looking takes a
# sixth of the time of a short command.
COLLECT_AFTER = 100_000
SHOW_VERSION = "Show the version and exit."
TOP = """Reports why a GPU program failed: gpudx run -- ./app

Exit status: that of the command; 2 if gpudx cannot do what was asked."""


def _version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"gpudx {__version__}")
        context.exit()


def make_app(asked: str = "") -> click.Group:
    """All commands, or only the one that is asked for: to load them all takes longer than most of them."""
    version = click.Option(
        ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version, help=SHOW_VERSION
    )
    made = click.Group(
        "gpudx", params=[version], help=TOP, context_settings={"help_option_names": HELP_NAMES}, no_args_is_help=True
    )
    for name, module in (commands(asked) or commands()).items():
        kind, settings = getattr(module, "Command", Command), getattr(module, "SETTINGS", {})
        made.add_command(command_of(name, module.command, kind, **settings))
    return made


def commands(asked: str = "") -> dict[str, ModuleType]:
    """The modules that define `command`, by the commands' names: all, or the one of that name."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__) if found.name != "__main__")
    wanted = [name for name in names if asked in ("", name.rstrip("_"))]
    modules = {name.rstrip("_"): importlib.import_module(f"{__name__}.{name}") for name in wanted}
    return {name: module for name, module in modules.items() if hasattr(module, "command")}


def main() -> NoReturn:
    """The program `gpudx`. A UserError, or a mistake in the command line, becomes one line on stderr."""
    gc.set_threshold(COLLECT_AFTER)
    for stream in (sys.stdout, sys.stderr):
        _show_anything(stream)
    try:
        sys.exit(_main())
    except UserError as error:
        complain(error)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        complain(UserError(_mistake(error)))
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(INTERRUPTED)
    finally:
        gc.freeze()  # what is left ends with the process


def _main() -> int:
    if not sys.argv[1:] or sys.argv[1] in HELP_NAMES:
        sys.stdout.write(overview())
        return 0 if sys.argv[1:] else USAGE
    ended = make_app(*sys.argv[1:2]).main(prog_name="gpudx", standalone_mode=False)
    return ended if isinstance(ended, int) else 0


def _mistake(error: click.ClickException) -> str:
    """What is wrong with the command line, in one line that ends with where to look."""
    context = getattr(error, "ctx", None)
    asked = f"{context.command_path} -h" if context else "gpudx -h"
    text = " ".join(error.format_message().split())
    return f"{text}{'' if text.endswith(('.', '?', ')')) else '.'} See `{asked}`."


def _show_anything(stream: TextIO | None) -> None:
    """A terminal that cannot show a character must not end the program."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
