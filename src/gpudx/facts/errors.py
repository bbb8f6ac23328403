"""Calls that reported failure, first to last. Queries are left out: asking for what is not there is ordinary."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts._backend import backend_module
from gpudx.trace import Trace

NULL_RESULT = -100000  # native/core/recorder.h: GDX_STATUS_NULL
I64 = NDArray[np.int64]


class Errors:
    """One row per failing call."""

    def __init__(self, trace: Trace, too_large: Callable[[I64], I64]) -> None:
        """`too_large` picks the launches with more work-items in a group than their kernel may have."""
        self._trace, self._too_large = trace, too_large
        quiet = np.zeros(1 << 16, bool)
        quiet[[c.number for c in trace.schema.calls if c.does == "query" or c.api == "note"]] = True
        failing = np.flatnonzero((trace.column("status") != 0) & ~quiet[trace.call])
        failing = failing[~self._told_by(failing, "ORDINARY")]
        repeated = np.isin(trace.call[failing], [c.number for c in trace.schema.doing("last_error")])
        # A call that only tells the last error has none of its own; but it may be the first to tell a fault of the device.
        told_first = repeated & self._told_by(failing, "DEVICE_ERRORS") & ~self._told_of_refused(failing)
        self.position: I64 = failing[~repeated | told_first]

    def __len__(self) -> int:
        return len(self.position)

    def status_name(self, position: int) -> str:
        """The API's own name for the status of a call."""
        status = int(self._trace.column("status", np.array([position]))[0])
        if status == NULL_RESULT:
            return "a null result"
        return self._trace.schema.status_name(self._trace.info(position).api, status)

    # ---- launches that were refused with the status of a fault ----

    def _refused_launches(self, failing: I64) -> I64:
        """Launches that some runtimes refuse with a status which else reports a fault of the device."""
        candidates = failing[self._told_by(failing, "REFUSES_LARGE_LAUNCHES")]
        return self._too_large(candidates) if len(candidates) else candidates

    def _told_of_refused(self, failing: I64) -> NDArray[np.bool_]:
        """Which calls may only repeat the status of such a launch?"""
        refused = self._refused_launches(failing)
        if not len(refused):
            return np.zeros(len(failing), bool)
        return (failing > refused[0]) & self._told_by(failing, "REFUSES_LARGE_LAUNCHES")

    # ---- faults of the device, which calls only report ----

    def _told_by(self, positions: NDArray[np.int64], table: str) -> NDArray[np.bool_]:
        """Whose status is in a table of its API's backend?"""
        calls, status = self._trace.call[positions], self._trace.column("status", positions)
        answer = np.zeros(len(positions), bool)
        for api in {self._trace.schema.calls[int(c)].api for c in np.unique(calls)}:
            module = backend_module(api, "statuses")
            known = list(getattr(module, table, ()))
            numbers = [c.number for c in self._trace.schema.calls if c.api == api]
            answer |= np.isin(calls, numbers) & np.isin(status, known)
        return answer

    @cached_property
    def reports(self) -> NDArray[np.int64]:
        """Failing calls that only report that work before them failed on the device."""
        found = self.position[self._told_by(self.position, "DEVICE_ERRORS")]
        return np.setdiff1d(found, self._refused_launches(found))

    @cached_property
    def own(self) -> NDArray[np.int64]:
        """Failing calls that failed for reasons of their own: those before the first report. After it all calls fail."""
        return self.position[self.position < self.reports[0]] if len(self.reports) else self.position

    @cached_property
    def refused(self) -> NDArray[np.int64]:
        """Failing calls whose status says that a value they were given is wrong, without saying which."""
        return self.own[self._told_by(self.own, "REFUSED")]

    @cached_property
    def of_images(self) -> NDArray[np.int64]:
        """Failing calls whose status says that device code could not be loaded or found."""
        return self.own[self._told_by(self.own, "IMAGE_ERRORS")]

    def image_error(self, position: int) -> str:
        """What went wrong with device code, a word of its backend's table; "" for other calls."""
        return self._words("IMAGE_ERRORS", position)

    @cached_property
    def of_captures(self) -> NDArray[np.int64]:
        """Failing calls whose status says that they and a capture do not go together."""
        return self.own[self._told_by(self.own, "CAPTURE_ERRORS")]

    def capture_error(self, position: int) -> str:
        """Why, completing "because"; "" for other calls."""
        return self._words("CAPTURE_ERRORS", position)

    def _words(self, table: str, position: int) -> str:
        """What a table of the call's backend says of its status, "" if nothing."""
        module = backend_module(self._trace.info(position).api, "statuses")
        known: dict[int, str] = getattr(module, table, {})
        return known.get(int(self._trace.column("status", np.array([position]))[0]), "")

    def may_be_own(self, position: int) -> bool:
        """May a launch that reports a fault of the device have run, and made it itself?"""
        module = backend_module(self._trace.info(position).api, "statuses")
        return bool(getattr(module, "LAUNCHES_TELL_THEIR_OWN", False))

    def crosses_contexts(self, position: int) -> bool:
        """May work in another context than the report's have made the fault?"""
        module = backend_module(self._trace.info(position).api, "statuses")
        return bool(getattr(module, "ERRORS_CROSS_CONTEXTS", False))

    def device_error(self, position: int) -> str | None:
        """What a report says, in plain words; None for other calls."""
        return self._words("DEVICE_ERRORS", position) or None

    def device_cause(self, position: int) -> str:
        """The cause that a report means when only one launch can have made it; "" for other calls."""
        module = backend_module(self._trace.info(position).api, "statuses")
        status = int(self._trace.column("status", np.array([position]))[0])
        known: dict[int, str] = getattr(module, "CAUSES", {})
        return known.get(status, str(getattr(module, "ANY_CAUSE", ""))) if self.device_error(position) else ""
