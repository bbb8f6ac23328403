"""Where the gpudx under test is, for processes that import it: installed, or the sources."""

from pathlib import Path

import gpudx

PYTHONPATH = str(Path(gpudx.__file__).resolve().parents[1])
