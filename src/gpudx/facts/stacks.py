"""Where calls were made from: the stacks that the recorder noted, of failing calls and, where asked for, of all launches."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpudx.text import printable
from gpudx.trace import Trace

PYTHON_BUSY = 2  # native/core/python.h
# Installed packages, and the standard library, which lies in lib/pythonX.Y or in a zip file.
INSTALLED = re.compile(r"/(site|dist)-packages/|/lib(64)?/python\d+\.\d+/|/python\d+\.zip/")
# Names in angle brackets are of code without a file: what somebody typed in, else what a library made at run time.
TYPED_IN = re.compile(r"<(stdin|string|console|(i?python-input)\b.*)>")

OURS = "/gpudx/preload_python/"  # gpudx's own code inside the program: no part of its stack


@dataclass(frozen=True)
class PythonFrame:
    """One Python frame, as a traceback has it."""

    file: str
    line: int
    function: str

    @property
    def source(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def text(self) -> str:
        """For people: "train.py:41 in step (python)"."""
        return f"{os.path.basename(self.source)} in {self.function} (python)"

    @property
    def own(self) -> bool:
        """Is it the program's own code, not that of an installed package or of the standard library?"""
        if self.file.startswith("<"):
            return TYPED_IN.fullmatch(self.file) is not None
        return INSTALLED.search(self.file) is None


@dataclass(frozen=True)
class Stack:
    """A recorded stack, innermost first: return addresses, and the Python frames that ran above them."""

    addresses: tuple[int, ...]
    python: tuple[PythonFrame, ...] = ()
    python_busy: bool = False  # there were Python frames, but the interpreter did not answer in time
    scope: str = ""  # what the thread was doing, in the words of gpudx's code inside the program

    @property
    def python_lines(self) -> tuple[str, ...]:
        """The Python part for people."""
        if self.python_busy:
            return ("... (Python frames are missing: the interpreter was busy)",)
        return tuple(frame.text for frame in self.python)

    @property
    def source(self) -> str | None:
        """The innermost line of the program's own Python code; of any Python code where it has none."""
        frames = [frame for frame in self.python if frame.own] or self.python
        return frames[0].source if frames else None


class Stacks:
    """Stacks by the position of their call. They are decoded when asked for: there may be one per launch."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def _notes(self) -> dict[int, int]:
        """Position of the last note for each place in the file that a call was written to."""
        note = self._trace.schema.by_name("note_stack")
        if note is None:
            return {}
        positions = self._trace.select(note)
        return dict(zip(self._trace.field(note, "of", positions).tolist(), positions.tolist(), strict=True))

    def at(self, position: int) -> Stack | None:
        """The stack of the call at `position`; None if none was recorded, or it was overwritten."""
        (place,) = self._trace.slot_address(np.array([position])).tolist()
        note = self._notes.get(place)
        if note is None:
            return None
        called, noted = self._trace.column("begin", np.array([position, note])).tolist()
        if noted < called:  # the ring reuses places: a note that is older than the call there was about another call
            return None
        return self._read(note)

    def numbered(self, sequence: int) -> list[Stack]:
        """The stacks of calls that a framework made while this was the number of the next step of its graph."""
        return [self._read(note) for note in self._by_sequence.get(sequence, ())]

    @cached_property
    def _by_sequence(self) -> dict[int, list[int]]:
        note = self._trace.schema.by_name("note_stack")
        found: dict[int, list[int]] = {}
        if note is None or note.word("sequence") is None:
            return found
        positions = self._trace.select(note)
        for position, number in zip(positions.tolist(), self._trace.field(note, "sequence", positions).tolist(), strict=True):
            found.setdefault(number, []).append(position)
        return found

    def _read(self, note: int) -> Stack:
        return Stack(
            self._trace.numbers(note, "frames"),
            _frames(self._trace.texts(note, "python")),
            self._trace.record(note).get("python") == PYTHON_BUSY,
            self._trace.text(note, "scope") if "scope" in self._trace.schema.parts else "",
        )


def _frames(texts: Sequence[str]) -> tuple[PythonFrame, ...]:
    """File, line and function in turn; what is damaged is left out."""
    rows = zip(texts[0::3], texts[1::3], texts[2::3], strict=False)
    good = [row for row in rows if row[1].isascii() and row[1].isdigit() and OURS not in row[0]]
    return tuple(PythonFrame(printable(file), int(line), printable(name)) for file, line, name in good)
