"""GGUF files written by hand, in every version and byte order."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

Value = int | float | str | list[int] | list[str]
TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q8_0": 8}


def content(
    keys: Mapping[str, Value],
    tensors: Sequence[tuple[str, Sequence[int], str]] = (),
    *,
    version: int = 3,
    order: str = "<",
) -> bytes:
    """The head of a file; the tensors' data are left out."""
    count = order + ("I" if version == 1 else "Q")

    def text(value: str) -> bytes:
        return struct.pack(count, len(value.encode())) + value.encode()

    def typed(value: Value) -> bytes:
        if isinstance(value, str):
            return struct.pack(f"{order}I", 8) + text(value)
        if isinstance(value, float):
            return struct.pack(f"{order}If", 6, value)
        if isinstance(value, int):
            return struct.pack(f"{order}II", 4, value)
        head = struct.pack(f"{order}II", 9, 8 if value and isinstance(value[0], str) else 5)
        items = b"".join(text(one) if isinstance(one, str) else struct.pack(f"{order}i", one) for one in value)
        return head + struct.pack(count, len(value)) + items

    out = b"GGUF" + struct.pack(f"{order}I", version) + struct.pack(count, len(tensors)) + struct.pack(count, len(keys))
    out += b"".join(text(key) + typed(value) for key, value in keys.items())
    for name, shape, kind in tensors:
        out += text(name) + struct.pack(f"{order}I", len(shape)) + b"".join(struct.pack(count, n) for n in shape)
        out += struct.pack(f"{order}IQ", TYPES[kind], 0)
    return out


def llama(n_embd: int = 64, n_ff: int = 14336, heads: int = 4, **more: Value) -> dict[str, Value]:
    keys: dict[str, Value] = {
        "general.architecture": "llama",
        "llama.block_count": 2,
        "llama.embedding_length": n_embd,
        "llama.feed_forward_length": n_ff,
        "llama.attention.head_count": heads,
        "llama.rope.freq_base": 10000.0,
    }
    return {**keys, **{name.replace("__", "."): value for name, value in more.items()}}


def weights(n_embd: int = 64, n_ff: int = 14336, kind: str = "F32") -> list[tuple[str, Sequence[int], str]]:
    return [("blk.0.ffn_up.weight", (n_embd, n_ff), kind), ("blk.0.ffn_down.weight", (n_ff, n_embd), kind)]


def write(path: Path, keys: Mapping[str, Value], tensors: Sequence[tuple[str, Sequence[int], str]] = ()) -> Path:
    path.write_bytes(content(keys, tensors))
    return path
