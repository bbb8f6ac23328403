"""What `gpudx check` and `gpudx hypotheses` share: the case and its facts, and the page they write on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudx.facts import Facts
    from gpudx.model import Case


def load(place: Path) -> tuple[Case, list[Facts]]:
    """A case and the facts of its processes."""
    from gpudx import casefile
    from gpudx.facts import derive
    from gpudx.trace import open_case

    case = casefile.read(place)
    return case, [derive(trace) for trace in open_case(place if place.is_dir() else place.parent)]
