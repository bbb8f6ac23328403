"""What a driver printed while the program ran, as far as its backend understands it."""

from __future__ import annotations

from functools import cached_property

from gpudx.backends.tool import Assertion
from gpudx.facts._backend import backend_module
from gpudx.trace import Trace

API = "cuda"  # whose driver the recorder listens to


class Messages:
    """Assertions that failed on the device, as the driver told them; the first few, in order."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def assertions(self) -> list[Assertion]:
        note, module = self._trace.schema.by_name("note_driver_said"), backend_module(API, "messages")
        if note is None or module is None:
            return []
        found = [module.assertion(self._trace.text(int(at))) for at in self._trace.select(note)]
        return [told for told in found if told is not None]

    @staticmethod
    def same_function(spelled: str, kernel: str) -> bool:
        """Do a compiler's spelling of a function and the name of a kernel mean the same function?"""
        module = backend_module(API, "messages")
        return module is not None and bool(module.last_name(spelled) == module.last_name(kernel))
