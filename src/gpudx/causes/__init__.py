"""One file per cause: what it predicts, what would refute it, and how it is mended.

A cause is a module here with a docstring (its documentation page) and `CAUSE`. Detectors suggest causes by id; the
judge in gpudx.diagnose decides between them. Adding a file adds a cause.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache, cached_property

from gpudx.causes._kinds import WHERE, Kind
from gpudx.model import Prediction


@dataclass(frozen=True)
class Cause:
    """What is wrong in general; a finding says where.

    `kind` brings what all causes of a family predict for each experiment; `apart` what this one predicts differently, and
    `predicts` says in its own words what is seen. `settled_by` says which run would turn "likely" into "confirmed".
    """

    id: str
    title: str
    refutes_if: str
    fix: tuple[str, ...]
    predicts: tuple[tuple[str, str], ...] = ()
    settled_by: str = ""
    kind: Kind = WHERE
    apart: tuple[Prediction, ...] = ()

    @cached_property
    def predictions(self) -> dict[str, Prediction]:
        """What is expected, by experiment."""
        every = {one.experiment: one for one in (*self.kind.predicts, *self.apart)}
        for experiment, text in self.predicts:
            expects = every[experiment].expects if experiment in every else "may change"
            every[experiment] = Prediction(experiment, expects, text)
        return every


@cache
def every() -> dict[str, Cause]:
    """All causes by id."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {module.CAUSE.id: module.CAUSE for module in modules}
