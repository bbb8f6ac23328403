"""Names of C++ templates, which may have thousands of characters, as sentences can have them."""

from __future__ import annotations

import re

LONGEST = 32  # characters of template arguments that stay
MOST = 100  # names in one text
TEMPLATE = re.compile(r"(?:\w+::){0,16}\w+(?=<)")
# A function that is named among the arguments says what a general kernel does: direct_copy_kernel_cuda(at::TensorIteratorBase&).
FUNCTION = re.compile(r"(?<![\w{])(?!operator\b|lambda\b)[A-Za-z_]\w{2,}(?=\()")
LEFT_OUT = "…"


def without_arguments(text: str) -> str:
    """ "unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}, ...>" ->
    "unrolled_elementwise_kernel<direct_copy_kernel_cuda…>": long template arguments are left out, but for a function among them."""
    parts, done = [], 0
    for _ in range(MOST):
        found = TEMPLATE.search(text, done)
        end = _end(text, found.end()) if found else None
        if found is None:
            break
        if end is None or end - found.end() <= LONGEST:
            parts.append(text[done : end or found.end()])
            done = end or found.end()
            continue
        function = FUNCTION.search(text, found.end(), end)
        parts.append(f"{text[done : found.end()]}<{function[0] if function else ''}{LEFT_OUT}>")
        done = end
    return "".join([*parts, text[done:]])


def _end(text: str, start: int) -> int | None:
    """Behind the bracket that closes the one at `start`; None where none does. `->` and the names of operators are no brackets."""
    depth, at = 0, start
    while at < len(text):
        if text.startswith("->", at):
            at += 2
            continue
        if text.startswith("operator", at):
            at += len("operator")
            while at < len(text) and text[at] in "<>=-":
                at += 1
            continue
        depth += {"<": 1, ">": -1}.get(text[at], 0)
        at += 1
        if not depth:
            return at
    return None
