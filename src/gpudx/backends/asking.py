"""What makes compilers of device code tell what each kernel takes, without a change to the build's own files.

NVCC_APPEND_FLAGS: nvcc's documentation, "NVCC Environment Variables". HIPCC_COMPILE_FLAGS_APPEND: hipcc's documentation,
"Environment variables". The code that is made stays the same; the compilers say more.
"""

from __future__ import annotations

from collections.abc import Mapping

FLAGS = {
    "NVCC_APPEND_FLAGS": "-Xptxas -v",
    "HIPCC_COMPILE_FLAGS_APPEND": "-Rpass-analysis=kernel-resource-usage",
}


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The variables, behind what the user has put there."""
    return {name: f"{given.get(name, '')} {flags}".strip() for name, flags in FLAGS.items()}
