"""How a program is run: all that can be asked for, as one value from the command line to the start of the process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpudx.lab import fenced, poisoned, watched
from gpudx.lab.fenced import Fence
from gpudx.lab.sanitized import Sanitizer
from gpudx.lab.watched import Watch

SERIALISE = "GPUDX_SERIALISE"  # native/core/serialise.c
STACKS = "GPUDX_STACKS"  # native/core/stacks.c
CRUMBS = "GPUDX_CRUMBS"  # native/core/crumbs.c


@dataclass(frozen=True)
class How:
    """One more way to run a program is one more field here, and its variables in `variables`."""

    timeout: float | None = None  # seconds
    keep: str = "16M"  # calls per thread, or "all"
    dump: bool = False  # the driver writes a core dump of the device
    serialise: bool = False  # a wait after each launch
    stacks: bool = False  # of each launch
    crumbs: str = ""  # breadcrumbs behind "all" launches, or "off"; "": within a budget of host time
    sanitizer: Sanitizer | None = None  # the tool that it runs under
    fence: Fence | None = None
    poison: str | None = None  # the pattern that fresh memory holds
    watch: Watch | None = None
    extra_env: Mapping[str, str] = field(default_factory=dict)  # the program's own
    probes: tuple[str, ...] = ()  # marks to look for in the program and in what it writes
    output: Path | None = None  # the file for what it writes, and no input; None: it has what gpudx has

    def under(self, more: Mapping[str, str]) -> How:
        """The same with more variables of the program's own."""
        return replace(self, extra_env={**self.extra_env, **more})

    def _crumbs(self) -> str:
        """A fault that fences or poison provoke must name its launch; a sanitizer does so itself."""
        if self.crumbs or self.sanitizer:
            return self.crumbs or "off"
        return "all" if self.fence or self.poison else ""

    def variables(self, base: Mapping[str, str]) -> dict[str, str]:
        """What the recorder is asked for; `base` is the environment without it."""
        return {
            **({SERIALISE: "1"} if self.serialise else {}),
            **({STACKS: "1"} if self.stacks else {}),
            **({CRUMBS: crumbs} if (crumbs := self._crumbs()) else {}),
            **(fenced.environment(self.fence, base) if self.fence else {}),
            **(poisoned.environment(self.poison, base) if self.poison else {}),
            **(watched.environment(self.watch, base) if self.watch else {}),
        }
