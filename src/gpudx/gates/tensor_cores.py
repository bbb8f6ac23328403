"""Requires a minimum number of tensor-core instructions: a kernel that lost its fast path still computes correct results.

Needs the listing of the device code in the case: `cuobjdump -sass ./app > app.sass`, and `gpudx explain app.sass --case CASE`.
A pattern that fits no kernel of the listing is no evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpudx.errors import UserError
from gpudx.gates._judged import Judged, missing, whole_number
from gpudx.gates._kernels import fits, unread
from gpudx.model import Case, DeviceCode
from gpudx.text import plural

KEY = "tensor-cores"
EXAMPLE = '[{ kernel = "score_*", least = 1 }]'
FINDING = "device-code"


def judge(limit: Any, cases: Sequence[Case], place: Path) -> Judged:
    if why := unread(cases):
        return missing(KEY, f"{why}: give the parts of it as several logs.")
    entries = limit if isinstance(limit, list) else [limit]
    listed = [one.code for case in cases for one in case.findings if one.id == FINDING and one.code]
    judged = [_one(*_entry(entry), listed) for entry in entries]
    bad = [one for one in judged if not one.passed]
    return bad[0] if bad else Judged(KEY, True, " ".join(one.text for one in judged))


def _one(pattern: str, least: int, listed: list[DeviceCode]) -> Judged:
    own = [one for one in listed if fits(one.kernel, pattern)]
    if not own:
        return missing(KEY, f"no listing of the code of {pattern}: add one, as `gpudx rule {KEY}` says.")
    few = [one for one in own if one.tensor_instructions < least]
    if few:
        return Judged(KEY, False, f"{few[0].kernel} has {few[0].tensor_instructions}, at least {least} are required.")
    fewest = min(one.tensor_instructions for one in own)
    return Judged(KEY, True, f"{plural(len(own), 'kernel')} like {pattern} with {fewest:,} or more ({least:,} wanted).")


def _entry(entry: Any) -> tuple[str, int]:
    if not isinstance(entry, dict) or set(entry) != {"kernel", "least"} or not isinstance(entry["kernel"], str):
        raise UserError(f"gpudx.toml: {KEY} takes entries with kernel and least; write {KEY} = {EXAMPLE}.")
    return entry["kernel"], whole_number("least", entry["least"])
