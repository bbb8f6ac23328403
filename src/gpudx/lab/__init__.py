"""The only place that starts processes."""

from gpudx.lab.recorded import RunResult, run_recorded

__all__ = ["RunResult", "run_recorded"]
