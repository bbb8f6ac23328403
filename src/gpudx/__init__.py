"""gpudx reports why a GPU program failed. From Python: gpudx.run([...]) and gpudx.load(path); see gpudx.api."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpudx.api import LoadedCase, load, load_ipython_extension, run

__version__ = "0.1.0"
__all__ = ["LoadedCase", "__version__", "load", "load_ipython_extension", "run"]


def __getattr__(name: str) -> Any:
    """The library is imported when it is used: the command line does not need all of it."""
    if name in __all__:
        from gpudx import api

        return getattr(api, name)
    raise AttributeError(f"module 'gpudx' has no attribute {name!r}")
