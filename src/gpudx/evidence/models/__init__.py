"""Files that hold a model: their dimensions and tensors, from the head of the file. One file per format."""

from __future__ import annotations

from pathlib import Path

from gpudx.errors import UserError
from gpudx.evidence.models import gguf, safetensors
from gpudx.evidence.models._file import EMBEDDING, FEED_FORWARD, VOCABULARY, ModelFile, Tensor

__all__ = ["EMBEDDING", "FEED_FORWARD", "VOCABULARY", "ModelFile", "Tensor", "is_model", "read"]


def is_model(path: str) -> bool:
    """By its name."""
    return path.endswith((gguf.SUFFIX, safetensors.SUFFIX)) or Path(path).name == safetensors.CONFIG


def read(path: Path) -> ModelFile:
    """UserError, one sentence, for whatever is no model."""
    if not path.is_file():
        raise UserError(f"There is no model at {path}: give a .gguf or .safetensors file, or a config.json.")
    if path.suffix == safetensors.SUFFIX or path.name == safetensors.CONFIG:
        return safetensors.read(path)
    return gguf.read(path)
