"""The recorder, from Python: two functions of it (native/core/scope.c), which exist only where it is loaded."""

from __future__ import annotations

import ctypes
import json
from typing import Any

_own = ctypes.PyDLL(None)  # keeps the interpreter's lock: both are short
_scope, _tell = _own.gpudx_scope, _own.gpudx_tell
for function, count in ((_scope, 1), (_tell, 2)):
    function.argtypes, function.restype = [ctypes.c_char_p] * count, None


def scope(text: bytes) -> None:
    """What this thread does from now on."""
    _scope(text)


def tell(kind: str, **fields: Any) -> None:
    """A fact for the trace."""
    _tell(kind.encode(), json.dumps(fields).encode())


def number_launches(peek: Any) -> None:
    """`peek()` gives the number that the next node of a graph gets."""
    _own.gpudx_number_launches(peek)


def is_recording() -> bool:
    """Has this process made a call that is recorded?"""
    return bool(_own.gpudx_is_recording())
