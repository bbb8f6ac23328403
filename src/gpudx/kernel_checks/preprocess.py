"""The preprocessor of OpenCL C: one text without macros, and the file and line that each of its lines came from.

The rewriter edits expressions where they stand, which cannot be done inside a macro. Whatever only the driver could know
(a macro of a vendor's in a condition, an include that is not found) makes the source unsupported: a guess could compile
another program than the driver does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpudx.kernel_checks.errors import Unsupported

DEEPEST_INCLUDE = 32
LONGEST_OUTPUT = 4 << 20
MOST_TOKENS = 400_000  # of macro expansions: a few lines can ask for billions

TOKEN = re.compile(
    r"""(?P<space>[ \t\f\v]+)
      | (?P<ident>[^\W\d]\w*|\$\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<char>'(?:[^'\\\n]|\\.)*')
      | (?P<punct>\#\#|<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s\w])
    """,
    re.X,
)
TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.S)
IDENT = re.compile(r"[^\W\d]\w*")
RESERVED = re.compile("__|_[A-Z]")  # for compilers (C99, 7.1.3)
GUARD = re.compile(
    r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)[^\n]*\n\s*#[ \t]*define[ \t]+\1[ \t]*1?[ \t]*$", re.M
)  # of an include
DIRECTIVE = re.compile(r"\s*(?:#|%:)\s*([A-Za-z_]\w*)?(.*)", re.S)
# Defined by compilers of other vendors alone; a condition on them is false on devices that are not theirs.
VENDORS = {
    "__NV_CL_C_VERSION": "nvidia",
    "__CUDA_ARCH__": "nvidia",
    "__CUDACC__": "cuda",
    "__HIPCC__": "hip",
    "__HIP_DEVICE_COMPILE__": "hip",
    "__AMD__": "advanced micro",
    "__AMDGCN__": "advanced micro",
    "__GFX9__": "advanced micro",
    "__APPLE__": "apple",
    "__METAL__": "apple",
    "__METAL_VERSION__": "apple",
    "__METAL_MACOS__": "apple",
    "__QCOM__": "qualcomm",
    "QUALCOMM": "qualcomm",
    "__OPENCL_CPP_VERSION__": "c++ for opencl",
    "__cplusplus": "c++",
    "_MSC_VER": "microsoft",
    "_WIN32": "microsoft",
}


# Defined by compilers for these processors alone; a device in this machine has none of another kind.
CPUS = re.compile(
    r"(?P<ppc>_*(?:powerpc|PPC|ppc)(?:64|64le)?_*)$|(?P<sparc>__sparc\w*)$|(?P<mips>__mips\w*)$|(?P<s390>__s390\w*)$|(?P<ia64>__ia64\w*)$"
)


def _machine() -> str:
    """Of this machine, as CPUS calls it; "": none of these."""
    kinds = {"ppc": "ppc", "pow": "ppc", "spa": "sparc", "mip": "mips", "s39": "s390", "ia6": "ia64"}
    return kinds.get(os.uname().machine[:3], "")


@dataclass(frozen=True)
class Macro:
    body: tuple[tuple[str, str], ...]  # kind and text of each token
    params: tuple[str, ...] | None = None  # None: an object-like macro
    variadic: bool = False


@dataclass
class Preprocessed:
    text: str
    lines: list[tuple[str, int]]  # the file ("" is the program's source) and line of each line of `text`
    used: set[str] = field(default_factory=set)


@dataclass
class _Condition:
    taken: bool  # some branch was taken already
    active: bool
    outer: bool
    seen_else: bool = False


def tokens(text: str) -> list[tuple[str, str]]:
    out, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            out.append(("space", " "))
            at += 1
            continue
        out.append((match.lastgroup or "punct", match.group()))
        at = match.end()
    return out


def without_comments(text: str) -> str:
    """Comments become a blank, and keep their line ends."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        return found if found[0] in "\"'" else " " + "\n" * found.count("\n")

    return COMMENT.sub(blank, text)


class Preprocessor:
    """One run over one source."""

    def __init__(
        self,
        defined: Mapping[str, str],
        folders: tuple[Path, ...],
        vendor: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._macros: dict[str, Macro] = {}
        self._folders = folders
        self._vendor = vendor.lower()
        self._headers = headers or {}
        self._out: list[str] = []
        self._from: list[tuple[str, int]] = []
        self._size = 0
        self._expanded = 0
        self._once: set[str] = set()
        self._undefined: set[str] = set()  # by the source itself
        for name, body in defined.items():
            self._define(f"{name} {body}")  # -D 'F(x)=...' defines a macro with parameters

    def define(self, name: str, macro: Macro) -> None:
        self._macros.setdefault(name, macro)

    def run(self, source: str) -> Preprocessed:
        self._file(source, "", 0)
        return Preprocessed("\n".join(self._out) + "\n", self._from)

    # ---- lines ----

    def _file(self, source: str, name: str, depth: int, folder: Path | None = None) -> None:
        if depth > DEEPEST_INCLUDE:
            raise Unsupported("includes are nested too deeply")
        if TRIGRAPH.search(source):
            raise Unsupported("it uses trigraphs")
        conditions: list[_Condition] = []
        shift, told = 0, name
        self._undefined |= set(GUARD.findall(source))
        for number, line, extra in _logical_lines(source.replace("\r\n", "\n").replace("\r", "\n")):
            active = all(one.active for one in conditions)
            if line.lstrip()[:1] == "#" or line.lstrip()[:2] == "%:":
                match = DIRECTIVE.match(line)
                word, rest = (match[1] or "", match[2].strip()) if match else ("", "")
                if word in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
                    self._condition(word, rest, conditions, active)
                elif active and word == "include":
                    self._include(rest, depth, number + shift, folder)
                elif active and word == "line":
                    shift, told = self._line(rest, number, told)
                elif active:
                    self._directive(word, rest, line, told, number + shift)
            elif active:
                self._text(line, told, number + shift, extra)
        self._flush()
        if conditions:
            raise Unsupported("a condition of the preprocessor is not closed")

    def _emit(self, line: str, name: str, number: int) -> None:
        self._size += len(line) + 1
        if self._size > LONGEST_OUTPUT:
            raise Unsupported("it is too long")
        self._out.append(line)
        self._from.append((name, number))

    def _text(self, line: str, name: str, number: int, extra: int) -> None:
        if self._pending is None and not any(word in self._macros or word in SPECIAL for word in IDENT.findall(line)):
            for one in line.split("\n"):
                self._emit(one, name, number)
                number += 1
            return
        if self._pending is not None:
            held, at = self._pending
            line, number, self._pending = held + "\n" + line, at, None
        found = tokens(line.replace("\n", " "))
        if self._open_call(found) and line.count("\n") < 500:
            self._pending = (line, number)  # the macro's arguments go on in the next line
            return
        text = "".join(text for _, text in self._expand(found, frozenset(), name, number))
        self._emit(text, name, number)

    _pending: tuple[str, int] | None = None

    def _open_call(self, found: list[tuple[str, str]]) -> bool:
        """Does the line end within the arguments of a macro?"""
        for at, (kind, text) in enumerate(found):
            macro = self._macros.get(text) if kind == "ident" else None
            if macro is None or macro.params is None:
                continue
            rest = [word for word_kind, word in found[at + 1 :] if word_kind != "space"]
            if not rest:
                return True
            if rest[0] != "(":
                continue
            depth = 0
            for word in rest:
                depth += {"(": 1, ")": -1}.get(word, 0)
                if depth == 0:
                    break
            if depth:
                return True
        return False

    # ---- directives ----

    def _flush(self) -> None:
        if self._pending is not None:
            raise Unsupported("a directive is within the arguments of a macro")

    def _directive(self, word: str, rest: str, line: str, name: str, number: int) -> None:
        self._flush()
        if word == "define":
            self._define(rest)
        elif word == "undef":
            self._macros.pop(rest.split()[0] if rest else "", None)
            self._undefined.add(rest.split()[0] if rest else "")
        elif word == "pragma":
            if rest.split()[:1] == ["once"]:
                self._once.add(name)
            else:
                self._emit("#pragma " + rest.replace("\n", " "), name, number)
        elif word in ("error",):
            raise Unsupported("it has an #error that is reached")
        elif word in ("warning", "", "ident"):
            return
        else:
            raise Unsupported(f"#{word} is not understood")

    def _define(self, rest: str) -> None:
        match = re.match(r"([^\W\d]\w*)(\(([^)]*)\))?(.*)", rest.replace("\n", " "), re.S)
        if match is None:
            raise Unsupported("a #define is not understood")
        body = tuple(_trimmed(tokens(match[4])))
        if match[2] is None:
            self._macros[match[1]] = Macro(body)
            return
        params = tuple(part.strip() for part in match[3].split(",")) if match[3].strip() else ()
        variadic = bool(params) and params[-1].endswith("...")
        if variadic:
            params = (*params[:-1], params[-1].removesuffix("...").strip() or "__VA_ARGS__")
        self._macros[match[1]] = Macro(body, params, variadic)

    def _line(self, rest: str, number: int, name: str) -> tuple[int, str]:
        match = re.fullmatch(
            r'(\d+)\s*(?:"(.*)")?.*',
            "".join(t for _, t in self._expand(tokens(rest), frozenset(), name, number)).strip(),
        )
        if match is None:
            raise Unsupported("a #line is not understood")
        return int(match[1]) - number - 1, match[2] if match[2] is not None else name

    def _include(self, rest: str, depth: int, number: int, beside: Path | None) -> None:
        self._flush()
        spelled = (
            "".join(t for _, t in self._expand(tokens(rest), frozenset(), "", number)).strip()
            if rest[:1] not in '"<'
            else rest
        )
        match = re.match(r'"([^"]+)"|<([^>]+)>', spelled)
        if match is None:
            raise Unsupported("an #include is not understood")
        wanted = match[1] or match[2]
        if wanted in self._once:
            return
        text, folder = self._read(wanted, beside if match[1] else None)
        self._file(text, wanted, depth + 1, folder)

    def _read(self, wanted: str, beside: Path | None) -> tuple[str, Path | None]:
        """The text of a header and its folder; "name" is looked for beside the file that includes it first."""
        if wanted in self._headers:
            return self._headers[wanted], None
        for folder in (*([beside] if beside else []), *self._folders):
            path = folder / wanted
            try:
                if path.is_file():
                    return path.read_text(errors="surrogateescape"), path.parent
            except OSError:
                continue
        raise Unsupported(f"the included file {wanted} is not found")

    # ---- conditions ----

    def _condition(self, word: str, rest: str, conditions: list[_Condition], active: bool) -> None:
        self._flush()
        if word in ("if", "ifdef", "ifndef"):
            holds = active and self._holds(word, rest)
            conditions.append(_Condition(holds, holds, active))
            return
        if not conditions:
            raise Unsupported(f"#{word} without #if")
        last = conditions[-1]
        if word == "endif":
            conditions.pop()
        elif last.seen_else:
            raise Unsupported("#else comes twice")
        elif word == "else":
            last.seen_else = True
            last.active = last.outer and not last.taken
        else:
            last.active = last.outer and not last.taken and self._holds("if", rest)
            last.taken |= last.active

    def _holds(self, word: str, rest: str) -> bool:
        if word == "if":
            return self._value(rest) != 0
        name = rest.split()[0] if rest.split() else ""
        return self._is_defined(name) == (word == "ifdef")

    def _is_defined(self, name: str) -> bool:
        if name in self._macros or name in SPECIAL:
            return True
        return self._ask(name)

    def _ask(self, name: str) -> bool:
        """Whether the driver defines a name that neither the source nor we define. False, or the source is unsupported."""
        if name in self._undefined or not RESERVED.match(name):
            return False  # a name of the program's own; drivers keep to reserved names, and cl_ for extensions
        if name.startswith("__opencl_c_") and self._macros["__OPENCL_C_VERSION__"].body[0][1] < "300":
            return False
        if name.startswith(("__EMBEDDED_PROFILE__", "__IMAGE_SUPPORT__", "__FAST_RELAXED_MATH__")):
            return False
        cpu = CPUS.match(name)
        if cpu is not None and cpu.lastgroup != _machine():
            return False
        vendor = VENDORS.get(name)
        if vendor is not None and (not self._vendor or vendor not in self._vendor):
            return False
        if name.endswith(("_H", "_H_", "_H__", "_CL", "_CL_", "_CL__", "_INCLUDED", "_GUARD")):
            return False
        raise Unsupported(f"it uses {name}, which only the driver's compiler knows")

    def _value(self, text: str) -> int:
        found = [one for one in tokens(text.replace("\n", " ")) if one[0] != "space"]
        replaced: list[tuple[str, str]] = []
        at = 0
        while at < len(found):
            if found[at][1] == "defined":
                at += 1
                paren = at < len(found) and found[at][1] == "("
                at += paren
                name = found[at][1] if at < len(found) else ""
                replaced.append(("number", "1" if self._is_defined(name) else "0"))
                at += 1 + paren
            else:
                replaced.append(found[at])
                at += 1
        expanded = [one for one in self._expand(replaced, frozenset(), "", 0) if one[0] != "space"]
        return _Expression(expanded, self._zero).value()

    def _zero(self, name: str) -> int:
        """A name that is no macro has the value 0, if the driver agrees."""
        self._ask(name)
        return 0

    # ---- expansion ----

    def _expand(
        self, found: list[tuple[str, str]], hidden: frozenset[str], name: str, number: int
    ) -> list[tuple[str, str]]:
        out: list[tuple[str, str]] = []
        at = 0
        while at < len(found):
            kind, text = found[at]
            at += 1
            self._expanded += 1
            if self._expanded > MOST_TOKENS:
                raise Unsupported("its macros expand to too much")
            if kind != "ident" or text in hidden:
                out.append((kind, text))
                continue
            if text in SPECIAL:
                out.append(("number", str(number)) if text == "__LINE__" else ("string", f'"{name}"'))
                continue
            macro = self._macros.get(text)
            if macro is None:
                out.append((kind, text))
                continue
            if macro.params is None:
                body = self._paste(list(macro.body))
                rest = found[at:]
                if _ends_in_call(body, self._macros) and _first(rest) == "(":
                    # what follows belongs to the macro that the body ends with
                    body, at = body + rest, len(found)
                out += self._expand(body, hidden | {text}, name, number)
                continue
            arguments, after = _arguments(found, at)
            if arguments is None:
                out.append((kind, text))
                continue
            at = after
            out += self._expand(self._call(macro, arguments, hidden, name, number), hidden | {text}, name, number)
        return out

    def _call(
        self, macro: Macro, arguments: list[list[tuple[str, str]]], hidden: frozenset[str], name: str, number: int
    ) -> list[tuple[str, str]]:
        params = macro.params or ()
        if macro.variadic:
            tail = arguments[len(params) - 1 :]
            joined: list[tuple[str, str]] = []
            for index, one in enumerate(tail):
                joined += [("punct", ",")] * bool(index) + one
            arguments = [*arguments[: len(params) - 1], joined]
        if len(params) == 0:
            arguments = []
        if len(arguments) < len(params):
            arguments = arguments + [[] for _ in range(len(params) - len(arguments))]
        given = {param: _trimmed(argument) for param, argument in zip(params, arguments, strict=False)}
        full: dict[str, list[tuple[str, str]]] = {}
        body: list[tuple[str, str]] = []
        parts = list(macro.body)
        for at, (kind, text) in enumerate(parts):
            if text == "#" and (word := _first(parts[at + 1 :])) in given:
                spelled = "".join(t for _, t in given[word]).replace("\\", "\\\\").replace('"', '\\"')
                body.append(("string", f'"{spelled}"'))
            elif kind == "ident" and text in given:
                if _last(parts[:at]) == "#":
                    continue
                if _last(parts[:at]) == "##" or _first(parts[at + 1 :]) == "##":
                    body += given[text] or [("empty", "")]
                else:
                    if text not in full:
                        full[text] = self._expand(given[text], hidden, name, number)
                    body += full[text]
            elif text != "#":
                body.append((kind, text))
        return self._paste(body)

    @staticmethod
    def _paste(body: list[tuple[str, str]]) -> list[tuple[str, str]]:
        if not any(text == "##" for _, text in body):
            return body
        out: list[tuple[str, str]] = []
        at = 0
        while at < len(body):
            if body[at][1] == "##":
                while out and out[-1][0] == "space":
                    out.pop()
                at += 1
                while at < len(body) and body[at][0] == "space":
                    at += 1
                left = out.pop()[1] if out else ""
                right = body[at][1] if at < len(body) else ""
                out += tokens(left + right) or [("empty", "")]
            else:
                out.append(body[at])
            at += 1
        return out


SPECIAL = {"__LINE__", "__FILE__"}


def _logical_lines(source: str) -> Iterator[tuple[int, str, int]]:
    """Lines without comments, joined where a backslash or a comment goes on: number, text, further lines."""
    text = without_comments(re.sub(r"\\[ \t]*\n", "\x01", source))
    number = 1
    for line in text.split("\n"):
        extra = line.count("\x01")
        yield number, line.replace("\x01", ""), extra
        number += 1 + extra


def _trimmed(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    start, end = 0, len(found)
    while start < end and found[start][0] == "space":
        start += 1
    while end > start and found[end - 1][0] == "space":
        end -= 1
    return found[start:end]


def _first(found: list[tuple[str, str]]) -> str:
    return next((text for kind, text in found if kind != "space"), "")


def _last(found: list[tuple[str, str]]) -> str:
    return next((text for kind, text in reversed(found) if kind != "space"), "")


def _ends_in_call(body: list[tuple[str, str]], macros: Mapping[str, Macro]) -> bool:
    macro = macros.get(_last(body))
    return macro is not None and macro.params is not None


def _arguments(found: list[tuple[str, str]], at: int) -> tuple[list[list[tuple[str, str]]] | None, int]:
    """The arguments in parentheses from `at` on, and what comes behind; None: there are none."""
    while at < len(found) and found[at][0] == "space":
        at += 1
    if at >= len(found) or found[at][1] != "(":
        return None, at
    depth = 0
    out: list[list[tuple[str, str]]] = [[]]
    while at < len(found):
        kind, text = found[at]
        at += 1
        if text == "(" and kind == "punct":
            depth += 1
            if depth == 1:
                continue
        elif text == ")" and kind == "punct":
            depth -= 1
            if depth == 0:
                return out, at
        elif text == "," and depth == 1 and kind == "punct":
            out.append([])
            continue
        out[-1].append((kind, text))
    return None, at


class _Expression:
    """The value of a condition: C's operators on integers of 64 bits."""

    LEVELS = (
        ("||",),
        ("&&",),
        ("|",),
        ("^",),
        ("&",),
        ("==", "!="),
        ("<", ">", "<=", ">="),
        ("<<", ">>"),
        ("+", "-"),
        ("*", "/", "%"),
    )

    def __init__(self, found: list[tuple[str, str]], unknown: Callable[[str], int]) -> None:
        self._found = found
        self._at = 0
        self._unknown = unknown
        self._depth = 0

    def value(self) -> int:
        result = self._ternary()
        if self._at < len(self._found):
            raise Unsupported("a condition of the preprocessor is not understood")
        return result

    def _peek(self) -> str:
        return self._found[self._at][1] if self._at < len(self._found) else ""

    def _ternary(self) -> int:
        self._depth += 1
        if self._depth > 100:
            raise Unsupported("a condition of the preprocessor is nested too deeply")
        condition = self._binary(0)
        if self._peek() == "?":
            self._at += 1
            first = self._ternary()
            if self._peek() != ":":
                raise Unsupported("a condition of the preprocessor is not understood")
            self._at += 1
            second = self._ternary()
            condition = first if condition else second
        self._depth -= 1
        return condition

    def _binary(self, level: int) -> int:
        if level == len(self.LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._peek() in self.LEVELS[level]:
            operator = self._peek()
            self._at += 1
            left = _apply(operator, left, self._binary(level + 1))
        return left

    def _unary(self) -> int:
        if self._at >= len(self._found):
            raise Unsupported("a condition of the preprocessor is not understood")
        kind, text = self._found[self._at]
        self._at += 1
        if text in "!~-+" and text:
            value = self._unary()
            return {"!": int(not value), "~": ~value, "-": -value, "+": value}[text]
        if text == "(":
            value = self._ternary()
            if self._peek() != ")":
                raise Unsupported("a condition of the preprocessor is not understood")
            self._at += 1
            return value
        if kind == "number":
            try:
                digits = text.rstrip("uUlL")
                return int(digits, 8) if re.fullmatch(r"0[0-7]+", digits) else int(digits, 0)
            except ValueError:
                raise Unsupported("a condition of the preprocessor is not understood") from None
        if kind == "ident":
            if self._peek() == "(":
                raise Unsupported(f"it uses {text}, which only the driver's compiler knows")
            return self._unknown(text)
        raise Unsupported("a condition of the preprocessor is not understood")


def _apply(operator: str, a: int, b: int) -> int:
    if operator in ("/", "%"):
        if b == 0:
            return 0  # in a branch that is not taken; an error otherwise, which the driver tells
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if operator == "/" else a - quotient * b
    if operator in ("<<", ">>"):
        b &= 63
    results: dict[str, Callable[[], int]] = {
        "||": lambda: int(bool(a) or bool(b)), "&&": lambda: int(bool(a) and bool(b)),
        "|": lambda: a | b, "^": lambda: a ^ b, "&": lambda: a & b,
        "==": lambda: int(a == b), "!=": lambda: int(a != b),
        "<": lambda: int(a < b), ">": lambda: int(a > b), "<=": lambda: int(a <= b), ">=": lambda: int(a >= b),
        "<<": lambda: a << b, ">>": lambda: a >> b, "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b,
    }  # fmt: skip
    value = results[operator]() & (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


MOST_LINES = 1_000_000  # a #line may say anything
LINE = re.compile(r'\s*#\s*(?:line\s+)?(\d+)\s*(?:"([^"]*)")?')


def as_numbered(source: str) -> str:
    """The text in which each line stands at the number that its #line directives give it; lines of other files are left out."""
    found: dict[int, str] = {}
    number, own = 0, True
    for text in source.split("\n"):
        number += 1
        if directive := LINE.match(text):
            number, own = int(directive[1]) - 1, not directive[2] and own
        elif own and number < MOST_LINES:
            found[number] = text
    return "\n".join(found.get(at, "") for at in range(1, max(found, default=0) + 1))
