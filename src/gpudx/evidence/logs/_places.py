"""Where a line says that something was noticed: the call, and the place in a source file."""

from __future__ import annotations

import re

_FILE = re.compile(
    r"((?:(?<![A-Za-z])[A-Za-z]:)?[\w./\\~+-]{0,200}\.(?:cuh?|cc|cpp|cxx|hpp|h|hip|c|py|rs|jl|cl|metal))[:(\", ]+(?:(?:at )?line )?(\d+)"
)
_SOURCE = re.compile(
    r"(?<![\w./\\~+@-])(?:[A-Za-z]:)?[\w./\\~+@-]{1,200}?\.(?:cuh?|cc|cpp|cxx|hpp|h|hip|c|py|rs|jl|go|mm?|java|kt|swift|inl|fpp|f90|js|ts)\b"
    r"(?:[:(]\d+\)?)?"
)
_CALL = re.compile(r"\b((?:cu[A-Z]|cuda[A-Z]|hip[A-Z]|cl[A-Z])\w+) ?\(")
_BARE = re.compile(
    r"\b((?:cuda|hip)[A-Z]\w+|cu(?:Mem|Ctx|Stream|Event|Launch|Module|Graph|Func|Init)\w*|cl[A-Z][a-z]+\w+)\b"
)
_NO_CALL = re.compile(r"(?:cuda|hip)(?:Error|Success|Status\b)")
LAST_PARTS = 2  # of a path: the rest is the machine's, not the fault's


def without_sources(text: str) -> str:
    """A line without the names of source files and the folders above them: "launch" in "src/launch/pool.cc:7" launches nothing."""
    return _SOURCE.sub("FILE", text)


_RUNTIME = re.compile(r"^:\d:[\w.]+ *:\d+ *: *\d* ?us: *(?:\d+ *: *)?\[[^\]]*\] *")  # how AMD's runtime begins its lines


def clipped(text: str, most: int = 160) -> str:
    """A line at the end of a sentence: without its own full stop, and marked where it was cut."""
    text = _RUNTIME.sub("", text)
    if len(text) <= most:
        return f"{text.rstrip('.:! ')}."
    return f"{text[:most].rpartition(' ')[0].rstrip('.:!, ')} ..."


def place(*lines: str) -> str:
    """ "cudaMemcpy, src/a.cu:7"; what is not there is left out. The first line counts most; a call may stand in the next."""
    call = next((found for found in map(_call, lines) if found), "")
    file = next((found for found in map(source, lines[:1]) if found), "")
    return ", ".join(filter(None, (call, file)))


def source(text: str) -> str:
    """ "src/a.cu:7" from any way of writing it; the folders above are left out."""
    found = _FILE.search(text)
    if found is None:
        return ""
    parts = found[1].replace("\\", "/").split("/")
    return f"{'/'.join(parts[-LAST_PARTS:])}:{found[2]}"


def _call(text: str) -> str:
    for pattern in (_CALL, _BARE):
        for found in pattern.finditer(text):
            if not _NO_CALL.match(found[1]):
                return found[1]
    return ""
