"""Apple's Metal, and PyTorch's MPS on top of it: failed assertions of its validation, memory that ran out, kernels that need too much.

Errors of command buffers are read with the other interfaces (gpu-status). The validation layer stops at the call that is wrong: its line is
the right one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near

FORMAT = "metal"
MARKS = (
    "MPS backend out of memory",
    "failed assertion `",
    "failed assertion '",
    "Compute function exceeds",
    "MPSNDArray",
    "[MPS",
    "MTLLibrary",
    "command buffer ",
)
_MEMORY = re.compile(
    r"MPS backend out of memory \(MPS allocated: ([\d.]+ \w+).*?max allowed: ([\d.]+ \w+)\)(?:.*?Tried to allocate "
    r"([\d.]+ \w+))?"
)
VALIDATE = _next.OWN["metal"]
_ASSERT = re.compile(r"(?:-\[(\w+) (\w+)[^\]]*\]:?\d*: ?)?.*?failed assertion [`'](.+?)'?$")
_METAL = re.compile(r"MTL|MPS|Metal|AGX|validate(?:Compute|Vertex|Fragment)?FunctionArguments", re.IGNORECASE)
_STATUS = re.compile(r"command buffer (\d+) failed with status 5")  # MTLCommandBufferStatusError
_LIMIT = re.compile(r"Compute function exceeds available (.+)")


def read(near: Near) -> Iterator[Event]:
    text = near.text
    if found := _MEMORY.search(text):
        wanted = f" of {found[3]}" if found[3] else ""
        said = f"An allocation{wanted} did not fit into device memory: {found[1]} were in use, and {found[2]} are allowed (PyTorch MPS)."
        yield Event("out-of-memory", "refusal", said, (("api", "metal"),), causes=("failed-call",), next=VALIDATE, sure=False)
    elif found := _STATUS.search(text):
        reason = next((line.strip() for line in near.after(1) if "memory" in line.lower()), "")
        said = (
            f"Metal stopped command buffer {found[1]} with an error{f': {reason[:120]}' if reason else ''} (status 5)."
        )
        yield Event(
            "metal-command-buffer", "report", said, (("api", "metal"),), causes=("device-error-reported",), next=VALIDATE, sure=False
        )
    elif found := _LIMIT.search(text):
        yield Event(
            "metal-limit",
            "refusal",
            f"A kernel needs more than the device has: {found[1][:120].rstrip('.')}.",
            (("api", "metal"),),
            causes=("launch-refused",),
            next=VALIDATE,
        )
    elif "failed assertion" in text and (found := _ASSERT.search(text)) and _METAL.search(text):
        where = f" in [{found[1]} {found[2]}]" if found[1] else ""
        said = f"Metal's validation stopped the program{where}: {found[3][:200].rstrip('.')}."
        yield Event(
            "metal-assertion", "refusal", said, (("api", "metal"), ("said", found[3][:80])), causes=("failed-call",), next=VALIDATE
        )
