"""Calls after which work that no record shows may write host memory."""

from gpudx.backends.host_writers import UNSEEN

__all__ = ["UNSEEN"]
