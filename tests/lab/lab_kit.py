"""Names that the tests of the lab share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = Path(os.environ.get("GPUDX_TEST_LIB", HERE.parents[1] / "build/native/libgpudx.so"))

Build = Callable[..., Path]
