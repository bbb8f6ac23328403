"""Arrays as columns of a drawing."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpudx.model.drawing import Column

Width = Literal[1, 2, 4, 8]


def column(values: NDArray[Any], width: Width) -> Column:
    """Whole numbers in `width` bytes each; what does not fit becomes the nearest that does."""
    whole = values if values.dtype == np.uint64 else np.maximum(values.astype(np.int64), 0).view(np.uint64)
    return Column(width, np.minimum(whole, np.iinfo(f"<u{width}").max).astype(f"<u{width}").tobytes())


def gaps(values: NDArray[Any]) -> NDArray[Any]:
    """Each as its distance from the one before; the first from 0."""
    return np.diff(values, prepend=values.dtype.type(0))
