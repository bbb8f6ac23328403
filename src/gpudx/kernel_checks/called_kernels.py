"""Kernels that other kernels call like functions (ViennaCL has some): each gets a copy that is a function, and calls go to the copy.

A kernel of ours has parameters that only a launch can fill, so it cannot be called. Copies come behind the source, where they
move no line; the declaration that calls need is put in front of the kernel, on its own line.
"""

from __future__ import annotations

import re

from gpudx.kernel_checks.syntax import KERNEL, Node, Tree

CALLED = "gdx_called_"
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
Edit = tuple[int, int, str]


def separate(text: str, lines: list[tuple[str, int]], tree: Tree) -> tuple[str, list[tuple[str, int]]] | None:
    """The text and its lines with calls of copies; None: no kernel is called."""
    raw = text.encode("utf-8", "surrogateescape").decode("latin-1")  # libclang counts bytes
    functions = [node for node in tree.declarations if node.kind == "FUNCTION_DECL"]
    kernels = {node.name: node for node in functions if _body(node) and KERNEL.search(raw[node.start : _end(node)])}
    calls = [one for node in functions for one in node.walk() if one.kind == "CALL_EXPR" and one.name in kernels]
    if not calls:
        return None
    edits = [(one.start, one.start, CALLED) for one in calls]
    out = [raw.rstrip("\n")]
    lines = lines[: out[0].count("\n") + 1]
    for name in sorted({one.name for one in calls}):
        node = kernels[name]
        head = ATTRIBUTE.sub("", KERNEL.sub("", raw[node.start : _end(node)]))
        head = re.sub(rf"\b{re.escape(name)}(?=\s*\()", CALLED + name, head, count=1)
        first = next(one for one in functions if one.name == name)
        edits.append((first.start, first.start, " ".join(head.split()) + "; "))
        body = _body(node)
        assert body is not None
        out.append(" ".join(head.split()) + _edited(raw, body.start, body.end, edits[: len(calls)]))
        from_line = raw.count("\n", 0, body.start)
        lines = lines + lines[from_line : raw.count("\n", 0, body.end) + 1]
    out[0] = _edited(out[0], 0, len(out[0]), edits)
    return "\n".join([*out, ""]).encode("latin-1").decode("utf-8", "surrogateescape"), lines


def _body(node: Node) -> Node | None:
    return next((child for child in node.children if child.kind == "COMPOUND_STMT"), None)


def _end(node: Node) -> int:
    """Of what comes before the body."""
    body = _body(node)
    return body.start if body else node.end


def _edited(raw: str, start: int, end: int, edits: list[Edit]) -> str:
    out, at = [], start
    for begin, stop, new in sorted(edit for edit in edits if start <= edit[0] < end):
        out += [raw[at:begin], new]
        at = stop
    return "".join([*out, raw[at:end]])
