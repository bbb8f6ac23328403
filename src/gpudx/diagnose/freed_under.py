"""A fault in a kernel, of memory that was freed while the kernel could still be running.

The memory was there when the kernel was launched, and the access is inside it: neither the index nor the size is wrong, the free is.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.detectors.freed_while_in_use import ID, freed_under, order_wanted
from gpudx.diagnose.origins import Traced
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.misses import Miss
from gpudx.model import Evidence, Finding

ACCESS = ("out-of-bounds-access", "use-after-free", "device-exception")


def with_free(finding: Finding, facts: Facts, launch: int, miss: Miss | None, traced: Traced) -> Finding:
    """The finding of a fault, as one of the free, where the memory that was accessed was freed under the launch."""
    obj = _accessed(facts, launch, miss, traced)
    position = int(facts.launches.position[launch])
    died = freed_under(facts, position, obj)
    if died is None or not (set(finding.causes) & set(ACCESS)) or finding.site is None:
        return finding
    free, label = facts.sites.at(died), facts.objects.label(obj)
    head = finding.message.partition("; the access")[0].rstrip(".")
    return replace(
        finding,
        message=(
            f"{head}. {free.call} (call {free.number}) freed {label} while the kernel could still be using it: "
            f"{order_wanted(facts, position, died)}."
        ),
        evidence=(
            Evidence(f"the access went to {label}, which {free.call} (call {free.number}) freed", (position + 1, free.number)),
            Evidence("no event or wait orders the kernel before the free", (position + 1, free.number)),
            *finding.evidence,
        ),
        root=free,
        allocation=allocation_of(facts, obj, "freed"),
        causes=(ID,),
    )


def _accessed(facts: Facts, launch: int, miss: Miss | None, traced: Traced) -> int:
    """The memory that the access was inside, as far as is known; -1 where it left its memory."""
    if miss is not None and (miss.kind in ("inside", "freed") or miss.object < 0):
        return miss.object if miss.kind in ("inside", "freed") else -1
    obj = traced.object(facts, launch) if miss is None else -1
    reach, unit = (traced.origin.reach, traced.origin.unit) if traced.origin else (None, 1)
    size = int(facts.objects.table["size"][obj]) if obj >= 0 else 0
    leaves = reach is not None and (reach[0] < 0 or (reach[1] + 1) * unit > size)
    return -1 if leaves else obj
