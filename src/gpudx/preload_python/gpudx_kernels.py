"""The Python lines of kernels: Triton and numba name a kernel after the function that it is compiled from."""

from __future__ import annotations

import functools
from typing import Any

import gpudx_recorder


def _noting(kind: type, framework: str) -> None:
    """`kind(function, ...)` also notes where the function is."""
    begin = kind.__init__

    @functools.wraps(begin)
    def __init__(self: Any, function: Any, *more: Any, **named: Any) -> None:
        begin(self, function, *more, **named)
        try:
            code = function.__code__
            gpudx_recorder.tell("kernel", name=function.__name__, file=code.co_filename, line=code.co_firstlineno, by=framework)
        except Exception:
            pass

    kind.__init__ = __init__  # type: ignore[misc]


def note_triton(jit: Any) -> None:
    _noting(jit.JITFunction, "Triton")


def note_numba(dispatcher: Any) -> None:
    _noting(dispatcher.CUDADispatcher, "numba")
