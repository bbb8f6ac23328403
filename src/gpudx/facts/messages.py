"""What drivers printed, and wrote into the kernel's log, while the program ran, as far as their backends understand it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from gpudx.backends import every
from gpudx.backends.tool import Assertion, Fault, QueueAbort
from gpudx.facts._backend import backend_module
from gpudx.trace import Trace
from gpudx.trace.kernel_log import KernelLog, read_log

__all__ = ["Messages", "QueueAbort"]  # detectors see what was printed through these

ASSERTING = "cuda"  # whose driver prints assertions
LONGEST_NAME = 15  # of a process, as the kernel keeps it


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
        """(position of the note, fault). What only the kernel's log tells comes last, at the end of the trace."""
        modules = [backend_module(api, "messages") for api in every()]
        tellers = [module.fault for module in modules if module is not None and hasattr(module, "fault")]
        logged = [(len(self._trace), line) for line in self._log.lines]
        found = [(at, teller(text)) for at, text in (*self._texts, *logged) for teller in tellers]
        return [(at, told) for at, told in found if told is not None and self._of_this_process(told)]

    @cached_property
    def _log(self) -> KernelLog:
        return read_log(self._trace.path.parent)

    def _of_this_process(self, fault: Fault) -> bool:
        """By its number; in a container, where the kernel's numbers are others, by its name, if this process was alone."""
        if fault.process is None:
            return True
        pid, name = fault.process
        if self._log.own_numbers:
            return pid == self._trace.pid
        alone = len(list(self._trace.path.parent.glob(f"*{self._trace.path.suffix}"))) == 1
        return alone and name == Path(self._trace.exe).name[:LONGEST_NAME]

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
