"""Safetensors: the list of tensors at the head of the file, and the config.json beside it, which has the dimensions.

Layout: the format section of the safetensors README: eight bytes, little-endian, with the length of a JSON text, then that text.
A config.json may also be given by itself. JSON over 16 MB is refused: its objects take many times as much memory.
"""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any

from gpudx.errors import UserError
from gpudx.evidence.models import _file as names
from gpudx.evidence.models._file import ModelFile, Tensor, with_inferred

SUFFIX = ".safetensors"
CONFIG = "config.json"
MOST_BYTES = 16 << 20
MOST_TENSORS = 50_000
MOST_NUMBER = 1 << 40
BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "U16": 2, "U32": 4, "U64": 8,
    "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1,
}  # fmt: skip
# The spelling of config.json -> ours
FIELDS = {
    "hidden_size": names.EMBEDDING,
    "n_embd": names.EMBEDDING,
    "intermediate_size": names.FEED_FORWARD,
    "num_attention_heads": names.HEADS,
    "num_key_value_heads": names.HEADS_KV,
    "head_dim": names.HEAD,
    "vocab_size": names.VOCABULARY,
    "max_position_embeddings": names.CONTEXT,
    "num_hidden_layers": names.BLOCKS,
    "moe_intermediate_size": "expert_feed_forward_length",
    "shared_expert_intermediate_size": "expert_shared_feed_forward_length",
}


def read(path: Path) -> ModelFile:
    """The tensors of a file and the dimensions of its config. UserError, one sentence, for whatever is neither."""
    try:
        alone = path.name == CONFIG
        config = _object(path.read_bytes() if _is_small(path) else b"") if alone else _beside(path)
        tensors = () if alone else _tensors(path)
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is cut, damaged or too large"
        raise UserError(f"{path} cannot be read as a model ({why}): give the whole, undamaged file.") from None
    fields, spelled = _fields(config)
    base, kind = config.get("rope_theta"), config.get("model_type")
    return ModelFile(
        path=str(path),
        format=CONFIG if alone else "safetensors",
        architecture=kind[:64] if isinstance(kind, str) else "",
        fields=with_inferred(fields),
        rope_base=_number(base),
        tensors=tensors,
        keys=spelled,
    )


def _is_small(path: Path) -> bool:
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
        raise ValueError("not a small plain file")
    return True


def _beside(path: Path) -> dict[str, Any]:
    config = path.parent / CONFIG
    return _object(config.read_bytes()) if config.is_file() and _is_small(config) else {}


def _object(data: bytes) -> dict[str, Any]:
    found = json.loads(data)
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


def _tensors(path: Path) -> tuple[Tensor, ...]:
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError("not a regular file")
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if not 2 <= size <= min(MOST_BYTES, os.fstat(file.fileno()).st_size - 8):
            raise ValueError("the list's length makes no sense")
        listed = _object(file.read(size))
    if len(listed) > MOST_TENSORS:
        raise ValueError("too many tensors")
    return tuple(_tensor(name, one) for name, one in listed.items() if name != "__metadata__")


def _tensor(name: str, one: object) -> Tensor:
    shape, kind = (one.get("shape"), one.get("dtype")) if isinstance(one, dict) else (None, None)
    if not isinstance(shape, list) or not isinstance(kind, str) or not all(map(_is_size, shape)):
        raise ValueError("a tensor without shape or type")
    total = math.prod(shape[:8])
    known = kind in BYTES and len(shape) <= 8 and total < 1 << 50
    return Tensor(name[:256], tuple(shape[:8]), kind[:16], total * BYTES[kind] if known else None)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_NUMBER


def _number(value: object) -> float | None:
    plain = isinstance(value, int | float) and not isinstance(value, bool) and -1e30 < value < 1e30
    return float(value) if plain and isinstance(value, int | float) else None


def _fields(config: dict[str, Any]) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    """Also those of the text part of a model that has several."""
    inner = config.get("text_config")
    merged = {**(inner if isinstance(inner, dict) else {}), **config}
    found: dict[str, tuple[int, ...]] = {}
    spelled: dict[str, str] = {}
    for key, name in FIELDS.items():
        if _is_size(merged.get(key)) and merged[key] > 0 and name not in found:
            found[name], spelled[name] = (int(merged[key]),), key
    return found, spelled
