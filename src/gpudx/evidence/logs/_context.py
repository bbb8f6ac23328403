"""What a log says about the place of a failure in its own words: rank, step, test, operation, model, device.

Read from the line itself and its neighbours, the nearest first. Nothing is concluded from it: it is repeated, so that people find the
place again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from gpudx.evidence.logs._near import Near

Context = tuple[tuple[str, str], ...]
BEFORE, AFTER = 40, 4
LONGEST = 160


class _Looked(NamedTuple):
    """How many lines above and below count for a name: a rank or device belongs to its line, a step or test to what follows it. The
    pattern is tried only where one of its words, in lower case, is in the lines at all: that is the quickest answer for most of them."""

    name: str
    above: int
    below: int
    words: tuple[str, ...]
    pattern: re.Pattern[str]


_LOOKED = (
    _Looked(
        "rank",
        2,
        AFTER,
        ("rank", "<std", "default", "task "),
        re.compile(
            r"\[?\b(?:global_)?[Rr]ank(?:[ =:]{0,2}|: {1,8})(\d+)\b|\[\d+,(\d+)\]<std(?:err|out)>|\bworker[ =:]rank[ =:](\d+)"
            r"|^\[default(\d+)\]:|^\[(\d+)\]<std(?:err|out)>:|\bsrun: error: \S+ task (\d+):"
            r"|\brank +: (\d+) \(local_rank|\blocal_rank: (\d+) \(pid"
        ),
    ),
    # SGLang prefixes the first line of a traceback only, and GROMACS names the rank in the head of its report.
    _Looked(
        "rank",
        12,
        AFTER,
        (" tp", "mpi rank"),
        re.compile(r"^\[[\d: .-]{10,30} (?:DP\d+ )?TP(\d+)(?: EP\d+)?\]|^MPI rank: +(\d+) \("),
    ),
    _Looked(
        "process",
        3,
        AFTER,
        ("pid", "process", "==", "segfault", "["),
        re.compile(
            r"\bpid[ =:']{1,3}(\d+)|\bprocess (\d+)\b|^==(\d+)==|\[(\d+)\]: segfault|\bPID:? (\d+)|\[[\w.:/-]+\[(\d+)\]"
        ),
    ),
    # A list of the devices that there are ("Device 0: NAME") names none of them.
    _Looked(
        "device",
        3,
        AFTER,
        ("device", "cuda:", "gpu", "node-"),
        re.compile(
            r"\bcurrent device: (\d+)|\bcuda:(\d+)\b"
            r"|(?-i:\bGPU ?#?|\bGpu |\bgpu[ :#=]+)(0|[1-9]\d{0,2})\b(?!: [A-Z]\w+ )|\bgpu(\d{1,2})[:\])]"
            r"|\bdevice[ =:#]+(\d+)\b(?!:[0-9a-f]{2}:)(?!(?:: |, name|\) ?: )['\"]?[A-Z])"
            r"|\bgpu id[ =:]+(\d+)|\bon device ['\"]([^'\"]{3,60})['\"]"
            r"|\bdevice name\s*[:=]\s*(\S.{2,60}?)\s*$",
            re.IGNORECASE,
        ),
    ),
    _Looked(
        "operation",
        8,
        AFTER,
        ("op", "aten::", "node", "forward", "hlo", "name:", "ggml_", "layer", "type_", "ne="),
        re.compile(
            r"compute_forward: (\w+) failed|\b(?:op|operation|operator|OpType)(?:\s*[=:]\s*['\"`]?|\s+['\"`])((?:aten::)?[A-Za-z_]\w{2,60})"
            r"|\b(aten::\w+)|while running (\w{2,40}) node|\b[Oo]perator (?:< )?(\w+(?:::\w+)?)(?: >|:)"
            r"|\{\{(?:function_)?node ([\w/.:-]+)\}\}|\b[Nn]ode[ =:]+['\"]([\w/.:-]{3,80})['\"]"
            r"|\b(?i:hlo)[_ ](?:op|instruction)[ =:]+['\"%]*([\w.-]+)|\bname:['\"]([\w/.:-]{3,80})['\"]"
            r"|\b(?:in|of|at) layer ['\"]?(/?\w[\w./:-]{2,80}\w)"
            r"|\b(ggml_(?:sycl|cuda|hip|vk|metal|opencl|cann)_(?:op_|flash_|mul_)\w+)|^\s*([A-Z][A-Z0-9_]{2,40})\((?:\w+=[^=()]{1,40},)\w+="
        ),
    ),
    _Looked("node", 2, 2, ("name:'", "name:\""), re.compile(r"\b[Nn]ame:['\"]([\w/.:-]{3,80})['\"]")),
    _Looked(
        "test",
        BEFORE,
        0,
        ("run  ", "start ", "test", ".py::", "fail", "//", "=== run", "type_", "ne="),
        re.compile(
            r"\[ RUN +\] ([\w./]+)|^ *Start +\d+: (\S+)|Test +#\d+: (\S+)|((?:[\w./-]+\.py)::[\w\[\]:.-]+)|^test ([\w:]+) \.\.\."
            r"|^FAIL(?:ED)?: (.{3,80}? :: \S+)|^//(\S+:\S+) +(?:FAILED|TIMEOUT)|^=== RUN +(\S+)"
            r"|^\s*\d+/\d+ +(\S+:\S+) +(?:FAIL|TIMEOUT)\b|^Test case '([^']+)'\.\."
            r"|^\s*([A-Z][A-Z0-9_]{2,40}\((?:\w+=[^=()]{1,40},)+\w+=[^=()]+\)):",
            re.MULTILINE,
        ),
    ),
    _Looked(
        "step",
        BEFORE,
        0,
        ("step", "iter", "it/s", "s/it"),
        re.compile(
            r"\b(?:global[_ ])?(?:step|iteration|iter|timestep)\b['\"]?[ =:#\]]{1,12}(\d+)|\bstep(\d+)\b|\|\s*(\d+)/\d+ \[\d+:\d\d",
            re.IGNORECASE,
        ),
    ),
    # A table of a simulation, the step in its first column.
    _Looked("step", BEFORE, 0, ("step  ",), re.compile(r"^\s*(\d+)\s+-?\d+\.\d+")),
    _Looked("epoch", BEFORE, 0, ("epoch",), re.compile(r"\bepoch\b[ =:#\[]{1,3}(\d+)", re.IGNORECASE)),
    _Looked(
        "model",
        BEFORE,
        AFTER,
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
    found: dict[str, str] = {}
    whole = "\n".join((raw, *above, *below)).lower()
    for name, far, deep, words, pattern in _LOOKED:
        wanted = name not in found and any(word in whole for word in words)
        lines = (raw, *_nearest(above[:far], below[:deep])) if wanted else ()
        for line in lines:
            if hit := pattern.search(line[:2000]):
                found[name] = next(filter(None, hit.groups()))[:LONGEST]
                break
    if found.get("node") == found.get("operation"):
        found.pop("node", None)
    return tuple(found.items())


def rank_in(raw: bytes) -> str:
    """The rank that a line itself names."""
    if not any(word in raw for word in (b"ank", b"<std", b"[default")):
        return ""
    found = _LOOKED[0].pattern.search(raw[:2000].decode("utf-8", "replace"))
    return next(filter(None, found.groups())) if found else ""


def _nearest(above: list[str], below: list[str]) -> Iterator[str]:
    """The nearest first; of two that are as near, the one above."""
    for pair in zip_longest(above, below):
        yield from (line for line in pair if line is not None)


def said(found: Context) -> str:
    """ "rank 3, step 120, test Rows.Add"; a process joins logs, and says nothing to a reader by itself."""
    return ", ".join(f"{name} {value}" for name, value in found if name != "process")
