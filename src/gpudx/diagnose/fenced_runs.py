"""What a run with fenced memory left in the case: whether any fence stood, and what had none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpudx.facts import Facts
from gpudx.model import Instrument

NAME = "fence"
UNSEEN = (
    "Accesses outside one buffer that stay inside another, and all accesses to memory that has no fence.",
    "Reads of the bytes that alignment leaves between a buffer and its fence.",
)


def instrument(side: str, processes: Sequence[Facts]) -> Instrument:
    """The fences as an instrument of the case: live if at least one stood."""
    blocks = [block for facts in processes for block in facts.fences.blocks]
    missed: Counter[str] = sum((facts.fences.missed for facts in processes), Counter())
    without = f" Without a fence: {_reasons(missed)}." if missed else ""
    if not blocks:
        why = without or " No buffer was made."
        return Instrument(NAME, "not live", f"No memory was fenced.{why}")
    aligned = ", ".join(f"{align:,}" for align in sorted({block.align for block in blocks}))
    noun = "buffer" if len(blocks) == 1 else "buffers"
    return Instrument(NAME, "live", f"Fenced {len(blocks):,} {noun} ({side}, aligned to {aligned} bytes).{without}")


def _reasons(missed: Counter[str]) -> str:
    return ", ".join(f"{count:,} ({why})" for why, count in missed.most_common())
