"""Vulkan's validation layer and wgpu's validation: accesses of shaders out of bounds, and calls that break a rule.

With GPU-assisted checks the layer watches the shader itself: this is the fault, with set, binding and the bytes that were bound. The
dispatch is named by its call only. Other messages name a rule (VUID) and the call that broke it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near

FORMAT = "vulkan-validation"
MARKS = ("GPUValidationError", " access out of bounds. The descriptor", "VUID-", "Validation Error")
_LINE = re.compile(
    r"(vkCmd\w+)\(\): *\(set = (\d+), binding = (\d+).*?size is (\d+) bytes, (\d+) bytes were bound,.*?access was at \[(\d+)\]"
)
_RULE = re.compile(r"\bVUID-(\w+)-[\w-]+")
_JS = re.compile(r"\bGPUValidationError: (\S.*)")
_WGPU = re.compile(r"wgpu.{0,40}Validation Error|Validation Error\s*$")
MOST_LINES, LONGEST = 8, 160

_SHADER = re.compile(r"Shader (?:'([^']{1,80})')? ?(?:parsing|validation) error: (\S.*)")

def read(near: Near) -> Iterator[Event]:
    if found := _LINE.search(near.text):
        call, group, binding, size, bound, at = found.groups()
        past = int(at[:18]) + 1 - int(bound[:18])
        yield Event(
            kind="shader-out-of-bounds",
            role="fault",
            message=f"The shader of a {call} reaches {past:,} bytes past the {int(bound[:18]):,} bytes bound at set {group}, "
            f"binding {binding}.",
            facts=(("set", group), ("binding", binding)),
            notes=(
                f"the whole buffer has {int(size[:18]):,} bytes: the range that was bound may be too small, or the index too large",
            ),
            causes=("out-of-bounds-access",),
        )
    elif refused := _JS.search(near.text):
        said = f"WebGPU refused a call: {refused[1][:LONGEST].rstrip('.')}."
        yield Event("webgpu-refused", "refusal", said, (("why", refused[1][:120]),), causes=("failed-call",), sure=False)
    elif (rule := _RULE.search(near.text)) and not any(map(_LINE.search, near.after(3))):
        said = f"The validation layer reports that {rule[1]} breaks a rule of Vulkan ({rule[0][:100]})."
        yield Event("vulkan-rule", "refusal", said, (("rule", rule[0][:100]),), causes=("failed-call",), sure=False)
    elif _WGPU.search(near.text) and (why := _why(near)):
        if shader := next(filter(None, map(_SHADER.search, near.after(MOST_LINES))), None):
            said = f"wgpu rejected the shader {shader[1]}: {shader[2][:160].rstrip('.')}."
            facts = (("why", shader[2][:120]),)
            yield Event("shader-rejected", "refusal", said, facts, causes=("kernel-does-not-build",), sure=False, covers=MOST_LINES)
            return
        said = f"wgpu refused a call: {why.rstrip('.')}."
        facts, step = (("why", why[:120]),), _next.OWN["webgpu"]
        yield Event("wgpu-refused", "refusal", said, facts, causes=("failed-call",), next=step, sure=False, covers=MOST_LINES)


def _why(near: Near) -> str:
    """What stands deepest under "Caused by:"; "" for a lost device, which is no refusal."""
    below = near.after(MOST_LINES)
    start = next((n for n, line in enumerate(below) if line.strip().startswith("Caused by")), None)
    if start is None:  # all of it in one line
        behind = near.text.partition("Validation Error")[2].strip(" :'")
        return "" if "lost" in behind else behind[:LONGEST]
    told = []
    for line in below[start + 1 :]:
        if not line.startswith((" ", "\t")):
            break
        told.append(line.strip())
    why = next((line for line in reversed(told) if line), "")
    return "" if "lost" in why else why[:LONGEST]
