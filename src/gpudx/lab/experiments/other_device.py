"""Runs on another device or driver of this machine.

If the failure stays, it does not come from one device alone. If it goes away, it may only be hidden: drivers differ in what they refuse
and in how they lay out memory.
"""

from __future__ import annotations

from gpudx import backends
from gpudx.lab.experiments import Context, Seen
from gpudx.model.how import How

ID = "other-device"
COST = 2.0


def missing(context: Context) -> str | None:
    return None if _variables(context) else "no other device is known for this program"


def how(context: Context) -> How:
    return context.how.under(_variables(context))


def _variables(context: Context) -> dict[str, str]:
    for api in sorted(context.apis):
        found = backends.other_device(api, context.environment, context.devices)
        if found:
            return found
    return {}


def without_effect(context: Context, seen: Seen) -> str | None:
    return "it ran on the same device" if seen.devices == context.devices else None
