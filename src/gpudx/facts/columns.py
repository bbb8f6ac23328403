"""A table of columns: some are held, others are made each time they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]


class Columns:
    """`table["queue"]` is a column, `table[rows]` the same table for some rows."""

    def __init__(self, length: int, columns: Mapping[str, Column | Callable[[], Column]]) -> None:
        self._length, self._columns = length, columns

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, key: str) -> Column: ...

    @overload
    def __getitem__(self, key: NDArray[np.integer]) -> Columns: ...

    def __getitem__(self, key: str | NDArray[np.integer]) -> Column | Columns:
        if isinstance(key, str):
            column = self._columns[key]
            return column() if callable(column) else column
        return Columns(len(key), {name: self._some(name, key) for name in self._columns})

    def _some(self, name: str, rows: NDArray[np.integer]) -> Callable[[], Column]:
        return lambda: self[name][rows]
