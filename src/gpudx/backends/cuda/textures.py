"""How a texture object is addressed, from the description that it was created with (CUDA driver API reference, CUDA_TEXTURE_DESC)."""

from __future__ import annotations

FLAGS, NORMALIZED = 16, 2  # where the flags are in the structure; CU_TRSF_NORMALIZED_COORDINATES


def is_normalized(description: bytes) -> bool | None:
    """Do coordinates go from 0 to 1 instead of from 0 to the size? None where the description was not kept."""
    return bool(int.from_bytes(description[FLAGS : FLAGS + 4], "little") & NORMALIZED) if len(description) >= FLAGS + 4 else None
