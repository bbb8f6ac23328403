"""Places in a source that are worth another text: what an experiment changes to see whether the program then ends otherwise.

The source is edited where the program wrote it, not as the preprocessor leaves it. What a macro hides is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from gpudx.errors import UserError
from gpudx.kernel_checks import base_header, options, syntax
from gpudx.kernel_checks.errors import Unsupported
from gpudx.kernel_checks.syntax import KERNEL, Node, Tree

MOST_BYTES = 1 << 20
BITS, PRIME, BASIS = (1 << 64) - 1, 0x100000001B3, 0xCBF29CE484222325  # FNV-1a


@dataclass(frozen=True)
class Edit:
    """Other text for the bytes from `start` to `end`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Suspect:
    """One place, with what is changed there."""

    source: str = ""
    function: str = ""
    kernels: tuple[str, ...] = ()  # that run it
    name: str = ""  # of the variable; "" of an expression
    type: str = ""
    line: int = 0
    text: str = ""  # as the source has it
    edits: tuple[Edit, ...] = ()
    used: int = 0  # the line in which it is read, 0 where that is not known
    certain: bool = False  # no condition decides it
    space: str = "private"  # or "local"
    place: tuple[int, int] = (0, 0)  # of `text`, where that is known


def hash_of(source: bytes) -> str:
    """The name of a source for the recorder (native/opencl/edited.h)."""
    value = BASIS
    for byte in source:
        value = (value ^ byte) * PRIME & BITS
    return f"{value:016x}"


def edited(source: str, edits: Iterable[Edit]) -> str:
    """Edits at one place stay in the order in which they are given. Of two that overlap, the first counts."""
    data, out, at = source.encode("utf-8", "surrogateescape"), [], 0
    for edit in sorted(dict.fromkeys(edits), key=lambda one: one.start):
        if edit.start >= at:
            out += [data[at : edit.start], edit.text.encode()]
            at = edit.end
    return b"".join([*out, data[at:]]).decode("utf-8", "surrogateescape")


@cache
def tree_of(source: str, build_options: str, *warnings: str) -> Tree | None:
    """None where the source cannot be read."""
    try:
        version, words = _words(build_options)
        return Tree(source, version, 64, [*words, *warnings]) if len(source) <= MOST_BYTES else None
    except (Unsupported, UserError):
        return None


def compiles(source: str, build_options: str) -> bool:
    """Does libclang take it?"""
    try:
        version, words = _words(build_options)
        return bool(syntax.parsed(source, version, 64, words))
    except (Unsupported, UserError):
        return False


def _words(build_options: str) -> tuple[int, list[str]]:
    """The version of the language, and the options of the compiler."""
    syntax.need()
    given = options.read(build_options)
    words = [f"-D{name}={body}" for name, body in given.defined.items()]
    words += [f"-I{folder}" for folder in given.folders]
    return given.version, words + [f"-D{name}(x)=__builtin_astype((x), {kind})" for name, kind in base_header.macros().items()]


@dataclass(frozen=True)
class Reading:
    """A source with its functions."""

    source: str
    tree: Tree

    @property
    def data(self) -> bytes:
        return self.source.encode("utf-8", "surrogateescape")

    @property
    def functions(self) -> Sequence[Node]:
        found = [one for one in self.tree.declarations if one.kind == "FUNCTION_DECL" and one.name not in self.tree.unused]
        return [one for one in found if any(child.kind == "COMPOUND_STMT" for child in one.children)]

    def kernels(self) -> Mapping[str, tuple[str, ...]]:
        """By function: the kernels that call it, themselves included."""
        calls = {one.name: {node.name for node in one.walk() if node.kind == "CALL_EXPR"} for one in self.functions}
        found: dict[str, list[str]] = {name: [] for name in calls}
        for kernel in (one for one in self.functions if KERNEL.search(self.text(one).partition("{")[0])):
            waiting, seen = [kernel.name], {kernel.name}
            while waiting:
                name = waiting.pop()
                found[name].append(kernel.name)
                waiting += (fresh := (calls[name] & calls.keys()) - seen)
                seen |= fresh
        return {name: tuple(of) for name, of in found.items()}

    def text(self, node: Node) -> str:
        return self.data[node.start : node.end].decode("utf-8", "replace")

    def line(self, offset: int) -> int:
        return self.data.count(b"\n", 0, offset) + 1

    def is_written_out(self, statement: Node, names: Iterable[str]) -> bool:
        """Is a declaration a statement of a block, as the source itself writes it, and not what a macro stands for?"""
        text = self.text(statement)
        above = statement.parent
        return above is not None and above.kind == "COMPOUND_STMT" and text.endswith(";") and all(name in text for name in names)
