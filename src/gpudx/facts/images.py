"""What modules and libraries were made from: the device code that each image holds, by the call that loaded it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.facts._backend import backend_module
from gpudx.facts.objects import Objects
from gpudx.trace import Trace

I64 = NDArray[np.int64]


class Images:
    """Images as their backend reads them: `codes` with `target`, `compiled`, `language` and `runs_on`, `odd`, `whole`."""

    def __init__(self, trace: Trace, objects: Objects) -> None:
        self._trace, self._objects = trace, objects

    @cached_property
    def _notes(self) -> I64:
        return self._trace.named("note_image")

    def loaded_by(self, position: int) -> int:
        """The call that loaded the code which a call is about; -1 if that is not known."""
        info, words = self._trace.info(position), self._trace.record(position)
        if info.does == "create" and info.object == "program":
            return position
        row = self._row(words["kernel"], position) if words.get("kernel") else -1
        program = (
            int(self._objects.table["owner"][row]) if row >= 0 else self._program(words.get("program", 0), position)
        )
        return int(self._objects.table["born"][program]) if program >= 0 else -1

    def _row(self, handle: int, position: int) -> int:
        return int(self._objects.at(np.array([handle], np.uint64), np.array([position], np.int64))[0])

    def _program(self, handle: int, position: int) -> int:
        """A program by its handle, or by a handle that a call gave for it: the module of a library."""
        row = self._row(handle, position) if handle else -1
        if row >= 0 or not handle:
            return row
        for info in self._trace.schema.doing("other"):
            if dict(info.fields).get("result") != "handle:program" or info.word("program") is None:
                continue
            positions = self._trace.select(info)
            positions = positions[(positions < position) & (self._trace.field(info, "result", positions) == handle)]
            if len(positions):
                return self._row(self._trace.record(int(positions[-1]))["program"], int(positions[-1]))
        return -1

    def at(self, load: int) -> Any | None:
        """The image that a loading call was given, None if nothing of it was kept."""
        later = self._notes[self._notes > load]
        later = later[self._trace.column("tid", later) == self._trace.column("tid", np.array([load]))[0]]
        if not len(later) or not self._belongs(int(later[0]), load):
            return None
        return self._read(int(later[0]), self._trace.info(load).api)

    def _read(self, note: int, api: str) -> Any | None:
        module = backend_module(api, "images")
        head = self._trace.parts(note).get(self._trace.schema.parts["text"], b"")
        whole = bool(self._trace.record(note)["whole"])
        return module.read(head, self._trace.numbers(note), whole) if module else None

    def of_kernel(self, position: int) -> Any | None:
        """The image that holds the kernel of a call, where no call loaded it: programs register theirs before they begin."""
        kernel = self._trace.record(position).get("kernel", 0)
        program = self._noted(self._of_kernels, "kernel", kernel, "program") if kernel else None
        image = self._noted(self._notes, "image", program, "") if program else None
        return self._read(image, self._trace.info(position).api) if image is not None else None

    @cached_property
    def _of_kernels(self) -> I64:
        return self._trace.named("note_kernel")

    def _noted(self, notes: I64, field: str, value: int, wanted: str) -> int | None:
        """A word of the last note that has this value, or its position."""
        if not len(notes):
            return None
        info = self._trace.info(int(notes[0]))
        mine = notes[self._trace.field(info, field, notes) == np.uint64(value)]
        if not len(mine):
            return None
        return int(self._trace.record(int(mine[-1]))[wanted]) if wanted else int(mine[-1])

    def _belongs(self, note: int, load: int) -> bool:
        """Was the note made inside the call, for the same image?"""
        begin, end = (
            int(self._trace.column("begin", np.array([note]))[0]),
            int(self._trace.column("end", np.array([load]))[0]),
        )
        same = self._trace.record(note)["image"] == self._trace.record(load).get("image", 0)
        return same and (not end or begin <= end)
