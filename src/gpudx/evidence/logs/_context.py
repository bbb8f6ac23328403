"""What a log says about the place of a failure in its own words: rank, step, test, operation, model, device.

Read from the line itself and its neighbours, the nearest first. Nothing is concluded from it: it is repeated, so that people find the
place again.
"""

from __future__ import annotations

import re

from gpudx.evidence.logs._near import Near

Context = tuple[tuple[str, str], ...]
BEFORE, AFTER = 40, 4
# How many lines above count: a rank or device belongs to its line, a step or test to what follows it.
_LOOKED = (
    (
        "rank",
        2,
        re.compile(
            r"\[?\b(?:global_)?[Rr]ank[ =:]{0,2}(\d+)\b|\[\d+,(\d+)\]<std(?:err|out)>|\bworker[ =:]rank[ =:](\d+)"
        ),
    ),
    (
        "process",
        3,
        re.compile(
            r"\bpid[ =:']{1,3}(\d+)|\bprocess (\d+)\b|^==(\d+)==|\[(\d+)\]: segfault|\bPID:? (\d+)|\[[\w.:/-]+\[(\d+)\]"
        ),
    ),
    (
        "device",
        3,
        re.compile(
            r"\bcurrent device: (\d+)|\bcuda:(\d+)\b|\bGPU ?#?(\d+)\b|\bdevice[ =:#]+(\d+)\b|\bgpu id[ =:]+(\d+)",
            re.IGNORECASE,
        ),
    ),
    (
        "operation",
        8,
        re.compile(
            r"compute_forward: (\w+) failed|\b(?:op|operation|operator|OpType)(?:\s*[=:]\s*['\"`]?|\s+['\"`])((?:aten::)?[A-Za-z_]\w{2,60})"
            r"|\b(aten::\w+)|while running (\w{2,40}) node|\bnode[ "
            r"=:]+['\"]([\w/.:-]{3,80})['\"]"
            r"|\bhlo[_ ](?:op|instruction)[ =:]+['\"%]?([\w.-]+)|\bname:['\"]([\w/.:-]{3,80})['\"]"
        ),
    ),
    (
        "test",
        BEFORE,
        re.compile(
            r"\[ RUN +\] ([\w./]+)|^ *Start +\d+: (\S+)|Test +#\d+: (\S+)|((?:[\w./-]+\.py)::[\w\[\]:.-]+)|^test ([\w:]+) \.\.\."
            r"|^FAIL(?:ED)?: (.{3,80}? :: \S+)|^//(\S+:\S+) +(?:FAILED|TIMEOUT)",
            re.MULTILINE,
        ),
    ),
    (
        "step",
        BEFORE,
        re.compile(r"\b(?:global[_ ])?(?:step|iteration|iter)\b[ =:#\]]{1,3}(\d+)|\bstep(\d+)\b", re.IGNORECASE),
    ),
    ("epoch", BEFORE, re.compile(r"\bepoch\b[ =:#]{1,3}(\d+)", re.IGNORECASE)),
    (
        "model",
        BEFORE,
        re.compile(
            r"([\w.-]+\.(?:gguf|safetensors|onnx|engine|tflite|mlmodel))\b|\bmodel(?:_name|_path|[- "
            r"]id)?['\"]?\s*[=:]\s*['\"]?([\w.-]+/[\w.-]+)"
        ),
    ),
)


def context(near: Near) -> Context:
    """What stands nearest, by name; the line itself with its wrappers counts first."""
    raw = near.raw.decode("utf-8", "replace")[:2000]
    above, below = near.before(BEFORE), near.after(AFTER)
    found = []
    for name, far, pattern in _LOOKED:
        for line in (raw, *above[:far], *below):
            if hit := pattern.search(line[:2000]):
                found.append((name, next(filter(None, hit.groups()))[:80]))
                break
    return tuple(found)


def said(found: Context) -> str:
    """ "rank 3, step 120, test Rows.Add"; a process joins logs, and says nothing to a reader by itself."""
    return ", ".join(f"{name} {value}" for name, value in found if name != "process")
