"""Numbers that a kernel was built with: sizes that the host computes have to fit them."""

from __future__ import annotations

import re
import shlex

from gpudx.diagnose.kernel_check_reports import Failure

DEFINED = re.compile(r"-D\s*(\w+)=(\d+)\b")
WORD = re.compile(r"\w+")
MOST = 4


def fact(f: Failure) -> str:
    """ "the kernel was built with -DRADIUS=6 -DTILE=32": of macros that the kernel uses; "" where it uses none."""
    launch = f.facts.launches.at_position(f.position)
    if f.kind != "bounds" or launch is None:
        return ""
    row = int(f.facts.launches.kernel_row[launch])
    born = int(f.facts.objects.table["born"][row]) if row >= 0 else -1  # a later program may have the same handle
    used = set(WORD.findall(f.body))
    found = [f"-D{name}={number}" for name, number in DEFINED.findall(f.facts.kernels.options(row, born)) if name in used]
    return f"the kernel was built with {shlex.join(found[:MOST])}" if found else ""
