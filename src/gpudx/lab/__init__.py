"""Starts processes: the program under test, builds and tools. Nothing else in gpudx does."""

from gpudx.lab.recorded import RunResult, run_recorded

__all__ = ["RunResult", "run_recorded"]
