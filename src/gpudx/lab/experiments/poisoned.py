"""Fresh memory holds a pattern instead of what happened to be there, another one in each run.

A pattern that comes back shows a read of uninitialized memory. Its absence proves nothing: what was computed from it no
longer looks like it. But where every byte that comes to the program is seen, and all of them and all that it prints are the same
with numbers below, above and at zero in fresh memory, nothing that it does depends on what that memory holds.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.lab.experiments import Context, needs_gpu_calls
from gpudx.lab.poisoned import UNLIKE
from gpudx.model.how import How

ID = "poisoned"
COST = 1.5
missing = needs_gpu_calls


def how(context: Context) -> How:
    return replace(context.how, poison=UNLIKE[context.turn % len(UNLIKE)])
