"""Which code is the program's own: of the places on a stack, those in no library of the system and in no driver."""

from __future__ import annotations

import re

from gpudx.backends import libraries as backend_libraries
from gpudx.facts.symbols import Place
from gpudx.text.places import is_installed

SYSTEM = re.compile(r"/(?:usr/)?lib(?:32|64)?/|\[")  # libraries of the system, and code of the kernel


def is_own(place: Place) -> bool:
    """Is it a line of the program, and of no library that it only uses?"""
    of_library = SYSTEM.match(place.path) or any(name in place.object for name in backend_libraries())
    return bool(place.source) and not of_library and not is_installed(place.source)
