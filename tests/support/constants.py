"""The strings of a module, from its compiled code, which Python keeps: to parse all modules takes ten times as long.

To choose the modules that are worth parsing: strings in annotations are there as parts of longer ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType


def strings(path: Path) -> set[str]:
    """All of them: also docstrings, names of arguments, and the parts of f-strings."""
    code = SourceFileLoader("module", str(path)).get_code("module")
    return set(_strings(code))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, CodeType | tuple | frozenset):
        for one in value.co_consts if isinstance(value, CodeType) else value:
            yield from _strings(one)
