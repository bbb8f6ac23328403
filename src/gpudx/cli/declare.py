"""How a command declares its options and arguments: `Annotated[TYPE, Option(...)]` in the signature of `command`.

A function becomes a command of click. The type says how a value is read: a bool is a flag, a list may be repeated, `| None` may be left
out, an enum is one of its values. Written here because the libraries that do the same take longer to import than most commands to run.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import click

HELP_NAMES = ["-h", "--help"]
OUTPUT, QUIET = "output", "quiet"  # options of every command, unless it has its own of that name
WIDEST_HELP = 100


class Option:
    """An option. Without names it is called as its parameter: `older_than` is --older-than."""

    def __init__(
        self,
        *names: str,
        help: str = "",
        metavar: str | None = None,
        parser: Callable[[str], Any] | None = None,
        min: float | None = None,
        max: float | None = None,
        envvar: str | None = None,
    ) -> None:
        self.names, self.help, self.metavar, self.parser = names, help, metavar, parser
        self.min, self.max, self.envvar = min, max, envvar


class Argument:
    """A word that is not an option: it may be left out where the parameter has a default."""

    def __init__(self, *, help: str = "", metavar: str | None = None, min: float | None = None) -> None:
        self.help, self.metavar, self.min = help, metavar, min


class ExplainedArgument(click.Argument):
    """An argument that --help explains, under the name `label`."""

    def __init__(self, *args: Any, label: str, explained: str, **more: Any) -> None:
        super().__init__(*args, **more)
        self.label, self.explained = label, explained


# click breaks lines at hyphens, and inside commands. These characters, in place of hyphens and spaces, are not broken at.
HYPHEN, SPACE = "\u2011", "\u00a0"
IN_BACKQUOTES = re.compile(r"`[^`]*`")


def _whole(text: str) -> str:
    """The text with options and commands that stay in one piece."""
    return IN_BACKQUOTES.sub(lambda found: found[0].replace(" ", SPACE), text).replace("-", HYPHEN)


class Command(click.Command):
    """A command whose help lists its arguments above its options: click does so only in its latest versions."""

    def get_help(self, ctx: click.Context) -> str:
        return super().get_help(ctx).replace(HYPHEN, "-").replace(SPACE, " ")

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        written, self.help = self.help, _whole(self.help or "")
        super().format_help_text(ctx, formatter)
        self.help = written

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        arguments = [(one.label, one.explained) for one in self.params if isinstance(one, ExplainedArgument)]
        options = [one.get_help_record(ctx) for one in self.get_params(ctx) if isinstance(one, click.Option)]
        for title, rows in (("Arguments", arguments), ("Options", [row for row in options if row])):
            if rows:
                with formatter.section(title):
                    formatter.write_dl([(name, _whole(text)) for name, text in rows])


@dataclass(frozen=True)
class _Parameter:
    """A parameter of a function, with what its annotation declares."""

    name: str
    type: Any
    declared: Option | Argument
    default: Any
    required: bool
    repeated: bool


COMMON = (
    _Parameter(OUTPUT, Path, Option("--output", "-o", metavar="FILE", help="Write the result to FILE."), None, False, False),
    _Parameter(QUIET, bool, Option("--quiet", "-q", help="Print nothing but errors."), False, False, False),
)


def command_of(
    name: str, function: Callable[..., None], kind: type[click.Command] = Command, **settings: Any
) -> click.Command:
    """The command that a function declares; a parameter of type click.Context gets the context."""
    hints = typing.get_type_hints(function, include_extras=True)
    context = next((one for one, hint in hints.items() if hint is click.Context), None)
    parameters = [
        _parameter(one, hints[one.name])
        for one in inspect.signature(function).parameters.values()
        if one.name != context
    ]
    common = [one for one in COMMON if one.name not in {own.name for own in parameters}]

    def call(**values: Any) -> None:
        from gpudx.cli.speak import elsewhere

        for one in parameters:  # click gives tuples, and an empty one where nothing was said
            if one.repeated:
                values[one.name] = list(values[one.name]) or one.default
        asked = {one.name: values.pop(one.name) for one in common}
        with elsewhere(asked.get(OUTPUT), asked.get(QUIET, False)):
            function(**values, **({context: click.get_current_context()} if context else {}))

    return kind(
        name,
        callback=call,
        params=[_click_parameter(one) for one in (*parameters, *common)],
        help=inspect.getdoc(function),
        context_settings={"help_option_names": HELP_NAMES, "max_content_width": WIDEST_HELP, **settings},
    )


def _parameter(one: inspect.Parameter, hint: Any) -> _Parameter:
    inner, declared = typing.get_args(hint)
    if isinstance(inner, types.UnionType):
        inner = next(part for part in typing.get_args(inner) if part is not types.NoneType)
    repeated = typing.get_origin(inner) is list
    if repeated:
        (inner,) = typing.get_args(inner)
    required = one.default is inspect.Parameter.empty
    return _Parameter(one.name, inner, declared, None if required else one.default, required, repeated)


def _click_parameter(one: _Parameter) -> click.Parameter:
    declared = one.declared
    shared: dict[str, Any] = {"required": one.required}
    if not one.required:  # since click 8.3 even a default of None counts as given, and nothing would be missing
        shared["default"] = () if one.repeated else one.default
    if isinstance(declared, Argument):
        label = declared.metavar or one.name.upper()
        word = (label if one.required else f"[{label}]") + ("..." if one.repeated else "")
        shared |= {"label": label, "explained": declared.help, "metavar": word, "nargs": -1 if one.repeated else 1}
        return ExplainedArgument([one.name], type=_type(one), **shared)
    shared |= {"help": declared.help, "metavar": declared.metavar, "envvar": declared.envvar}
    names = [one.name, *(declared.names or (f"--{one.name.replace('_', '-')}",))]
    if one.type is bool:
        return click.Option(names, is_flag=True, **shared)
    shown = one.default not in (None, "")
    if isinstance(one.default, float):
        shared["default"] = f"{one.default:g}{'s' if declared.parser else ''}"  # as a user writes it: 20s, 99
    return _Valued(
        names, type=_type(one), multiple=one.repeated, show_default=shown, show_envvar=bool(declared.envvar), **shared
    )


def _type(one: _Parameter) -> Any:
    """How click reads a value."""
    declared = one.declared
    most = declared.max if isinstance(declared, Option) else None
    if isinstance(declared, Option) and declared.parser:
        return click.types.FuncParamType(declared.parser)
    if issubclass(one.type, StrEnum):
        return _OneOf(one.type)
    if one.type is Path:
        return click.Path(path_type=Path)
    if (declared.min, most) == (None, None):
        return one.type
    ranged: Any = click.IntRange if one.type is int else click.FloatRange
    return ranged(declared.min, most)


class _Valued(click.Option):
    """An option with a value; that a count is at least 1 goes without saying."""

    def get_help_extra(self, ctx: click.Context) -> Any:
        return {name: value for name, value in super().get_help_extra(ctx).items() if name != "range"}


class _OneOf(click.Choice[str]):
    """One of the values of an enum."""

    def __init__(self, values: type[StrEnum]) -> None:
        super().__init__([str(one) for one in values])
        self._values = values

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> StrEnum:
        return self._values(super().convert(value, param, ctx))
