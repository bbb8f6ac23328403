"""Does a kernel only read through a pointer that it declares without const? Read from its OpenCL C source.

Answers yes only where every use of the name is a plain load, `name[index]`, inside the kernel's one definition. A pointer
that is copied, passed on, taken the address of, or hidden in a macro may be written through: no answer is given then.
"""

from __future__ import annotations

import re

from gpudx.backends.opencl.signatures import DIRECTIVE, KERNEL, bare

TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|<<=|>>=|[-+*/%&|^=!<>]=|\+\+|--|&&|\|\||<<|>>|->|[^\s\w]")
ASSIGNING = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"))
# What may stand before a load. "&" could take its address, "." and "->" would make it a member.
BEFORE = frozenset(
    "( ) [ { } ; , = + - * / % < > ! ~ ? : | ^ && || == != <= >= << >> += -= *= /= %= &= |= ^= <<= >>= return".split()
)

COMPUTING = frozenset("+ - * / < > <= >= += -= *= /=".split())
FUNCTIONS = frozenset(
    "clamp cos exp exp2 fabs fma fmax fmin fmod log log2 mad mix pow powr rsqrt sin smoothstep sqrt step tanh".split()
)
OF_BITS = frozenset("& | ^ ~ << >> % &= |= ^= %= <<= >>=".split())


def only_reads(source: str, kernel: str, parameter: str) -> bool:
    """True: the kernel surely does not write through this parameter."""
    text = bare(source)
    word = re.compile(rf"\b{re.escape(parameter)}\b")
    if any(word.search(line) or _may_store(line) for line in DIRECTIVE.findall(text)):
        return False
    tokens = TOKEN.findall(DIRECTIVE.sub(" ", text))
    bodies = [_body(tokens, at) for at in _definitions(tokens, kernel)]
    return len(bodies) == 1 and bodies[0] is not None and _loads_only(bodies[0], parameter)


def _body_without_macros(source: str, kernel: str, parameter: str) -> list[str] | None:
    """The words of a kernel that is defined once; None where a macro has a parameter's name in it."""
    text = bare(source)
    if any(re.search(rf"\b{re.escape(parameter)}\b", line) for line in DIRECTIVE.findall(text)):
        return None
    tokens = TOKEN.findall(DIRECTIVE.sub(" ", text))
    bodies = [_body(tokens, at) for at in _definitions(tokens, kernel)]
    return bodies[0] if len(bodies) == 1 else None


def computes_with(source: str, kernel: str, parameter: str) -> bool:
    """True: the kernel surely adds, multiplies, divides or compares this number, and never asks for single bits of it."""
    found = _body_without_macros(source, kernel, parameter)
    if found is None:
        return False
    body = ["{", *found, "}"]
    uses = [at for at, token in enumerate(body) if token == parameter]
    of_bits = any({body[at - 1], body[at + 1]} & OF_BITS for at in uses)
    return not of_bits and any({body[at - 1], body[at + 1]} & COMPUTING or _caller(body, at) in FUNCTIONS for at in uses)


def _caller(body: list[str], at: int) -> str:
    """The function whose argument this word is, "" where it is none, or part of a longer one."""
    if body[at - 1] not in ("(", ",") or body[at + 1] not in (")", ","):
        return ""
    depth = 0
    for begin in range(at - 1, 0, -1):
        depth += (body[begin] == ")") - (body[begin] == "(")
        if depth < 0:
            return body[begin - 1].removeprefix("native_").removeprefix("half_")
    return ""


def only_stored(source: str, kernel: str, parameter: str) -> bool:
    """True: this number is only ever a value that is stored, as in `name[index] = number;`, and never says where the kernel works."""
    body = _body_without_macros(source, kernel, parameter)
    return body is not None and all(_is_stored(body, at) for at, token in enumerate(body) if token == parameter)


def _is_stored(body: list[str], at: int) -> bool:
    """Is it on the right side of a statement that assigns to an element, and no part of an index or a condition?"""
    begin = max((i for i in range(at) if body[i] in (";", "{", "}")), default=-1) + 1
    end = next((i for i in range(at, len(body)) if body[i] == ";"), len(body))
    statement, place = body[begin:end], at - begin
    if len(statement) < 2 or statement[1] != "[" or "?" in statement or "(" in statement[:1]:
        return False
    assigned = _closing(statement, 1, "[", "]") + 1
    return assigned < place and statement[assigned] in ASSIGNING and "[" not in statement[assigned:]


def _may_store(directive: str) -> bool:
    """May a macro turn what looks like a load into a store? `#define STORE(x) x = 1`"""
    value = re.sub(r"^\s*#\s*define\s+\w+(\([^)]*\))?", "", directive)
    return value != directive and ("#" in value or any(t in ASSIGNING or t == "&" for t in TOKEN.findall(value)))


def _definitions(tokens: list[str], kernel: str) -> list[int]:
    """Where the kernel's name stands in a definition: behind a kernel qualifier, before its parameters."""
    found = []
    for at, token in enumerate(tokens[:-1]):
        if token != kernel or tokens[at + 1] != "(":
            continue
        start = at
        while start and tokens[start - 1] not in (";", "}", "{"):
            start -= 1
        found += [at] if any(t in KERNEL for t in tokens[start:at]) else []
    return found


def _body(tokens: list[str], name: int) -> list[str] | None:
    """The tokens between the braces behind the parameters; None for a declaration without them."""
    after = _closing(tokens, name + 1, "(", ")") + 1
    if after >= len(tokens) or tokens[after] != "{":
        return None
    return tokens[after + 1 : _closing(tokens, after, "{", "}")]


def _closing(tokens: list[str], at: int, opens: str, closes: str) -> int:
    depth = 0
    for end in range(at, len(tokens)):
        depth += (tokens[end] == opens) - (tokens[end] == closes)
        if not depth:
            return end
    return len(tokens)


def _loads_only(body: list[str], parameter: str) -> bool:
    return all(_is_load(body, at) for at, token in enumerate(body) if token == parameter)


def _is_load(body: list[str], at: int) -> bool:
    """`name[index]` that is neither assigned to nor the base of something longer, and whose address is not taken."""
    if at + 1 >= len(body) or body[at + 1] != "[" or (body[at - 1] if at else "{") not in BEFORE:
        return False
    end = _closing(body, at + 1, "[", "]") + 1
    while end + 1 < len(body) and body[end] == ".":  # a component of a vector
        end += 2
    return end < len(body) and body[end] not in ASSIGNING and body[end] not in ("[", "->", "(")
