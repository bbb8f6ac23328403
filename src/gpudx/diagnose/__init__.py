"""Turns findings into a diagnosis: which cause, how sure, and where the failure only surfaced."""

from gpudx.diagnose.judge import diagnose

__all__ = ["diagnose"]
