"""gpudx says why a GPU program failed."""

__version__ = "0.1.0"
