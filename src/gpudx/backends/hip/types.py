"""Parameters of HIP kernels, by their symbols."""

from __future__ import annotations

from gpudx.backends.cxx_symbols import Parameter, Signature, signature

__all__ = ["Parameter", "Signature", "signature"]
