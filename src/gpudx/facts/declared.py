"""What kernels declare for their arguments, as columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.kernels import ArgInfo, Kernels

I64 = NDArray[np.int64]


class Declared:
    """Per-argument declarations as columns: what was declared for (kernel object row, argument index)."""

    COLUMNS = (
        ("size", np.int64, -1),
        ("memory", bool, False),
        ("read_only", bool, False),
        ("known", bool, False),
        ("pointer", bool, False),
    )

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels
        self.functions = kernels.of_functions
        self.width = max((max(i.args, default=-1) + 1 for i in self.functions if i), default=0) or 1
        self.tables = {n: np.full((len(self.functions), self.width), fill, kind) for n, kind, fill in self.COLUMNS}
        for number, info in enumerate(self.functions):
            for index, arg in (info.args if info else {}).items():
                self._put(number, index, arg)

    def _put(self, number: int, index: int, arg: ArgInfo) -> None:
        values = {
            "size": -1 if arg.size is None else arg.size,
            "memory": arg.is_memory,
            "read_only": arg.read_only,
            "known": bool(arg.type),
            "pointer": "*" in arg.type,
        }
        for name, value in values.items():
            self.tables[name][number, index] = value

    def get(self, name: str, rows: I64, indexes: NDArray[Any]) -> NDArray[Any]:
        """Column `name` for each (kernel row, argument index); the fill value where nothing is declared."""
        return self.at_cells(name, self.cells(rows, indexes))

    def at_cells(self, name: str, cells: I64) -> NDArray[Any]:
        """The same for cells that were worked out before: several columns for the same rows cost one lookup each."""
        fill = next(f for n, _, f in self.COLUMNS if n == name)
        return np.take(self._padded(name, fill), cells)

    def _padded(self, name: str, fill: Any) -> NDArray[Any]:
        """The table as one line with the fill value at its end, for whatever is not declared."""
        return np.append(self.tables[name].ravel(), np.array([fill], self.tables[name].dtype))

    def cells(self, rows: I64, indexes: NDArray[Any]) -> I64:
        """Where (kernel row, argument index) stands in the tables; one past the end for what is not declared."""
        number = self._kernels.functions(rows)
        outside = (number < 0) | (indexes >= self.width) | (indexes < 0)
        return np.where(outside, len(self.functions) * self.width, number * self.width + indexes)

    def arguments(self, rows: I64) -> I64:
        """How many arguments each kernel row declares, -1 if unknown."""
        declared = np.array([*(i.num_args if i else -1 for i in self.functions), -1], np.int64)
        return declared[self._kernels.functions(rows)]
