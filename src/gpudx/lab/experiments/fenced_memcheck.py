"""Memory between fences, under compute-sanitizer's memcheck: the access that meets a fence is named.

A fence makes the device stop a kernel, but says only which launch failed. The tool says which thread accessed which address, also
where the access would have landed in another live buffer without the fence.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.lab.experiments import Context
from gpudx.lab.experiments._sanitizer import under, why_missing
from gpudx.model.how import Fence, How

ID = "fenced-memcheck"
COST = 3.0


def missing(context: Context) -> str | None:
    return why_missing(context, "memcheck")


def how(context: Context) -> How:
    return replace(under(context, "memcheck"), fence=Fence("high"))
