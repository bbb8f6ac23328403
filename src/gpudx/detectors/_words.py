"""Sentences' parts that several detectors need, and the sites they speak of."""

from __future__ import annotations

from collections.abc import Iterable

from gpudx.facts import Facts
from gpudx.facts.kernels import ArgInfo
from gpudx.model import Site


def declared(facts: Facts, kernel_row: int, index: int) -> ArgInfo | None:
    """What the kernel's source declares for an argument, None when the driver did not say."""
    info = facts.kernels.info(kernel_row)
    return info.args.get(index) if info else None


def argument(facts: Facts, kernel_row: int, index: int) -> str:
    """ "argument 1 (ushort* d)"."""
    known = declared(facts, kernel_row, index)
    told = f"{known.type} {known.name}".strip() if known else ""
    return f"argument {index}" + (f" ({told})" if told else "")


def site_of(facts: Facts, position: int) -> Site:
    """The site of a call, with the argument and value it sets if it sets one: the same for every detector."""
    if facts.trace.info(position).does != "set_arg":
        return facts.sites.at(position)
    words = facts.trace.record(position)
    return facts.sites.at(position, argument=words["index"], value=words["value"])


def sites_of(facts: Facts, positions: Iterable[int]) -> tuple[Site, ...]:
    return tuple(site_of(facts, int(p)) for p in positions)
