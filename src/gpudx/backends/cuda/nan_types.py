"""Which parameters of a CUDA kernel lead to floating-point numbers, by its symbol: what the scan for the first NaN looks at.

A letter for each parameter: f float, d double, h half, b bfloat16, 8 fp8 e4m3, 5 fp8 e5m2, - nothing to look at, ? not known.
A structure by value is known by the first type in its own template arguments;
one that hides the type (an array of char*) by that of the kernel, if it
names only one.
"""

from __future__ import annotations

import re

from gpudx.backends.cuda.types import signature
from gpudx.backends.cxx_symbols import SCALARS

KINDS = {
    "float": "f", "double": "d", "__half": "h", "half": "h", "_Float16": "h", "__half2": "h", "c10::Half": "h",
    "__nv_bfloat16": "b", "__nv_bfloat162": "b", "c10::BFloat16": "b", "__nv_fp8_e4m3": "8", "__nv_fp8_e5m2": "5",
    "c10::Float8_e4m3fn": "8", "c10::Float8_e5m2": "5",
}  # fmt: skip
VECTOR = re.compile(r"(float|double)[234]$")
IN_NAMES = {
    "f": re.compile(r"(?<![a-z])(float32|fp32|f32|float|sgemm)(?![0-9])"),
    "d": re.compile(r"(?<![a-z])(float64|fp64|f64|double|dgemm)(?![0-9])"),
    "h": re.compile(r"(?<![a-z])(float16|fp16|f16|half|hgemm)(?![0-9])"),
    "b": re.compile(r"(?<![a-z])(bfloat16|bf16)(?![0-9])"),
}
WORDS = re.compile(r"[A-Za-z_][A-Za-z0-9_:]*(?: [a-z]+)*")


def letters(symbol: str) -> tuple[str, str]:
    """Kinds, and for each parameter w, or r if the kernel may only read what it points to; a single "*" where the symbol has no
    parameters: it stands for all of them."""
    told = signature(symbol)
    if told.parameters is None:
        found = [kind for kind, pattern in IN_NAMES.items() if pattern.search(symbol.lower())]
        return f"*{found[0] if len(found) == 1 else '?'}", "w"
    named = {kind for word in WORDS.findall(told.text.partition("(")[0]) if (kind := _kind(word))}
    only = named.pop() if len(named) == 1 else "?"
    kinds = [_of_parameter(one.type, one.pointer, only) for one in told.parameters]
    return "".join(kinds), "".join("r" if one.const else "w" for one in told.parameters)


def _kind(name: str) -> str:
    bare = VECTOR.sub(r"\1", " ".join(re.sub(r"\b(const|volatile)\b", " ", name).split()))
    return KINDS.get(bare, "")


def _of_parameter(text: str, pointer: bool, only: str) -> str:
    if pointer:
        bare = text.rstrip("*& ").removesuffix(" const")
        kind = _kind(bare)
        return kind if kind and text.count("*") == 1 else "?" if bare in ("void", "char") and only == "?" else "-"
    if "<" not in text:
        return "-" if " ".join(text.split()) in SCALARS else only
    inner = next((word for word in WORDS.findall(text.partition("<")[2]) if word not in ("const", "volatile")), "")
    if inner.startswith("char"):
        return only
    return _kind(inner) or ("-" if inner in SCALARS else only)
