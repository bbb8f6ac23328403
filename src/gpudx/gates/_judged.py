"""How a gate stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpudx.errors import UserError


@dataclass(frozen=True)
class Judged:
    """`text` is the one line that is printed. Without evidence a gate has not passed."""

    key: str
    passed: bool
    text: str
    missing: bool = False

    @property
    def line(self) -> str:
        word = "passed" if self.passed else "NO EVIDENCE" if self.missing else "FAILED"
        return f"{word:<12} {self.key}: {self.text}"


def missing(key: str, text: str) -> Judged:
    return Judged(key, False, text, missing=True)


def whole_number(key: str, limit: Any) -> int:
    """A limit that must be a number."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise UserError(f"gpudx.toml: {key} must be a whole number that is not negative; write {key} = 0.")
    return limit
