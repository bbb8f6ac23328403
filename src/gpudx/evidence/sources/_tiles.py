"""Tiles of the wmma interface: where a source loads and stores them, and how much memory that takes.

CUDA C++ Programming Guide, "Warp Matrix Functions": load_matrix_sync(fragment, pointer, stride) and store_matrix_sync(pointer,
fragment, stride, layout) are made by a whole warp, from shared or global memory. Rows (or columns) of the tile lie `stride`
elements apart, so that a tile of R x C reaches (R - 1) * stride + C elements behind the pointer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpudx.evidence.sources._functions import Function, Source, arguments, calls, joined, matching, statements
from gpudx.evidence.sources._tokens import Token

LOAD, STORE = "load_matrix_sync", "store_matrix_sync"
SIZES = {
    "half": 2, "__half": 2, "__nv_bfloat16": 2, "nv_bfloat16": 2, "float": 4, "double": 8, "int": 4, "char": 1,
    "int8_t": 1, "uint8_t": 1, "precision::tf32": 4, "short": 2, "unsigned": 4,
}  # fmt: skip
SHARED = ("__shared__", "extern")


@dataclass(frozen=True)
class Array:
    """An array that a function declares. `elements` is None where a dimension is not constant."""

    name: str
    line: int
    type: str
    dimensions: tuple[str, ...]
    elements: int | None
    local: bool

    @property
    def shape(self) -> str:
        return " * ".join(self.dimensions)


@dataclass(frozen=True)
class Fragment:
    """Rows and columns as they lie in memory: `rows` are those that lie a stride apart."""

    use: str
    m: int
    n: int
    k: int
    type: str
    layout: str

    def lines(self, layout: str) -> tuple[int, int]:
        """How many lines lie a stride apart, and how long each is."""
        high, wide = {"matrix_a": (self.m, self.k), "matrix_b": (self.k, self.n)}.get(self.use, (self.m, self.n))
        return (wide, high) if "col" in layout else (high, wide)


@dataclass(frozen=True)
class Site:
    """One load or store of a tile in an array of the function itself."""

    source: Source
    function: Function
    call: str
    line: int
    array: Array
    fragment: Fragment | None
    stride: int | None
    layout: str

    @property
    def place(self) -> str:
        return self.source.at(self.line)

    @property
    def reach(self) -> int | None:
        """Elements from the array's start that the tile takes, at least."""
        if self.fragment is None or self.stride is None:
            return None
        lines, length = self.fragment.lines(self.layout)
        return (lines - 1) * self.stride + length

    @property
    def sum(self) -> str:
        """ "15 * 64 + 16 = 976"."""
        assert self.fragment is not None
        lines, length = self.fragment.lines(self.layout)
        return f"{lines - 1} * {self.stride} + {length} = {self.reach:,}"

    @property
    def element(self) -> int | None:
        return SIZES.get(self.array.type)

    @property
    def whole(self) -> int | None:
        """Elements of an array with every line of the tile: lines * stride."""
        if self.fragment is None or self.stride is None:
            return None
        return self.fragment.lines(self.layout)[0] * self.stride

    @property
    def bytes_needed(self) -> int | None:
        return None if self.whole is None or self.element is None else self.whole * self.element

    @property
    def fit(self) -> str:
        """Whether the tile fits into its array, with the arithmetic."""
        array = self.array
        if self.past is None:
            return f"not known here: whether the tile fits into {array.name}"
        if self.past == 0:
            return f"the tile takes {self.sum} elements, and {array.name} has {array.elements:,}: it fits"
        size = f" ({self.past * self.element:,} bytes)" if self.element else ""
        return (
            f"the tile takes {self.sum} elements, {array.name} has {array.shape} = {array.elements:,}: "
            f"{self.past:,} elements{size} are past its end, in any memory"
        )

    @property
    def past(self) -> int | None:
        """Elements behind the end of the array that the tile takes; 0 where it fits."""
        if self.reach is None or self.array.elements is None:
            return None
        return max(0, self.reach - self.array.elements)


def sites(source: Source) -> Iterator[Site]:
    """Loads and stores whose memory is an array that the function declares."""
    if LOAD not in source.text and STORE not in source.text:
        return
    for function in source.functions:
        own = {array.name: array for array in arrays(source, function)}
        fragments = {**_fragment_types(source, source.tokens), **_fragment_types(source, function.body)}
        held = {**_held(function.body, fragments), **fragments}
        for token, given in calls(function.body, LOAD, STORE):
            made = _site(source, function, token, given, own, held)
            if made is not None:
                yield made


def _site(
    source: Source,
    function: Function,
    token: Token,
    given: list[Sequence[Token]],
    own: dict[str, Array],
    held: dict[str, Fragment],
) -> Site | None:
    if len(given) < 3:
        return None
    tile, memory = (given[0], given[1]) if token.text == LOAD else (given[1], given[0])
    array = next((own[word.text] for word in memory if word.kind == "word" and word.text in own), None)
    if array is None:
        return None
    fragment = next((held[word.text] for word in tile if word.text in held), None)
    layout = joined(given[3]) if len(given) > 3 else fragment.layout if fragment else ""
    return Site(source, function, token.text, token.line, array, fragment, source.number(given[2]), layout)


# ---- arrays ----


def arrays(source: Source, function: Function) -> Iterator[Array]:
    for statement in statements(function.body):
        head = _declared(statement)
        if head is None:
            continue
        words = [token.text for token in statement[:head]]
        dimensions = list(_dimensions(statement, head + 1))
        yield Array(
            statement[head].text,
            statement[head].line,
            next((word for word in reversed(words) if word in SIZES), words[-1]),
            tuple(_shown(source, one) for one in dimensions),
            _product(source, dimensions),
            not any(word in SHARED for word in words),
        )


def _declared(statement: Sequence[Token]) -> int | None:
    """Where the name of an array stands in a declaration: behind a type, in front of "[", before anything is done."""
    for at, token in enumerate(statement[:-1]):
        if token.text in ("=", "return", "+=", "->", ".", "<<"):
            return None
        behind = statement[at - 1] if at else None
        type_before = behind is not None and (behind.kind == "word" or behind.text == ">")
        if token.kind == "word" and statement[at + 1].text == "[" and type_before:
            return at
    return None


def _dimensions(statement: Sequence[Token], at: int) -> Iterator[Sequence[Token]]:
    while at < len(statement) and statement[at].text == "[":
        end = matching(statement, at)
        yield statement[at + 1 : end]
        at = end + 1


def _shown(source: Source, tokens: Sequence[Token]) -> str:
    value = source.number(tokens)
    return joined(tokens) if value is None else str(value)


def _product(source: Source, dimensions: list[Sequence[Token]]) -> int | None:
    total = 1
    for one in dimensions:
        value = source.number(one)
        if value is None:
            return None
        total *= value
    return total


# ---- fragments ----


def _fragment_types(source: Source, tokens: Sequence[Token]) -> dict[str, Fragment]:
    """Names of types and variables that are fragments: "typedef fragment<...> X;", "using X = ...", "fragment<...> a, b;"."""
    found: dict[str, Fragment] = {}
    for statement in statements(tokens):
        at = next((i for i, token in enumerate(statement) if token.text == "fragment"), None)
        if at is None or at + 1 >= len(statement) or statement[at + 1].text != "<":
            continue
        end = _angle(statement, at + 1)
        made = _fragment(source, arguments(statement[at + 2 : end]))
        words = [token.text for token in statement[:at]]
        names = (
            [words[words.index("using") + 1]]
            if "using" in words
            else [token.text for token in statement[end + 1 :] if token.kind == "word"]
        )
        found |= dict.fromkeys(names, made) if made else {}
    return found


def _angle(tokens: Sequence[Token], at: int) -> int:
    depth = 0
    for index in range(at, len(tokens)):
        depth += (tokens[index].text == "<") - (tokens[index].text == ">")
        if depth == 0:
            return index
    return len(tokens)


def _fragment(source: Source, given: list[Sequence[Token]]) -> Fragment | None:
    if len(given) < 5:
        return None
    sizes = [source.number(one) for one in given[1:4]]
    if any(one is None for one in sizes):
        return None
    m, n, k = (one or 0 for one in sizes)
    return Fragment(given[0][-1].text, m, n, k, given[4][-1].text, given[5][-1].text if len(given) > 5 else "")


def _held(tokens: Sequence[Token], types: dict[str, Fragment]) -> dict[str, Fragment]:
    """Variables whose type is a fragment's name."""
    found: dict[str, Fragment] = {}
    for statement in statements(tokens):
        if statement[0].text in types and len(statement) > 1:
            found |= {token.text: types[statement[0].text] for token in statement[1:] if token.kind == "word"}
    return found
