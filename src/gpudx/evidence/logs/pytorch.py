"""PyTorch: "RuntimeError: CUDA error: ...", torch.AcceleratorError, torch.OutOfMemoryError, and the advice under them.

The advice itself says that the stack trace may be wrong: the Python line is where the error was noticed. It reads the status,
and for memory errors the sizes that PyTorch prints. CUDA_LAUNCH_BLOCKING=1, which the advice proposes, names the operator;
TORCH_USE_CUDA_DSA needs a rebuild of PyTorch, and setting it as a variable does nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source
from gpudx.evidence.logs._statuses import event, numbered, told
from gpudx.evidence.logs.cuda_error import NOT_TOLD, without_advice

FORMAT = "pytorch"
MARKS = ("Error: CUDA error", "Error: HIP error", "error 'CUDA error", "cuda runtime error", "OutOfMemoryError", "CUDA out of memory",
         "HIP out of memory", "what():  CUDA error", "what():  HIP error")  # fmt: skip
MOST_ADVICE = 8
_ADVICE = re.compile(
    r"asynchronously reported|CUDA_LAUNCH_BLOCKING|_USE_(?:CUDA|HIP)_DSA|Search for `|AMD_SERIALIZE_KERNEL|^\s*$"
)
_WANTED = re.compile(
    r"Tried to allocate ([\d.]+ [KMGT]?i?B).*?(?:capacity of ([\d.]+ \wi?B))?.*?(?:([\d.]+ \wi?B) (?:is )?free)"
)
_DEVICE = re.compile(r"(?:CUDA|HIP|XPU|GPU|device).{0,20}\bout of memory")  # host memory runs out as well, as Ray reports it
_NUMBER = re.compile(r"runtime error \((\d+)\)")


def read(near: Near) -> Iterator[Event]:
    text = without_advice(near.text)
    api = "hip" if "HIP" in text else "cuda"
    number = _NUMBER.search(text)
    status = numbered(2) if "OutOfMemoryError" in text or "out of memory" in text else told(text)
    status = status or (numbered(int(number[1])) if number else None)
    if status is None or NOT_TOLD.search(text) or ("OutOfMemoryError" in text and not _DEVICE.search(text)):
        return
    covers = _covered(near)
    wanted = _WANTED.search(text)
    notes: tuple[str, ...] = (f"it asked for {wanted[1]}; {wanted[3]} were free",) if wanted else ()
    if any("asynchronously" in line for line in (near.text, *near.after(covers))):
        notes += ("PyTorch itself says that the stack trace may be that of another call",)
    yield event(status, api, source(text), covers, notes)


def _covered(near: Near) -> int:
    """The lines of advice under the error."""
    count = 0
    for line in near.after(MOST_ADVICE):
        if not _ADVICE.search(line):
            break
        count += 1
    return count
