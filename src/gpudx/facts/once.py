"""Screens that several detectors share are made once per process under investigation."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from gpudx.facts import Facts

Result = TypeVar("Result")


def once(screen: Callable[[Facts], Result]) -> Callable[[Facts], Result]:
    """The result is kept for as long as the facts are."""
    kept: WeakKeyDictionary[Facts, Result] = WeakKeyDictionary()

    @wraps(screen)
    def cached(facts: Facts) -> Result:
        if facts not in kept:
            kept[facts] = screen(facts)
        return kept[facts]

    return cached
