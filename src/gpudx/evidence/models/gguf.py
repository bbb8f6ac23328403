"""GGUF: the head of the file, in versions 1 to 3, of either byte order. Tensors' data are not read.

Layout: the specification in ggml's docs/gguf.md. Version 1 has counts and lengths of 32 bits, later ones of 64. There is no mark
for the byte order: the version is a small number in the right one. Sizes of quantised blocks: ggml's table of type traits.

Nothing in the file is believed: counts, lengths and depths have limits, what is longer than the file is refused, and of long
arrays (a vocabulary has hundreds of thousands of words) only the number of elements is kept.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from gpudx.errors import UserError
from gpudx.evidence.models import _file as names
from gpudx.evidence.models._file import ModelFile, Tensor, with_inferred

SUFFIX = ".gguf"
MAGIC = b"GGUF"
VERSIONS = (1, 2, 3)
MOST_KEYS = 10_000
MOST_TENSORS = 50_000
MOST_DIMENSIONS = 8  # ggml has 4
LONGEST_NAME = 1024  # of a key or tensor
LONGEST_TEXT = 256  # of a value that is kept
MOST_KEPT = 4096  # elements of an array that is kept: one per block
MOST_WORDS = 4_000_000  # texts in all arrays together
DEEPEST = 4  # arrays in arrays

TEXT, ARRAY, BOOL = 8, 9, 7
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", BOOL: "B", 10: "Q", 11: "q", 12: "d"}
# number: (name, numbers in a block, bytes of a block)
TYPES = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292), 16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4),
    27: ("I64", 1, 8), 28: ("F64", 1, 8), 29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17),
}  # fmt: skip
FIELDS = (
    names.EMBEDDING, names.FEED_FORWARD, names.HEADS, names.HEADS_KV, names.HEAD, names.VOCABULARY, names.CONTEXT,
    names.BLOCKS, names.ROPE, "attention.value_length", "expert_feed_forward_length", "expert_count",
    "expert_shared_feed_forward_length",
)  # fmt: skip
TOKENS = "tokenizer.ggml.tokens"
EMBEDDINGS = "token_embd.weight"

Value = int | float | str | tuple[int, ...]


class _Bad(Exception):
    """What is wrong with the file, completing "because"."""


def read(path: Path) -> ModelFile:
    """The head of a file. UserError, one sentence, for whatever is none."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _Bad("it is not a regular file")
        with path.open("rb") as file:
            return _Head(path, file).model()
    except _Bad as error:
        raise UserError(
            f"{path} cannot be read as a GGUF model because {error}: give the whole, undamaged file."
        ) from None
    except (OSError, ValueError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "its content makes no sense"
        raise UserError(f"{path} cannot be read as a GGUF model ({why}): give the whole, undamaged file.") from None


class _Head:
    """Reads on from the beginning; never past the end, never more than the limits."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file, self._size = path, file, os.fstat(file.fileno()).st_size
        self._at = self._words = 0
        self._lengths: dict[str, int] = {}
        if self._take(4) != MAGIC:
            raise _Bad("it does not begin as one")
        number = self._take(4)
        self._order = next((o for o in "<>" if struct.unpack(f"{o}I", number)[0] in VERSIONS), "")
        if not self._order:
            raise _Bad("its version is not 1, 2 or 3")
        self._version = int(struct.unpack(f"{self._order}I", number)[0])
        self._count = "I" if self._version == 1 else "Q"

    def model(self) -> ModelFile:
        tensors, keys = self._limited("tensors", MOST_TENSORS), self._limited("keys", MOST_KEYS)
        told = dict(self._pairs(keys))
        listed = tuple(self._tensor() for _ in range(tensors))
        architecture = str(told.get("general.architecture", ""))
        fields, spelled = self._fields(told, architecture, listed)
        base = told.get(f"{architecture}.{names.ROPE_BASE}")
        return ModelFile(
            path=str(self._path),
            format=f"GGUF {self._version}{' (big-endian)' if self._order == '>' else ''}",
            architecture=architecture,
            fields=with_inferred(fields),
            rope_base=float(base) if isinstance(base, float | int) else None,
            tensors=listed,
            keys=spelled,
        )

    # ---- bytes ----

    def _take(self, size: int) -> bytes:
        data = self._file.read(size) if size <= self._size - self._at else b""
        if len(data) != size:
            raise _Bad("it ends in the middle of its head")
        self._at += size
        return data

    def _skip(self, size: int) -> None:
        if size > self._size - self._at:
            raise _Bad("it ends in the middle of its head")
        self._at += size
        self._file.seek(self._at)

    def _number(self, kind: str) -> int:
        return int(struct.unpack(self._order + kind, self._take(struct.calcsize(kind)))[0])

    def _limited(self, what: str, most: int, kind: str = "") -> int:
        count = self._number(kind or self._count)
        if count > most:
            raise _Bad(f"it claims {count:,} {what}, which no model has")
        return count

    def _name(self) -> str:
        return self._take(self._limited("letters of a name", LONGEST_NAME)).decode("utf-8", "replace")

    # ---- keys ----

    def _pairs(self, count: int) -> Iterator[tuple[str, Value]]:
        for _ in range(count):
            key, kind = self._name(), self._number("I")
            value = self._value(kind, key)
            if value is not None:
                yield key, value

    def _value(self, kind: int, key: str) -> Value | None:
        """What is worth keeping; None for what was skipped."""
        if kind == TEXT:
            return self._text()
        if kind == ARRAY:
            return self._array(key, DEEPEST)
        return self._scalar(kind)

    def _scalar(self, kind: int) -> int | float:
        if kind not in SCALARS:
            raise _Bad(f"a value is of type {kind}, which does not exist")
        form = self._order + SCALARS[kind]
        value: int | float = struct.unpack(form, self._take(struct.calcsize(form)))[0]
        return value

    def _text(self) -> str | None:
        size = self._number(self._count)
        if size <= LONGEST_TEXT:
            return self._take(size).decode("utf-8", "replace")
        self._skip(size)
        return None

    def _array(self, key: str, depth: int) -> tuple[int, ...] | None:
        kind, count = self._number("I"), self._number(self._count)
        self._lengths.setdefault(key, count)
        if kind in (TEXT, ARRAY):
            self._words += count
            if self._words > MOST_WORDS or not depth:
                raise _Bad("its arrays hold more than any model's")
            for _ in range(count):
                if kind == ARRAY:
                    self._array("", depth - 1)
                else:
                    self._skip(self._number(self._count))
            return None
        if kind not in SCALARS:
            raise _Bad(f"an array is of type {kind}, which does not exist")
        size = struct.calcsize(self._order + SCALARS[kind])
        if count > MOST_KEPT or kind in (6, 12):
            self._skip(count * size)
            return None
        data = self._take(count * size)
        return tuple(int(one) for one in struct.unpack(f"{self._order}{count}{SCALARS[kind]}", data))

    # ---- tensors ----

    def _tensor(self) -> Tensor:
        name, count = self._name(), self._limited("dimensions of a tensor", MOST_DIMENSIONS, "I")
        shape = tuple(self._number(self._count) for _ in range(count))
        kind = self._number("I")
        self._number("Q")  # where its data begin
        label, block, size = TYPES.get(kind, (f"type {kind}", 0, 0))
        total = 1
        for one in shape:
            total *= one
        whole = block and total % block == 0 and total < 1 << 50
        return Tensor(name, shape, label, total // block * size if whole else None)

    def _fields(
        self, told: dict[str, Value], architecture: str, tensors: tuple[Tensor, ...]
    ) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        found: dict[str, tuple[int, ...]] = {}
        spelled = {}
        for name in FIELDS:
            key = f"{architecture}.{name}"
            values = told.get(key)
            values = (values,) if isinstance(values, int) else values
            if isinstance(values, tuple) and values and all(value > 0 for value in values):
                found[name], spelled[name] = values, key
        if names.VOCABULARY not in found and self._lengths.get(TOKENS):
            found[names.VOCABULARY], spelled[names.VOCABULARY] = (self._lengths[TOKENS],), f"the length of {TOKENS}"
        shape = next((tensor.shape for tensor in tensors if tensor.name == EMBEDDINGS), ())
        if names.VOCABULARY not in found and len(shape) == 2:
            found[names.VOCABULARY], spelled[names.VOCABULARY] = (shape[1],), f"the shape of {EMBEDDINGS}"
        return found, spelled
