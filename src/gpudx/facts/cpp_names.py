"""Mangled C++ names as people write them."""

from __future__ import annotations

import re

_WORD = re.compile(r"(\d+)")
_MODIFIERS = re.compile(r"[rVK]*[RO]?")


def pretty(name: str) -> str:
    """ "ns::Class::method" for a mangled C++ name without templates or operators; any other name unchanged."""
    local = name.removeprefix("_ZL") if name.startswith("_ZL") else name.removeprefix("_Z")
    if not name.startswith("_Z"):
        return name
    nested = local.startswith("N")
    at = _MODIFIERS.match(local, 1).end() if nested else 0  # type: ignore[union-attr]
    parts = _parts(local, at, nested)
    return "::".join(parts) if parts else name


def _parts(text: str, at: int, nested: bool) -> list[str]:
    """The names that make up a mangled name; empty if it has anything else in it."""
    parts: list[str] = []
    if text.startswith("St", at):
        parts, at = ["std"], at + 2
    while at < len(text):
        if text[at] == "E" and nested:
            return parts
        if text[at] in "CD" and text[at + 1 : at + 2] in tuple("012345") and parts:
            parts.append("~" * (text[at] == "D") + parts[-1])
            at += 2
            continue
        word, at = _word(text, at)
        if not word:
            return []
        parts.append(word)
        if not nested:
            return [] if text.startswith(("I", "B"), at) else parts
    return []


def _word(text: str, at: int) -> tuple[str, int]:
    digits = _WORD.match(text, at)
    if not digits or len(digits[1]) > 4:
        return "", at
    end = digits.end() + int(digits[1])
    word = text[digits.end() : end]
    if len(word) != int(digits[1]):
        return "", at
    return "(anonymous namespace)" if word.startswith("_GLOBAL__N") else word, end
