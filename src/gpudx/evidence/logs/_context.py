"""What a log says about the place of a failure in its own words: rank, step, test, operation, model, device.

Read from the line itself and its neighbours, the nearest first. Nothing is concluded from it: it is repeated, so that people find the
place again.
"""

from __future__ import annotations

import re

from gpudx.evidence.logs._near import Near

Context = tuple[tuple[str, str], ...]
BEFORE, AFTER = 40, 4
# How many lines above count: a rank or device belongs to its line, a step or test to what follows it. A pattern is tried only where
# one of its words, in lower case, is in the lines at all: that is the quickest answer for most of them.
_LOOKED = (
    (
        "rank",
        2,
        ("rank", "<std"),
        re.compile(
            r"\[?\b(?:global_)?[Rr]ank(?:[ =:]{0,2}|: {1,8})(\d+)\b|\[\d+,(\d+)\]<std(?:err|out)>|\bworker[ =:]rank[ =:](\d+)"
        ),
    ),
    # SGLang prefixes the first line of a traceback only, and GROMACS names the rank in the head of its report.
    (
        "rank",
        12,
        (" tp", "mpi rank"),
        re.compile(r"^\[[\d: .-]{10,30} (?:DP\d+ )?TP(\d+)(?: EP\d+)?\]|^MPI rank: +(\d+) \("),
    ),
    (
        "process",
        3,
        ("pid", "process", "==", "segfault", "["),
        re.compile(
            r"\bpid[ =:']{1,3}(\d+)|\bprocess (\d+)\b|^==(\d+)==|\[(\d+)\]: segfault|\bPID:? (\d+)|\[[\w.:/-]+\[(\d+)\]"
        ),
    ),
    (
        "device",
        3,
        ("device", "cuda:", "gpu"),
        re.compile(
            r"\bcurrent device: (\d+)|\bcuda:(\d+)\b|(?-i:\bGPU ?#?|\bGpu |\bgpu[ :#=]+)(0|[1-9]\d{0,2})\b|\bgpu(\d{1,2})[:\])]"
            r"|\bdevice[ =:#]+(\d+)\b(?!:[0-9a-f]{2}:)|\bgpu id[ =:]+(\d+)",
            re.IGNORECASE,
        ),
    ),
    (
        "operation",
        8,
        ("op", "aten::", "node", "forward", "hlo", "name:"),
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
        ("run  ", "start ", "test", ".py::", "fail", "//"),
        re.compile(
            r"\[ RUN +\] ([\w./]+)|^ *Start +\d+: (\S+)|Test +#\d+: (\S+)|((?:[\w./-]+\.py)::[\w\[\]:.-]+)|^test ([\w:]+) \.\.\."
            r"|^FAIL(?:ED)?: (.{3,80}? :: \S+)|^//(\S+:\S+) +(?:FAILED|TIMEOUT)",
            re.MULTILINE,
        ),
    ),
    (
        "step",
        BEFORE,
        ("step", "iter"),
        re.compile(r"\b(?:global[_ ])?(?:step|iteration|iter)\b[ =:#\]]{1,3}(\d+)|\bstep(\d+)\b", re.IGNORECASE),
    ),
    ("epoch", BEFORE, ("epoch",), re.compile(r"\bepoch\b[ =:#]{1,3}(\d+)", re.IGNORECASE)),
    (
        "model",
        BEFORE,
        ("model", ".gguf", ".safetensors", ".onnx", ".engine", ".tflite"),
        re.compile(
            r"([\w.-]+\.(?:gguf|safetensors|onnx|engine|tflite|mlmodel))\b(?!\.\w)|\bmodel(?:_name|_path|[- "
            r"]id)?['\"]?\s*[=:]\s*['\"]?([\w.-]+/[\w.-]+)"
        ),
    ),
)


def context(near: Near) -> Context:
    """What stands nearest, by name; the line itself with its wrappers counts first."""
    raw = near.raw.decode("utf-8", "replace")[:2000]
    above, below = near.before(BEFORE), near.after(AFTER)
    found: list[tuple[str, str]] = []
    whole = "\n".join((raw, *above, *below)).lower()
    for name, far, words, pattern in _LOOKED:
        wanted = any(word in whole for word in words) and not any(name == known for known, _ in found)
        lines = (raw, *above[:far], *below) if wanted else ()
        for line in lines:
            if hit := pattern.search(line[:2000]):
                found.append((name, next(filter(None, hit.groups()))[:80]))
                break
    return tuple(found)


def said(found: Context) -> str:
    """ "rank 3, step 120, test Rows.Add"; a process joins logs, and says nothing to a reader by itself."""
    return ", ".join(f"{name} {value}" for name, value in found if name != "process")
