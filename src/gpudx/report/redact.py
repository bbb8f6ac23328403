"""Takes secrets and the names of home folders out of all that a report is made of, before any format sees it.

It knows secrets by how they look (keys of well-known services, words such as "token=" before them, passwords in addresses)
and paths by the folders that systems keep homes in. What looks like neither stays.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any, TypeVar

from gpudx.model import Case

T = TypeVar("T")
GONE = "[redacted]"

HOMES = re.compile(
    r"(?<![\w.~-])(?:/home/[^/\s:;,'\"()<>]+|/Users/[^/\s:;,'\"()<>]+|/root(?=[/\s:;,'\")]|$)|[A-Za-z]:\\Users\\[^\\\s:;,'\"]+)"
)
SECRETS = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),  # Amazon
    re.compile(r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})"),  # GitHub, GitLab
    re.compile(r"\b(?:hf_[A-Za-z0-9]{20,}|sk-[\w-]{20,}|xox[abprs]-[\w-]{10,}|nvapi-[\w-]{20,}|pypi-[\w-]{20,})"),
    re.compile(r"\bAIza[\w-]{30,}"),  # Google
    re.compile(r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"),  # JSON web tokens
)
AFTER = (
    re.compile(r"(?i)(\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}"),
    re.compile(r"(://[^/\s:@]*:)[^/\s@]+(?=@)"),
    re.compile(
        r"(?i)((?:\b|_|-)(?:api[_-]?key|access[_-]?key|secret|token|passwd|password|passphrase|credentials?|auth)"
        r"(?:[_-]?(?:key|id|value))?[\"']?\s*[=:]\s*[\"']?)[^\s\"'&;,]{3,}"
    ),
    re.compile(r"(?i)(--?(?:api-?key|access-?key|secret|token|password|passwd|auth)[ \t]+)(?!-)[^\s\"']{3,}"),
)
OPTION = re.compile(r"(?i)--?(?:\w+-)*(?:api-?key|access-?key|secret|token|password|passwd|auth)")
NAMED = re.compile(r"(?i)(?:^|_)(?:key|token|secret|password|passwd|credentials?|auth)(?:$|_)")


def text(value: str) -> str:
    """One text without them."""
    for pattern in SECRETS:
        value = pattern.sub(GONE, value)
    for pattern in AFTER:
        value = pattern.sub(rf"\1{GONE}", value)
    return HOMES.sub("~", value)


def redact(value: T) -> T:
    """The same case, drawing or part of one, with every text in it redacted. Findings are still named by their fingerprints."""
    done = _redact(value)
    if not isinstance(value, Case):
        return done  # type: ignore[no-any-return]
    pairs = zip(value.findings, done.findings, strict=True)
    names = {old.fingerprint: new.fingerprint for old, new in pairs if old.fingerprint != new.fingerprint}
    return _each(done, lambda text: names.get(text, text)) if names else done  # type: ignore[no-any-return]


def _redact(value: Any) -> Any:
    return _each(value, text)


def _each(value: Any, change: Callable[[str], str]) -> Any:
    """The same, with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {_each(key, change): _each(_told(key, one, change), change) for key, one in value.items()}
    if isinstance(value, tuple):
        words = _words(value) if change is text else value
        return tuple(_each(one, change) for one in words)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {field.name: _each(getattr(value, field.name), change) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **changes)
    return value


def _told(key: Any, value: Any, change: Callable[[str], str]) -> Any:
    """A variable whose name says that its value is a secret has none."""
    secret = change is text and isinstance(value, str) and isinstance(key, str) and NAMED.search(key)
    return GONE if secret else value


def _words(words: tuple[Any, ...]) -> tuple[Any, ...]:
    """What follows the word "--token" in a command is one."""
    pairs = zip(("", *words), words, strict=False)
    return tuple(GONE if _asks(before) and _answers(one) else one for before, one in pairs)


def _asks(word: Any) -> bool:
    return isinstance(word, str) and OPTION.fullmatch(word) is not None


def _answers(word: Any) -> bool:
    return isinstance(word, str) and not word.startswith("-")
