"""Fresh memory holds a pattern instead of what happened to be there.

A pattern that comes back shows a read of memory that nothing wrote. Its absence proves nothing: what was computed from it no
longer looks like it.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.lab.experiments import Context, needs_gpu_calls
from gpudx.lab.how import How
from gpudx.lab.poisoned import PATTERNS

ID = "poisoned"
COST = 1.5
missing = needs_gpu_calls


def how(context: Context) -> How:
    return replace(context.how, poison=PATTERNS[0])
