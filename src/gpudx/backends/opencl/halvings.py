"""Reductions of a kernel that halve the number of work-items of a group: `for (uint s = get_local_size(0) / 2; s > 0; s /= 2)`.

Read from words, without a grammar: of a loop whose body does anything else besides, nothing is said.
"""

from __future__ import annotations

import re

from gpudx.backends.opencl.signatures import bare

LOOP = re.compile(
    r"for\s*\(\s*(?:\w+\s+)+(?P<step>\w+)\s*=\s*(?P<size>\w+(?:\s*\(\s*\w*\s*\))?)\s*(?:/\s*2|>>\s*1)[uUlL]*\s*;"
    r"\s*(?P=step)\s*(?:>\s*0|>=\s*1|!=\s*0)?[uUlL]*\s*;"
    r"\s*(?P=step)\s*(?:/=\s*2|>>=\s*1|=\s*(?P=step)\s*(?:/\s*2|>>\s*1))[uUlL]*\s*\)\s*\{"
)
BARRIER = re.compile(r"(?:work_group_)?barrier\s*\([^;]*\)\s*;")
STATEMENT = r"(?P<{0}>\w+)\s*\[\s*{id}\s*\]\s*(?:\S?=)[^;=]*?(?P={0})\s*\[\s*{id}\s*\+\s*{step}\s*\][^;]*;\s*"
FUNCTION = re.compile(r"(?P<name>\w+)\s*\((?P<given>[^(){};]*)\)\s*\{")
LOCAL_SIZE = r"get_local_size\s*\(\s*0\s*\)"


def local_halving(source: str, kernel: str, options: str = "") -> str:
    """The head of such a loop in a kernel, or in a function that it calls; "" where there is none that is understood."""
    text = bare(source)
    bodies = {match["name"]: (match["given"], _block(text, match.end() - 1)) for match in FUNCTION.finditer(text)}
    if kernel not in bodies:
        return ""
    own = bodies[kernel][1]
    for name, (given, body) in bodies.items():
        loop = next((one for one in LOOP.finditer(body) if _only_adds(_block(body, one.end() - 1), one["step"])), None)
        if loop is None or (name != kernel and not re.search(rf"\b{name}\s*\(", own)):
            continue
        if _is_local_size(body, loop["size"]) or (name != kernel and _is_passed(own, name, given, loop["size"])):
            return " ".join(loop[0].rstrip("{ \n").split())
    return ""


def _block(text: str, at: int) -> str:
    """What is between a brace and its partner."""
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] == "{") - (text[end] == "}")
        if not depth:
            return text[at + 1 : end]
    return ""


def _only_adds(body: str, step: str) -> bool:
    """Does a work-item below the step take the element that lies a step further, and is that all?"""
    rest = BARRIER.sub("", body).strip()
    condition = re.match(rf"if\s*\(\s*(\w+)\s*<\s*{step}\s*\)\s*\{{?\s*", rest)
    if condition is None:
        return False
    statements = "".join(f"(?:{STATEMENT.format(f'a{n}', id=condition[1], step=step)})" + ("?" if n else "") for n in range(3))
    return re.fullmatch(rf"{statements}\}}?\s*", rest[condition.end() :]) is not None


def _is_local_size(body: str, text: str) -> bool:
    if re.fullmatch(LOCAL_SIZE, text):
        return True
    assigned = re.findall(rf"\b{re.escape(text)}\s*=(?!=)\s*([^,;]*)", body)
    return len(assigned) == 1 and re.fullmatch(rf"(?:\(\s*\w+\s*\)\s*)?{LOCAL_SIZE}\s*", assigned[0]) is not None


def _is_passed(own: str, name: str, given: str, text: str) -> bool:
    """Is the parameter of this name the local size in every call by the kernel?"""
    names = [one.split()[-1].lstrip("*") if one.split() else "" for one in given.split(",")]
    calls = [[part.strip() for part in call.split(",")] for call in re.findall(rf"\b{name}\s*\(((?:[^()]|\([^()]*\))*)\)", own)]
    at = names.index(text) if text in names else -1
    return at >= 0 and bool(calls) and all(len(call) == len(names) and _is_local_size(own, call[at]) for call in calls)
