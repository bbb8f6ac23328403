"""Names of device functions as their source spells them: the common part of the Itanium C++ ABI's mangling (chapter 5).

Read are nested and templated names, substitutions, function and pointer types, literals, lambdas and operators. What
is not read (expressions in template arguments, decltype, members) leaves the name mangled: a name is either right or
untouched. Hostile names are bounded in depth and length.
"""

from __future__ import annotations

import re
from functools import lru_cache

DEEPEST = 100
LONGEST = 20_000

BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double",
    "e": "long double", "g": "__float128", "z": "...",
}  # fmt: skip
BUILTIN_D = {"n": "decltype(nullptr)", "h": "half", "i": "char32_t", "s": "char16_t", "u": "char8_t", "a": "auto"}
STANDARD = {
    "t": "std", "a": "std::allocator", "b": "std::basic_string", "s": "std::string", "i": "std::istream",
    "o": "std::ostream", "d": "std::iostream",
}  # fmt: skip
OPERATORS = {
    "cl": "()", "ix": "[]", "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%", "an": "&", "or": "|", "eo": "^",
    "aS": "=", "pL": "+=", "mI": "-=", "mL": "*=", "dV": "/=", "ls": "<<", "rs": ">>", "eq": "==", "ne": "!=",
    "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "nt": "!", "aa": "&&", "oo": "||", "pp": "++", "mm": "--",
    "pt": "->", "co": "~",
}  # fmt: skip
SUFFIX = {"j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
HERE = "\x01"  # where a pointer's star goes in the spelling of a function or array type
LOCAL = re.compile(r"\$_Z[^$]+\$(_Z[^$]+)")  # ptxas: a kernel's own copy of a device function
UNNAMED = re.compile(r"_GLOBAL__N_")  # how compilers spell the unnamed namespace, with more or less behind it


class _Unread(Exception):
    """A part of the grammar that is not read here."""


def demangle(name: str) -> str:
    """ "_Z4sinkPfj" -> "sink(float*, unsigned int)"; the name itself when it is not mangled or not understood."""
    return _read(name)[0]


def function_name(name: str) -> str:
    """ "_Z4sinkPfj" -> "sink": the same without return type and parameters."""
    return _read(name)[1]


def parameters(name: str) -> tuple[str, ...] | None:
    """ "_Z4sinkPfj" -> ("float*", "unsigned int"); None when the name is not mangled or not understood."""
    return _read(name)[2]


@lru_cache(maxsize=256)
def _read(name: str) -> tuple[str, str, tuple[str, ...] | None]:
    if local := LOCAL.fullmatch(name):
        return _read(local[1])
    if not name.startswith("_Z") or len(name) > LONGEST:
        return name, name, None
    reader = _Reader(name)
    try:
        bare, text = reader.encoding(0)
    except (_Unread, IndexError, RecursionError):
        return name, name, None
    if reader.at != len(name) or len(text) > LONGEST:
        return name, name, None
    types = reader.types
    return _plain(text), _plain(bare), None if types is None else tuple(_plain(one) for one in types)


def _plain(text: str) -> str:
    return text.replace(f"({HERE}) ", "").replace(f"({HERE})", "").replace(HERE, "")


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 2
        self.known: list[str] = []  # what S_, S0_, ... stand for
        self.arguments: list[str] = []  # what T_, T0_, ... stand for: the template arguments of the function
        self.types: list[str] | None = None  # of the parameters of the function that was read last: the outermost

    # -- the input

    def peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def take(self, wanted: str) -> bool:
        if not self.text.startswith(wanted, self.at):
            return False
        self.at += len(wanted)
        return True

    def need(self, wanted: str) -> None:
        if not self.take(wanted):
            raise _Unread

    def number(self) -> int:
        start = self.at
        while self.peek().isdigit() and self.peek().isascii():
            self.at += 1
        if start == self.at:
            raise _Unread
        if self.at - start > 40:
            raise _Unread
        return int(self.text[start : self.at])

    def sequence(self) -> int:
        """_ is 0, 0_ is 1, ... in base 36."""
        start = self.at
        while self.peek().isalnum():
            self.at += 1
        digits = self.text[start : self.at]
        self.need("_")
        try:
            return int(digits, 36) + 1 if digits else 0
        except ValueError:
            raise _Unread from None

    def remember(self, text: str) -> str:
        if len(text) > LONGEST:
            raise _Unread
        self.known.append(text)
        return text

    # -- names

    def encoding(self, depth: int) -> tuple[str, str]:
        """The function's name alone, and with its parameters."""
        outer, self.arguments = self.arguments, []
        name, templated, qualifiers = self.name(depth, True)
        types = []
        while self.at < len(self.text) and self.peek() != "E":
            types.append(self.type(depth + 1))
        self.arguments = outer
        if not types:
            self.types = None
            return name, name
        returned = types.pop(0) + " " if templated and len(types) > 1 else ""
        self.types = [] if types == ["void"] else types
        return name, f"{returned}{name}({_listed(types)}){qualifiers}"

    def name(self, depth: int, own: bool) -> tuple[str, bool, str]:
        """The name, whether it ends in template arguments (then a return type follows), and its qualifiers.

        `own` says that it is the name of the function itself, whose template arguments its types refer to.
        """
        _check(depth)
        if self.peek() == "N":
            return self.nested(depth, own)
        if self.peek() == "Z":
            return self.local(depth, own)
        if self.peek() == "S" and self.peek(2) != "St":
            text = self.substitution()
        else:
            text = self.unqualified("std" if self.take("St") else "", depth)
            if self.peek() == "I":
                self.remember(text)
        templated = self.peek() == "I"
        return (text + self.template(depth + 1, own) if templated else text), templated, ""

    def nested(self, depth: int, own: bool) -> tuple[str, bool, str]:
        self.need("N")
        qualifiers = ""
        while self.peek() in ("r", "V", "K"):
            qualifiers = {"K": " const", "V": " volatile", "r": " restrict"}[self.peek()] + qualifiers
            self.at += 1
        for mark, text in (("R", " &"), ("O", " &&")):
            qualifiers += text if self.take(mark) else ""
        text, templated = "", False
        while not self.take("E"):
            templated = False
            if self.peek() == "I":
                text, templated = text + self.template(depth + 1, own), True
            elif self.peek() == "S" and not text:
                text = "std" if self.take("St") else self.substitution()
                continue  # already known
            elif self.peek() == "T":
                text = self.parameter()
            else:
                text = self.unqualified(text, depth)
            if self.peek() != "E":
                self.remember(text)
        return text, templated, qualifiers

    def local(self, depth: int, own: bool) -> tuple[str, bool, str]:
        self.need("Z")
        outer = self.encoding(depth + 1)[1]
        self.need("E")
        self.take("s")
        name, templated, qualifiers = self.name(depth + 1, own)
        if self.take("_"):
            self.number()
        return f"{outer}::{name}", templated, qualifiers

    def unqualified(self, outer: str, depth: int) -> str:
        prefix = f"{outer}::" if outer else ""
        self.take("L")  # internal linkage
        if self.peek().isdigit():
            return prefix + self.tags(self.identifier())
        if self.peek(2) in ("C1", "C2", "C3", "C4", "C5", "D0", "D1", "D2", "D4", "D5"):  # 4 and 5: GCC, for several of them at once
            mark = "~" if self.peek() == "D" else ""
            self.at += 2
            return f"{prefix}{mark}{_last_name(outer)}"
        if self.peek(2) in ("Ul", "Ut"):
            return prefix + self.unnamed(depth)
        if self.peek(2) == "cv":
            self.at += 2
            return f"{prefix}operator {self.type(depth + 1)}"
        operator = OPERATORS.get(self.peek(2))
        if operator is None:
            raise _Unread
        self.at += 2
        return self.tags(f"{prefix}operator{operator}")

    def identifier(self) -> str:
        length = self.number()
        text = self.text[self.at : self.at + length]
        if len(text) != length:
            raise _Unread
        self.at += length
        return "(anonymous namespace)" if UNNAMED.match(text) else text

    def tags(self, text: str) -> str:
        while self.peek() == "B":
            self.at += 1
            text += f"[abi:{self.identifier()}]"
        return text

    def unnamed(self, depth: int) -> str:
        if self.take("Ut"):
            return f"{{unnamed type#{self.ordinal()}}}"
        self.need("Ul")
        outer, self.arguments = self.arguments, []  # T_ would be the lambda's own, which has no name
        types = [self.type(depth + 1)]
        while not self.take("E"):
            types.append(self.type(depth + 1))
        self.arguments = outer
        return f"{{lambda({_listed(types)})#{self.ordinal()}}}"

    def ordinal(self) -> int:
        text = "" if self.peek() == "_" else str(self.number())
        self.need("_")
        return int(text) + 2 if text else 1

    def substitution(self) -> str:
        self.need("S")
        if self.peek() in STANDARD:
            text = STANDARD[self.peek()]
            self.at += 1
            return text
        return self.known[self.sequence()]

    def parameter(self) -> str:
        self.need("T")
        return self.arguments[self.sequence()]

    # -- template arguments

    def template(self, depth: int, own: bool = False) -> str:
        _check(depth)
        self.need("I")
        given: list[str] = []
        shown: list[str] = []
        while not self.take("E"):
            text = self.argument(depth + 1)
            given.append(text)
            shown += [_plain(text)] if text else []
        if own:
            self.arguments = given
        inside = ", ".join(shown)
        return f"<{inside}{' ' if inside.endswith('>') else ''}>"

    def argument(self, depth: int) -> str:
        _check(depth)
        if self.peek() == "L":
            return self.literal(depth)
        if self.take("J"):
            parts = []
            while not self.take("E"):
                parts.append(self.argument(depth + 1))
            return ", ".join(parts)
        if self.peek() == "X":
            raise _Unread
        return self.type(depth)

    def literal(self, depth: int) -> str:
        self.need("L")
        if self.take("_Z"):
            text = self.encoding(depth + 1)[1]
            self.need("E")
            return f"&{text}" if "(" in text else text
        code = self.peek()
        kind = self.type(depth + 1)
        sign = "-" if self.take("n") else ""
        if self.take("E"):
            return f"({kind})0" if code == "D" else kind
        value = sign + str(self.number())
        self.need("E")
        if code == "b":
            return {"0": "false", "1": "true"}.get(value, value)
        return value if code == "i" else value + SUFFIX[code] if code in SUFFIX else f"({kind}){value}"

    # -- types

    def type(self, depth: int) -> str:
        _check(depth)
        code = self.peek()
        if code in BUILTIN and code:
            self.at += 1
            return BUILTIN[code]
        if code in "PROKV" and code:
            return self.qualified(depth)
        if code == "F":
            return self.remember(self.function(depth))
        if code == "A":
            return self.remember(self.array(depth))
        if code == "D":
            return self.extended(depth)
        if code == "S" and self.peek(2) != "St":
            text = self.substitution()
            return self.remember(text + self.template(depth + 1)) if self.peek() == "I" else text
        if code == "T":
            text = self.remember(self.parameter())
            return self.remember(text + self.template(depth + 1)) if self.peek() == "I" else text
        if code and (code in "NZ" or code.isdigit() or self.peek(2) == "St"):
            return self.remember(self.name(depth + 1, False)[0])
        raise _Unread

    def qualified(self, depth: int) -> str:
        code = self.peek()
        self.at += 1
        inner = self.type(depth + 1)
        mark = {"P": "*", "R": "&", "O": "&&", "K": " const", "V": " volatile"}[code]
        if code in "RO" and inner.endswith("&"):
            mark, inner = ("&" if code == "R" or not inner.endswith("&&") else "&&"), inner.rstrip("&")
        return self.remember(inner.replace(HERE, mark + HERE) if HERE in inner else inner + mark)

    def function(self, depth: int) -> str:
        self.need("F")
        self.take("Y")
        returned, types = self.type(depth + 1), []
        while not self.take("E"):
            types.append(self.type(depth + 1))
        return f"{returned} ({HERE})({_listed(types)})"

    def array(self, depth: int) -> str:
        self.need("A")
        size = "" if self.peek() == "_" else str(self.number())
        self.need("_")
        return f"{self.type(depth + 1)} ({HERE}) [{size}]"

    def extended(self, depth: int) -> str:
        if self.take("Dp"):
            return self.type(depth + 1)
        if self.take("DF"):
            bits = self.number()
            return f"_Float{bits}" if self.take("_") else self._bfloat(bits)
        name = BUILTIN_D.get(self.peek(2)[1:])
        if name is None:
            raise _Unread
        self.at += 2
        return name

    def _bfloat(self, bits: int) -> str:
        self.need("b")
        return f"std::bfloat{bits}_t"


def _check(depth: int) -> None:
    if depth > DEEPEST:
        raise _Unread


def _listed(types: list[str]) -> str:
    return "" if types == ["void"] else ", ".join(types)


def _last_name(text: str) -> str:
    """ "a::b<c::d>" -> "b"."""
    text = re.sub(r"\[abi:\w+\]", "", text)
    end, depth = len(text), 0
    for at in range(len(text) - 1, -1, -1):
        depth += {">": 1, "<": -1}.get(text[at], 0)
        if depth == 0 and text[at] == "<":
            end = at
        if depth == 0 and text[at] == ":":
            return text[at + 1 : end]
    return text[:end]
