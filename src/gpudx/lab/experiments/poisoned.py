"""Fills fresh memory with a pattern, a different one in each run.

If the pattern is read back, the program read uninitialized memory. If it is not, this proves nothing: a value computed from it no
longer looks like it. But if every byte that reaches the program is seen, and all of them and all output are the same with numbers
below, above and at zero in fresh memory, nothing that the program does depends on what that memory holds.
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
