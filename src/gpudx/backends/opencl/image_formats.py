"""Channel types of images, and the functions of OpenCL C that are for them (OpenCL C specification, image read and write functions)."""

from __future__ import annotations

# cl.h: channel types from CL_SNORM_INT8 on, by the end of the functions that are for them.
CHANNELS = {
    0x10D0: ("CL_SNORM_INT8", "f"), 0x10D1: ("CL_SNORM_INT16", "f"), 0x10D2: ("CL_UNORM_INT8", "f"), 0x10D3: ("CL_UNORM_INT16", "f"),
    0x10D7: ("CL_SIGNED_INT8", "i"), 0x10D8: ("CL_SIGNED_INT16", "i"), 0x10D9: ("CL_SIGNED_INT32", "i"),
    0x10DA: ("CL_UNSIGNED_INT8", "ui"), 0x10DB: ("CL_UNSIGNED_INT16", "ui"), 0x10DC: ("CL_UNSIGNED_INT32", "ui"),
    0x10DD: ("CL_HALF_FLOAT", "f"), 0x10DE: ("CL_FLOAT", "f"),
}  # fmt: skip
MEANT = {  # the type with channels as wide, that the function is for
    ("CL_UNSIGNED_INT8", "f"): "CL_UNORM_INT8", ("CL_SIGNED_INT8", "f"): "CL_SNORM_INT8", ("CL_UNSIGNED_INT16", "f"): "CL_UNORM_INT16",
    ("CL_SIGNED_INT16", "f"): "CL_SNORM_INT16", ("CL_UNSIGNED_INT32", "f"): "CL_FLOAT", ("CL_SIGNED_INT32", "f"): "CL_FLOAT",
    ("CL_UNORM_INT8", "ui"): "CL_UNSIGNED_INT8", ("CL_UNORM_INT16", "ui"): "CL_UNSIGNED_INT16", ("CL_FLOAT", "ui"): "CL_UNSIGNED_INT32",
    ("CL_SNORM_INT8", "i"): "CL_SIGNED_INT8", ("CL_SNORM_INT16", "i"): "CL_SIGNED_INT16", ("CL_FLOAT", "i"): "CL_SIGNED_INT32",
    ("CL_SIGNED_INT8", "ui"): "CL_UNSIGNED_INT8", ("CL_SIGNED_INT16", "ui"): "CL_UNSIGNED_INT16",
    ("CL_SIGNED_INT32", "ui"): "CL_UNSIGNED_INT32", ("CL_UNSIGNED_INT8", "i"): "CL_SIGNED_INT8",
    ("CL_UNSIGNED_INT16", "i"): "CL_SIGNED_INT16", ("CL_UNSIGNED_INT32", "i"): "CL_SIGNED_INT32",
}  # fmt: skip
