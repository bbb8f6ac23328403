"""What drivers printed while the program ran, as far as their backends understand it."""

from __future__ import annotations

from functools import cached_property

from gpudx.backends import every
from gpudx.backends.tool import Assertion, Fault, QueueAbort
from gpudx.facts._backend import backend_module
from gpudx.trace import Trace

__all__ = ["Messages", "QueueAbort"]  # detectors see what was printed through these

ASSERTING = "cuda"  # whose driver prints assertions


class Messages:
    """Assertions that failed on the device, and faults of it, as drivers told them; the first few, in order."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def _texts(self) -> list[tuple[int, str]]:
        return [(int(at), self._trace.text(int(at))) for at in self._trace.named("note_driver_said")]

    @cached_property
    def assertions(self) -> list[Assertion]:
        module = backend_module(ASSERTING, "messages")
        found = [module.assertion(text) for _, text in self._texts] if module else []
        return [told for told in found if told is not None]

    @cached_property
    def faults(self) -> list[tuple[int, Fault]]:
        """(position of the note, fault)."""
        modules = [backend_module(api, "messages") for api in every()]
        tellers = [module.fault for module in modules if module is not None and hasattr(module, "fault")]
        found = [(at, teller(text)) for at, text in self._texts for teller in tellers]
        return [(at, told) for at, told in found if told is not None]

    @cached_property
    def aborts(self) -> list[tuple[int, QueueAbort]]:
        """(position of the note, queue that was shut down)."""
        modules = [backend_module(api, "messages") for api in every()]
        tellers = [module.abort for module in modules if module is not None and hasattr(module, "abort")]
        found = [(at, teller(text)) for at, text in self._texts for teller in tellers]
        return [(at, told) for at, told in found if told is not None]

    @staticmethod
    def same_function(spelled: str, kernel: str) -> bool:
        """Do a compiler's spelling of a function and the name of a kernel mean the same function?"""
        module = backend_module(ASSERTING, "messages")
        return module is not None and bool(module.last_name(spelled) == module.last_name(kernel))
