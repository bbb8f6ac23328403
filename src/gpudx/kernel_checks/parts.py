"""Programs that are compiled one by one and then linked: the recorder hands them over as one text.

A part is "\\1options", "\\3name\\2text" for each header that is a program of its own, "\\2source" (native/opencl/checks.c). No source
has such characters: compilers refuse them.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Part:
    source: str
    options: str
    headers: dict[str, str] = field(default_factory=dict)
    name: str = ""  # for lines: "" is the program's only source


def read(source: str, options: str) -> list[Part]:
    """The parts of what was linked, or the one that was built."""
    if not source.startswith("\1"):
        return [Part(source, options)]
    texts = source.split("\1")[1:]
    return [_part(text, f"linked source {n}" if len(texts) > 1 else "") for n, text in enumerate(texts, 1)]


def _part(text: str, name: str) -> Part:
    before, _, source = text.rpartition("\2")
    options, *headers = before.split("\3")
    pairs = (header.partition("\2") for header in headers)
    return Part(source, options, {title: content for title, _, content in pairs}, name)
