"""Types of the fixtures that make and look at synthetic processes."""

from __future__ import annotations

from collections.abc import Callable

from gpudx.model import Finding
from support.synthetic import World

Make = Callable[..., World]
Look = Callable[..., list[Finding]]
