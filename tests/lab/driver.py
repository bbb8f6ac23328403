"""A program that runs a command in the lab and ends as it ended, as `gpudx run` does. Run by the tests."""

from __future__ import annotations

import sys
from pathlib import Path

from gpudx.lab.recorded import end_like, run_recorded
from gpudx.model.how import How

place, timeout, *command = sys.argv[1:]
run = run_recorded(command, Path(place), How(timeout=float(timeout) or None))
print(f"lab: {run.returncode} {run.signal} {run.timed_out}", file=sys.stderr)
end_like(run)
