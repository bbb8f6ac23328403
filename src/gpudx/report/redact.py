"""Takes home folders, user names and what looks like a secret out of a case, for readers outside."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, TypeVar

T = TypeVar("T")
GONE = "[redacted]"
HOMES = re.compile(r"(?<![\w.~-])(?:/(?:home|Users)/[^/\s:;,'\"()<>]+|/root(?=[/\s:;,'\")]|$))")
SECRETS = re.compile(
    r"(?i)((?:key|token|secret|passw(?:or)?d|credentials?)[\w-]*[\"']?\s*[=:]\s*[\"']?)[^\s\"'&;,]{3,}"
)


def redact(value: T) -> T:
    """The same case, or part of one, with every text in it redacted."""
    return _redact(value)  # type: ignore[no-any-return]


def _redact(value: Any) -> Any:
    if isinstance(value, str):
        return SECRETS.sub(rf"\1{GONE}", HOMES.sub("~", value))
    if isinstance(value, dict):
        return {key: _redact(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_redact, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(
            value, **{f.name: _redact(getattr(value, f.name)) for f in dataclasses.fields(value)}
        )
    return value
