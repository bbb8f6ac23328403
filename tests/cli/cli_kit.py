"""Names that the tests of the command line share."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent

Gpudx = Callable[..., "subprocess.CompletedProcess[str]"]
