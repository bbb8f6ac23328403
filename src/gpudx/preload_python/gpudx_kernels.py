"""The Python lines of kernels: Triton and numba name a kernel after the function that it is compiled from.

They are told when the process ends, and only if it made GPU calls: processes that only compile must not look as if they had.
"""

from __future__ import annotations

import atexit
import functools
from typing import Any

import gpudx_recorder

MOST = 1000
INSTALLED = ("/site-packages/", "/dist-packages/")  # kernels of libraries
_known: dict[str, tuple[str, int, str]] = {}


def _noting(kind: type, framework: str) -> None:
    """`kind(function, ...)` also notes where the function is."""
    begin = kind.__init__  # type: ignore[misc]

    @functools.wraps(begin)
    def __init__(self: Any, function: Any, *more: Any, **named: Any) -> None:
        begin(self, function, *more, **named)
        try:
            code = function.__code__
            if len(_known) < MOST and not any(part in code.co_filename for part in INSTALLED):
                _known[function.__name__] = (code.co_filename, code.co_firstlineno, framework)
        except Exception:
            pass

    kind.__init__ = __init__  # type: ignore[misc]
    atexit.register(_tell)


def _tell() -> None:
    try:
        if gpudx_recorder.is_recording():
            for name, (file, line, framework) in _known.items():
                gpudx_recorder.tell("kernel", name=name, file=file, line=line, by=framework)
        _known.clear()
    except Exception:
        pass


def note_triton(jit: Any) -> None:
    _noting(jit.JITFunction, "Triton")


def note_numba(dispatcher: Any) -> None:
    _noting(dispatcher.CUDADispatcher, "numba")
