"""Names that the tests of the lab share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from gpudx import native

HERE = Path(__file__).resolve().parent
CANDIDATES = (
    os.environ.get("GPUDX_TEST_LIB"),
    native.PACKAGED / "libgpudx.so",
    HERE.parents[1] / "build/native/libgpudx.so",
)
BUILT = next((path for path in map(Path, filter(None, CANDIDATES)) if path.is_file()), HERE / "libgpudx.so")

Build = Callable[..., Path]
