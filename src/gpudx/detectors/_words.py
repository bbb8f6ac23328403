"""Sentences' parts that several detectors need, and the sites they speak of."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gpudx.facts import Facts
from gpudx.facts.kernels import ArgInfo
from gpudx.model import Site
from gpudx.text import nth

RECORDER = "(libgpudx"  # our own frames, where a thread died inside a call


def declared(facts: Facts, kernel_row: int, index: int) -> ArgInfo | None:
    """What the kernel's source declares for an argument, None when the driver did not say."""
    info = facts.kernels.info(kernel_row)
    return info.args.get(index) if info else None


def argument(facts: Facts, kernel_row: int, index: int) -> str:
    """ "argument 1 (ushort* d)"."""
    known = declared(facts, kernel_row, index)
    told = f"{known.type} {known.name}".strip() if known else ""
    return f"argument {index}" + (f" ({told})" if told else "")


def had_completed(done: int, known: int) -> str:
    """ "1 of 6 launches had completed when the device stopped"."""
    if known == 1:
        return f"the only launch had {'' if done else 'not '}completed when the device stopped"
    return f"{done:,} of {known:,} launches had completed when the device stopped"


def site_of(facts: Facts, position: int) -> Site:
    """The site of a call, with the argument and value it sets if it sets one: the same for every detector."""
    if facts.trace.info(position).does != "set_arg":
        return facts.sites.at(position)
    words = facts.trace.record(position)
    return facts.sites.at(position, argument=words["index"], value=words["value"])


def sites_of(facts: Facts, positions: Iterable[int]) -> tuple[Site, ...]:
    return tuple(site_of(facts, int(p)) for p in positions)


def of_kind(facts: Facts, position: int, name: str = "") -> str:
    """ "the 3rd of 4", "the 3rd of 4 user events"; "" for the only one, and where calls are missing."""
    found = facts.nth.of_kind(position)
    if found is None or found[1] < 2:
        return ""
    return f"the {nth(found[0])} of {found[1]:,}{f' {name}' if name else ''}"


def work_of(facts: Facts, site: Site) -> str:
    """ "kernel up (launch 8, the 3rd of 4)", "clEnqueueReadBuffer (call 31, the 2nd of 6)": so that the reader finds the iteration."""
    count = of_kind(facts, site.number - 1)
    head = f"kernel {site.kernel} (launch {site.launch}" if site.kernel and site.launch else f"{site.call} (call {site.number}"
    return f"{head}{f', {count}' if count else ''})"


def place_of(site: Site) -> str:
    """ ", main.c:41"; without debug information ", layer_close+0x1f (plugin.so)"; "" where nothing is known."""
    own = [frame for frame in site.host_stack if not frame.startswith("[")]
    found = os.path.basename(site.source) if site.source else next((one for one in own if RECORDER not in one), "")
    return f", {found}" if found else ""


def placed(site: Site) -> str:
    """ "clFinish (call 86, main.c:40)"."""
    return f"{site.call} (call {site.number}{f', {os.path.basename(site.source)}' if site.source else ''})"
