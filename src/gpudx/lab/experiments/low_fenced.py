"""Memory against the lower of two fences: an access before its start, or after its free, is a fault at once.

A fault of this kind is shown, with kernel, argument and distance. A failure that stays with every allocation fenced, and
shows nothing, does not come from such an access; accesses inside an allocation are not seen.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.lab.experiments import Context, needs_gpu_calls
from gpudx.model.how import Fence, How

ID = "low-fenced"
COST = 1.5
missing = needs_gpu_calls


def how(context: Context) -> How:
    return replace(context.how, fence=Fence("low"))
