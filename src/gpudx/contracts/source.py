"""The TOML files that users write: read whole, and every complaint names file, line, and what is allowed instead."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from gpudx.contracts.language import ARGUMENT, TABLES, Expression, Refused, Table, nearest, parse
from gpudx.contracts.launches import TYPES, Argument
from gpudx.errors import UserError

MOST_BYTES = 1 << 20
MOST_ENTRIES = 1000
TYPED = re.compile(r"(?:(?P<type>\w+)\s+)?arg(?P<index>0|[1-9]\d{0,2})")
EXAMPLE = 'names = { rows = 3, base = "float arg4" }'


@dataclass(frozen=True)
class Entry:
    """One [[...]] of a file, with the lines it stands on."""

    path: Path
    values: Mapping[str, Any]
    first: int
    lines: tuple[str, ...]

    def line(self, part: str = "") -> int:
        """The line on which a key or a text of the entry begins; its first where that cannot be told."""
        begins = re.compile(rf"""(?:^|[\s{{,])["']?{re.escape(part)}["']?\s*=(?!=)|["']\s*{re.escape(part)}""")
        for found in (begins.search, lambda text: part in text):
            lines = [n for n, text in enumerate(self.lines) if part and found(text)]
            if lines:
                return self.first + lines[0]
        return self.first

    def refuse(self, message: str, part: str = "") -> NoReturn:
        raise UserError(f"{self.path}, line {self.line(part)}: {message}.")

    def check_keys(self, allowed: tuple[str, ...], values: Mapping[str, Any] | None = None) -> None:
        for key in self.values if values is None else values:
            if key not in allowed:
                self.refuse(f"there is no key {key}{nearest(key, allowed)} (known: {', '.join(allowed)})", key)

    def text(self, key: str, default: str | None = None, values: Mapping[str, Any] | None = None) -> str:
        """A text that must be there unless it has a default."""
        found = (self.values if values is None else values).get(key, default)
        if not isinstance(found, str) or (default is None and not found.strip()):
            self.refuse(f'{key} must be a string; write {key} = "..."', key)
        return found

    def expression(self, text: object, table: Table) -> Expression:
        if not isinstance(text, str):
            self.refuse(f'an expression must be a string; write "n > 0" instead of {text!r:.40}')
        part = text.strip().splitlines()[0] if text.strip() else ""
        try:
            return parse(text, table, self.line(part))
        except Refused as error:
            self.refuse(str(error), part)

    def names(self, values: object) -> dict[str, Argument]:
        """Names for places: head_dim = 3, x = "arg0", base = "float arg4"."""
        if not isinstance(values, dict):
            self.refuse(f"names must be a table; write {EXAMPLE}", "names")
        words = {word for table in TABLES if table.of_launches for word in table.words}
        for name in values:
            if not name.isidentifier() or name in words or ARGUMENT.fullmatch(name):
                self.refuse(f"{name!r:.40} cannot be a name of an argument; choose another", "names")
        return {name: self._argument(name, place) for name, place in values.items()}

    def _argument(self, name: str, place: object) -> Argument:
        if isinstance(place, int) and not isinstance(place, bool) and 0 <= place < 1000:
            return Argument(place)
        match = TYPED.fullmatch(place.strip()) if isinstance(place, str) else None
        if match is None:
            self.refuse(f"{name} must be a place from 0 on; write {EXAMPLE}", "names")
        if match["type"] and match["type"] not in TYPES:
            self.refuse(
                f"there is no type {match['type']}{nearest(match['type'], TYPES)} (known: {', '.join(TYPES)})",
                "names",
            )
        return Argument(int(match["index"]), match["type"] or "")


def read(path: Path, kind: str) -> Iterator[Entry]:
    """The entries [[kind]] of a file, in order. UserError when it has none, or anything else."""
    text = _text(path)
    try:
        whole = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"{path} is not TOML ({error}): docs/contracts.md describes the format.") from None
    entries = whole.get(kind)
    for key in whole:
        if key != kind:
            raise UserError(
                f"{path}, line {_line(text, key)}: there is no {key} here; write [[{kind}]] for each entry."
            )
    if not isinstance(entries, list) or not entries or not all(isinstance(one, dict) for one in entries):
        raise UserError(f"{path} has no [[{kind}]]: docs/contracts.md describes the format.")
    if len(entries) > MOST_ENTRIES:
        raise UserError(f"{path} has {len(entries):,} entries, and {MOST_ENTRIES:,} is the most: split it.")
    return _entries(path, kind, text.splitlines(), entries)


def _entries(path: Path, kind: str, lines: list[str], entries: list[dict[str, Any]]) -> Iterator[Entry]:
    """Each with its own lines; all lines where they are not written as [[kind]]."""
    heads = [n for n, line in enumerate(lines) if re.match(rf"\s*\[\[\s*{kind}\s*\]\]", line)]
    if len(heads) != len(entries):
        heads, ends = [0] * len(entries), [len(lines)] * len(entries)
    else:
        ends = [*heads[1:], len(lines)]
    for values, head, end in zip(entries, heads, ends, strict=True):
        yield Entry(path, values, head + 1, tuple(lines[head:end]))


def _line(text: str, part: str) -> int:
    return next((n for n, line in enumerate(text.splitlines(), 1) if part in line), 1)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UserError(f"{path} is larger than {MOST_BYTES:,} bytes: split it.")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"There is no file {path}: docs/contracts.md describes the format.") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not text in UTF-8: save it as such.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): check its permissions.") from None
