"""OpenCL C as a tree: libclang's cursors, read once into light nodes."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from typing import Any

from gpudx.errors import UserError
from gpudx.kernel_checks import base_header
from gpudx.kernel_checks.errors import INSTALL, Unsupported

NEEDED = f"The checks inside OpenCL kernels need libclang: {INSTALL}."
MAIN, BASE = "/gpudx/source.cl", "/gpudx/base.h"

# clang_getCursorBinaryOperatorKind and clang_getCursorUnaryOperatorKind (clang-c/Index.h of LLVM 17 and later)
BINARY = dict(
    enumerate("? .* ->* * / % + - << >> <=> < > <= >= == != & ^ | && || = *= /= %= += -= <<= >>= &= ^= |= ,".split())
)
UNARY = dict(enumerate("? x++ x-- ++ -- & * + - ~ ! __real __imag __extension__ co_await".split()))


def available() -> bool:
    try:
        import clang.cindex  # noqa: F401
    except ImportError:
        return False
    return True


def need() -> None:
    if not available():
        raise UserError(NEEDED)


class Node:
    """One cursor. What is asked for rarely is asked for late: most nodes are never edited."""

    __slots__ = ("_cursor", "_end", "_ends", "_start", "_type", "_type_kind", "bare", "children", "kind", "parent")

    def __init__(self, cursor: Any, parent: Node | None, ends: dict[int, tuple[int, int]]) -> None:
        self._cursor = cursor
        self._ends = ends
        self.kind: str = cursor.kind.name
        self.parent = parent
        self.children: list[Node] = []
        self._start = -1
        self._end = -1
        self._type: Any = None
        self._type_kind = ""
        self.bare: Node | None = None  # the same without parentheses and implicit conversions (shape.py)

    def _range(self) -> None:
        lib = _lib()
        extent = lib.clang_getCursorExtent(self._cursor)
        self._start = _offset(lib, lib.clang_getRangeStart(extent))
        self._end = _offset(lib, lib.clang_getRangeEnd(extent))
        while self._end in self._ends and self._start <= self._ends[self._end][0]:
            self._end = self._ends[self._end][1]

    @property
    def start(self) -> int:
        if self._start < 0:
            self._range()
        return self._start

    @property
    def end(self) -> int:
        if self._start < 0:
            self._range()
        return self._end

    @property
    def type(self) -> Any:
        if self._type is None:
            self._type = self._cursor.type
        return self._type

    @property
    def type_kind(self) -> str:
        """POINTER, INT, RECORD: the kind of its type, whatever name the source gives that."""
        if not self._type_kind:
            self._type_kind = str(self.type.get_canonical().kind.name)
        return self._type_kind

    @property
    def name(self) -> str:
        """One character per byte, like the text that it is found in."""
        name = str(self._cursor.spelling)
        return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode("latin-1")

    @property
    def declared(self) -> int:
        """What a reference refers to, as a number that its declaration has, too."""
        return int(self._cursor.referenced.hash) if self._cursor.referenced else 0

    @property
    def number(self) -> int:
        return int(self._cursor.hash)

    @property
    def operator(self) -> str:
        lib = _lib()
        if self.kind == "UNARY_OPERATOR":
            return UNARY.get(lib.clang_getCursorUnaryOperatorKind(self._cursor), "?")
        return BINARY.get(lib.clang_getCursorBinaryOperatorKind(self._cursor), "?")

    @property
    def name_start(self) -> int:
        """Of a declaration: where the text has its name."""
        return _offset(_lib(), self._cursor.location)

    @property
    def function(self) -> Any:
        return self._cursor

    def walk(self) -> list[Node]:
        out, stack = [], [self]
        while stack:
            node = stack.pop()
            out.append(node)
            stack.extend(reversed(node.children))
        return out


_library: Any = None


def _lib() -> Any:
    global _library
    if _library is None:
        from clang import cindex

        _library = cindex.conf.lib
        for name in ("clang_getCursorUnaryOperatorKind", "clang_getCursorBinaryOperatorKind"):
            function = getattr(_library, name)
            function.argtypes, function.restype = [cindex.Cursor], ctypes.c_int
    return _library


def _offset(lib: Any, location: Any) -> int:
    offset = ctypes.c_uint()
    lib.clang_getExpansionLocation(location, None, None, None, ctypes.byref(offset))
    return offset.value


KERNEL = re.compile(r"\b(?:__kernel|kernel)\b")
IDENTIFIER = re.compile(r"[^\W\d][\w\x80-\xff]*")  # a character per byte, so a name may have any above 127


@dataclass(frozen=True)
class Said:
    """One of the compiler's, or a note to it. libclang's own objects must not outlive the module that frees them."""

    text: str
    option: str
    line: int
    offset: int
    notes: tuple[Said, ...]


def _warning(one: Any) -> Said:
    notes = tuple(map(_warning, one.children))
    return Said(str(one.spelling), str(one.option), int(one.location.line), int(one.location.offset), notes)


def parsed(text: str, version: int, address_bits: int, options: list[str]) -> Any:
    """The translation unit; Unsupported where the source has an error."""
    from clang import cindex

    standard = {200: "CL2.0", 300: "CL3.0"}.get(version, "CL1.2")  # 1.0 and 1.1 are parts of 1.2
    arguments = ["-x", "cl", f"-cl-std={standard}", "-cl-no-stdinc", "-Xclang", "-fdeclare-opencl-builtins"]
    arguments += [] if any(one.startswith("-W") for one in options) else ["-w"]
    arguments += ["-target", "spir-unknown-unknown" if address_bits == 32 else "spir64-unknown-unknown"]
    arguments += ["-Xclang", "-cl-ext=+all", "-include", BASE, "-ferror-limit=1", *options]
    files = [(MAIN, text.encode("utf-8", "surrogateescape")), (BASE, base_header.text(version))]
    try:
        unit = cindex.Index.create().parse(MAIN, args=arguments, unsaved_files=files)
    except cindex.TranslationUnitLoadError:
        raise Unsupported("libclang cannot read it") from None
    for problem in unit.diagnostics:
        if problem.severity >= cindex.Diagnostic.Error:
            raise Unsupported(f"libclang says: {problem.spelling}")
    return unit


class Tree:
    """The declarations of a source. The translation unit lives as long as its cursors are asked."""

    def __init__(self, text: str, version: int, address_bits: int, options: list[str]) -> None:
        from clang import cindex

        lib = _lib()
        lib.clang_getExpansionLocation.argtypes = [cindex.SourceLocation] + [ctypes.c_void_p] * 4
        self._unit = parsed(text, version, address_bits, options)
        self.warnings = [_warning(one) for one in self._unit.diagnostics if one.location.file and one.location.file.name == MAIN]
        self._bytes = text.encode("utf-8", "surrogateescape")
        # (float4)(1.0f) ends for clang before its last parenthesis, and so does all that ends with it: from, to.
        self._ends: dict[int, tuple[int, int]] = {}
        self.declarations = self._read(cindex)

    def _read(self, cindex: Any) -> list[Node]:
        lib = _lib()
        unit = self._unit
        roots: list[Node] = []
        stack: list[Node] = []

        def visit(cursor: Any, parent: Any, into: Any) -> int:
            cursor._tu = unit
            node = Node(cursor, stack[-1] if stack else None, self._ends)
            (stack[-1].children if stack else roots).append(node)
            stack.append(node)
            lib.clang_visitChildren(cursor, callback, None)
            stack.pop()
            if node.kind == "CSTYLE_CAST_EXPR":
                self._complete(node)
            return 1  # go on with the next

        def shallow(cursor: Any, parent: Any, into: Any) -> int:
            cursor._tu = unit
            if stack or lib.clang_Location_isFromMainFile(lib.clang_getCursorLocation(cursor)):
                node = Node(cursor, stack[-1] if stack else None, self._ends)
                (stack[-1].children if stack else roots).append(node)
            return 1

        kind = cindex.callbacks["cursor_visit"]
        callback, outer = kind(visit), kind(shallow)
        lib.clang_visitChildren(unit.cursor, outer, None)
        reached = self._reached(roots)
        for root in roots:
            stack.append(root)
            unused = root.kind == "FUNCTION_DECL" and root.name not in reached
            lib.clang_visitChildren(root._cursor, outer if unused else callback, None)
            stack.pop()
        self.unused = {root.name for root in roots if root.kind == "FUNCTION_DECL"} - reached
        return roots

    def _reached(self, roots: list[Node]) -> set[str]:
        """Functions that kernels call, as far as names tell: libraries of helpers are long, and reading cursors is slow."""
        texts: dict[str, list[str]] = {}
        for root in roots:
            if root.kind == "FUNCTION_DECL":
                texts.setdefault(root.name, []).append(self._bytes[root.start : root.end].decode("latin-1"))
        waiting = [name for name, found in texts.items() if any(KERNEL.search(one.partition("{")[0]) for one in found)]
        reached = set(waiting)
        while waiting:
            for text in texts[waiting.pop()]:
                called = (set(IDENTIFIER.findall(text)) & texts.keys()) - reached
                reached |= called
                waiting += called
        return reached

    def _complete(self, node: Node) -> None:
        start, end = node.start, node.end
        text = self._bytes[start:end]
        missing, at = text.count(b"(") - text.count(b")"), end
        while missing > 0 and at < len(self._bytes) and self._bytes[at : at + 1] in b") \t\n":
            missing -= self._bytes[at : at + 1] == b")"
            at += 1
        if missing == 0 and at > end:
            self._ends[end] = (start, at)
            node._end = at
