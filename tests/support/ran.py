"""A program that was run under the recorder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpudx.trace import Trace, open_trace


@dataclass(frozen=True)
class Ran:
    """How one run ended, and where its traces are."""

    returncode: int
    stdout: str
    stderr: str
    folder: Path

    @property
    def seen(self) -> tuple[int, str, str]:
        """What the user of the program sees of it."""
        return self.returncode, self.stdout, self.stderr

    def traces(self) -> list[Trace]:
        """All traces, oldest process first."""
        found = [open_trace(path) for path in sorted(self.folder.glob("*.gdx"))]
        return sorted(found, key=lambda trace: int(trace.header["start_mono_ns"]))

    def trace(self) -> Trace:
        """The one trace of the run."""
        (only,) = self.traces()
        return only
