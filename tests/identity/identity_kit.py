"""Types of the fixtures, and what several tests need."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from gpudx.elf.image import Image
from gpudx.identity.built import built, made_of
from gpudx.model import Making

Make = Callable[..., Path]
Git = Callable[..., str]

HELLO = '#include <stdio.h>\nint main(void) { puts("PROBE enter main of the program"); return 0; }\n'
EDITED = HELLO.replace("enter", "leave")
HOUR, DAY = 3600.0, 86400.0


def built_of(program: Path, started: float | None = None) -> Making:
    """What a program says of its making, as if it were run now."""
    image = Image.open(str(program))
    assert image is not None
    return built(made_of(image), program.stat().st_mtime, time.time() + 1 if started is None else started)
