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
DECIDING = frozenset(("if", "for", "while", "switch"))
WORD = re.compile(r"[A-Za-z_]\w*")
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
    """True: the kernel only computes values with this number, also in variables, and never says by it where it works or how often."""
    body = _body_without_macros(source, kernel, parameter)
    return body is not None and _follows_only_values(body, parameter)


def _follows_only_values(body: list[str], parameter: str) -> bool:
    """Is every word that holds the number, or something computed from it, a value: in no index, condition, address or call of a function
    of the program's own?"""
    parts, held, known = _parts(body), {parameter}, set[str]()
    while held != known:
        known = set(held)
        for part in parts:
            found = _taken_by(part, known) if known & set(part) else set[str]()
            if found is None:
                return False
            held |= found
    return True


def _parts(body: list[str]) -> list[list[str]]:
    """Statements, each declarator and each condition by itself. A condition begins with the word before it."""
    parts: list[list[str]] = [[]]
    depth, at = 0, 0
    while at < len(body):
        token = body[at]
        if token in DECIDING and body[at + 1 : at + 2] == ["("]:
            end = _closing(body, at + 1, "(", ")")
            parts += [body[at : end + 1], []]
            at = end + 1
            continue
        depth += (token in "([") - (token in ")]")
        if token in (";", "{", "}", "else", "do") or (token == "," and not depth):
            parts.append([])
        else:
            parts[-1].append(token)
        at += 1
    return parts


def _taken_by(part: list[str], held: set[str]) -> set[str] | None:
    """The names that hold a value that is computed from these after a statement; None where they may say where or how often."""
    if part[0] in DECIDING or {"?", "return"} & set(part):
        return None
    if any(_may_say_where(part, at) for at, word in enumerate(part) if word in held):
        return None
    assigned = next((at for at, word in enumerate(part) if word in ASSIGNING), None)
    if assigned is None or part[assigned] in ("++", "--"):
        return set() if assigned is not None else None
    target, values = part[:assigned], part[assigned + 1 :]
    if not held & set(values):
        return set()
    name = target[target.index("[") - 1] if "[" in target else target[-3] if target[-2:-1] == ["."] else target[-1]
    pointed = "*" in target or "&" in target or "->" in target or set(values) & (ASSIGNING - {"++", "--"})
    return {name} if not pointed and WORD.fullmatch(name) else None


def _may_say_where(part: list[str], at: int) -> bool:
    """Is this word inside brackets, an address, or passed to a function that only the program knows?"""
    opened: list[int] = []
    for place, token in enumerate(part[:at]):
        if token in "([":
            opened.append(place)
        elif token in ")]" and opened:
            opened.pop()
    if any(part[place] == "[" for place in opened):
        return True
    called = [part[place - 1] for place in opened if place and part[place] == "(" and WORD.fullmatch(part[place - 1])]
    before = part[at - 2] if at > 1 else ""
    operand = WORD.fullmatch(before) is not None or before[:1].isdigit() or before in (")", "]")
    addressed = at > 0 and part[at - 1] == "&" and not operand
    return addressed or not all(_is_of_values(one) for one in called)


def _is_of_values(function: str) -> bool:
    name = function.removeprefix("native_").removeprefix("half_")
    return name in FUNCTIONS or name.startswith(("convert_", "as_"))


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
