"""Gates for CI: limits of gpudx.toml, held against cases. Adding a file, or a row to one, adds a gate.

A gate is a module here with

    a docstring       what it demands, and which evidence it needs (its page, and `gpudx rule KEY`)
    KEY               its name in the table [gate] of gpudx.toml
    EXAMPLE           a value, as it is written there
    judge(limit, cases, place) -> Judged

or one with ROWS, objects that have these.
`limit` is what the file says, `place` the folder of the file. Evidence that is missing is never a pass: `Judged.missing`.
"""

from __future__ import annotations

import importlib
import pkgutil
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from gpudx.errors import UserError
from gpudx.gates._judged import Judged
from gpudx.model import Case

TABLE = "gate"


class Gate(Protocol):
    """What a module here, or a row of one, offers."""

    __doc__: str | None
    KEY: str
    EXAMPLE: str

    def judge(self, limit: Any, cases: Sequence[Case], place: Path) -> Judged: ...


@cache
def every() -> dict[str, Gate]:
    """All gates by key."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    found = [one for module in modules for one in getattr(module, "ROWS", (module,))]
    return {one.KEY: one for one in sorted(found, key=lambda one: str(one.KEY))}


def read(path: Path) -> Mapping[str, Any]:
    """The limits of a file. UserError for what is not there, cannot be read, or names no gate."""
    try:
        limits = tomllib.loads(path.read_text(encoding="utf-8")).get(TABLE)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): write one with a table [gate]; `gpudx rule` lists the gates.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML: {error}.") from None
    if not isinstance(limits, dict) or not limits:
        raise UserError(f"{path} has no limits: write a table [{TABLE}]; `gpudx rule` lists the gates.")
    unknown = [key for key in limits if key not in every()]
    if unknown:
        raise UserError(f"{path} has an unknown gate, {unknown[0]}: choose one of {', '.join(every())}.")
    return limits


def judge(limits: Mapping[str, Any], cases: Sequence[Case], place: Path) -> list[Judged]:
    """Every gate of the file, in its order."""
    return [every()[key].judge(limit, cases, place) for key, limit in limits.items()]
