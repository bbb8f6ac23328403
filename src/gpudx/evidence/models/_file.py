"""What a model's file says of its dimensions, whatever its format."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

# The names of fields, as findings spell them: those of GGUF without the architecture.
EMBEDDING = "embedding_length"
FEED_FORWARD = "feed_forward_length"
HEADS = "attention.head_count"
HEADS_KV = "attention.head_count_kv"
HEAD = "attention.key_length"
VOCABULARY = "vocab_size"
CONTEXT = "context_length"
BLOCKS = "block_count"
ROPE = "rope.dimension_count"
ROPE_BASE = "rope.freq_base"


@dataclass(frozen=True)
class Tensor:
    """A tensor as the file lists it. `bytes` is None for types whose size is not known here."""

    name: str
    shape: tuple[int, ...]
    type: str
    bytes: int | None = None


@dataclass(frozen=True)
class ModelFile:
    """The head of a file. A field may have several values, one per block."""

    path: str
    format: str
    architecture: str = ""
    fields: dict[str, tuple[int, ...]] = field(default_factory=dict)
    rope_base: float | None = None
    tensors: tuple[Tensor, ...] = ()
    keys: dict[str, str] = field(default_factory=dict)  # how the file itself spells each field

    @cached_property
    def numbers(self) -> frozenset[int]:
        """All dimensions that the file speaks of: whatever is one of these is no surprise."""
        told = {value for values in self.fields.values() for value in values}
        return frozenset(told | {size for tensor in self.tensors for size in tensor.shape})

    @cached_property
    def sizes(self) -> dict[int, Tensor]:
        """The first tensor of each size in bytes."""
        found: dict[int, Tensor] = {}
        for tensor in self.tensors:
            if tensor.bytes:
                found.setdefault(tensor.bytes, tensor)
        return found

    @cached_property
    def quantisation(self) -> str:
        """The type that most of the numbers are kept in."""
        counts: dict[str, int] = {}
        for tensor in self.tensors:
            counts[tensor.type] = counts.get(tensor.type, 0) + math.prod(tensor.shape)
        return max(counts, key=lambda name: counts[name], default="")

    def summary(self) -> str:
        """For people: what was read."""
        told = [
            f"{name} {'/'.join(map(str, sorted(set(values))[:3]))}" for name, values in self.fields.items() if values
        ]
        base = [f"rope base {self.rope_base:g}"] if self.rope_base else []
        kept = [f"{len(self.tensors):,} tensors, mostly {self.quantisation}"] if self.tensors else []
        return "; ".join([f"{self.format} {self.architecture}".strip(), *told, *base, *kept])


def with_inferred(one: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Fields that follow from others: a head's size, where the file leaves it out."""
    width, heads = one.get(EMBEDDING, ()), one.get(HEADS, ())
    if HEAD not in one and width and heads and heads[0] and width[0] % heads[0] == 0:
        return {**one, HEAD: (width[0] // heads[0],)}
    return one
