"""Kernels that a driver compiled for the processor, by the names in their code."""

from __future__ import annotations

from gpudx.facts import Facts, backend_module

__all__ = ["kernel_at"]


def kernel_at(facts: Facts, address: int) -> str | None:
    """The kernel that the code at an address was made from, where a driver's names show it."""
    for api in sorted({c.api for c in facts.trace.schema.doing("launch")}):
        module = backend_module(api, "host_code")
        names = [module.kernel_of(p.function) for p in facts.symbols.places(address)] if module else []
        if any(names):
            return next(name for name in names if name)
    return None
