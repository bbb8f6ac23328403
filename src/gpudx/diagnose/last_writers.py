"""Who wrote a buffer last before a launch: a call of the host, another kernel, or the creation from host memory."""

from __future__ import annotations

from dataclasses import dataclass

from gpudx.facts import Facts
from gpudx.facts.accesses import MAY, WRITE
from gpudx.model import Site


@dataclass(frozen=True)
class Writer:
    """`is_kernel`: a launch that was given the buffer for writing, which need not have written it."""

    site: Site
    is_kernel: bool = False

    @property
    def text(self) -> str:
        """ "kernel fill (launch 3)", "clEnqueueWriteBuffer at main.c:41"."""
        if self.is_kernel:
            return f"kernel {self.site.kernel} (launch {self.site.launch})"
        return f"{self.site.call} at {self.site.source.rpartition('/')[2]}" if self.site.source else self.site.call


def last_writer(facts: Facts, row: int, position: int) -> Writer | None:
    """Of a buffer (a row of objects) before a position; None where no call wrote it."""
    table, objects = facts.accesses, facts.objects.table
    mine = table[(table["object"] == row) & (table["position"] < position) & ((table["how"] & WRITE) != 0)]
    if len(mine):
        site = facts.sites.at(int(mine["position"][-1]))
        return Writer(site, bool(mine["how"][-1] & MAY) and bool(site.kernel))
    born = int(objects["born"][row])
    return Writer(facts.sites.at(born)) if objects["host_ptr"][row] and 0 <= born < position else None
