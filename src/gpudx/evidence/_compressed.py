"""Compressed device code: zlib by Python itself, zstd and LZ4 by the system's own libraries.

libzstd.so.1 and liblz4.so.1 are part of every common Linux system, because package managers and init systems need them; so no
dependency is asked for. Where one is missing, that is said. Output is bounded by the size that the container promises, and that
size by how much the input can reasonably hold.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Callable
from functools import cache
from typing import Literal

Method = Literal["zlib", "zstd", "lz4"]
LIBRARIES = {"zstd": ("libzstd.so.1", "libzstd1"), "lz4": ("liblz4.so.1", "liblz4-1")}  # file, Debian's package
LARGEST = 1 << 30
BEST = 1000  # device code does not shrink further, paddings of zeros included
SMALL = 1 << 20  # promises up to this size are always kept


class Unreadable(ValueError):
    """Why something cannot be read, as a sentence without its subject: "is damaged"."""


def unpack(method: Method, data: bytes, size: int) -> bytes:
    """What `data` was before, which must be exactly `size` bytes. Raises Unreadable."""
    if size > min(LARGEST, max(SMALL, BEST * len(data))):
        raise Unreadable(f"promises {size:,} bytes out of {len(data):,} compressed ones, which is implausible")
    made = {"zlib": _zlib, "zstd": _zstd, "lz4": _lz4}[method](data, size)
    if made is None or len(made) != size:
        raise Unreadable(f"is damaged: it does not unpack to the {size:,} bytes that it promises")
    return made


def _zlib(data: bytes, size: int) -> bytes | None:
    try:
        return zlib.decompressobj().decompress(data, size + 1)
    except zlib.error:
        return None


def _zstd(data: bytes, size: int) -> bytes | None:
    """zstd.h: ZSTD_decompress gives a size, or an error in the last values of size_t."""
    call = _function("zstd", "ZSTD_decompress", ctypes.c_size_t, (*_BUFFERS,))
    room = ctypes.create_string_buffer(size + 1)
    made = call(room, size, data, len(data))
    return ctypes.string_at(room, size) if made == size else None


def _lz4(data: bytes, size: int) -> bytes | None:
    """lz4.h: LZ4_decompress_safe gives a size, or a negative number."""
    kinds = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
    call = _function("lz4", "LZ4_decompress_safe", ctypes.c_int, kinds)
    room = ctypes.create_string_buffer(size + 1)
    made = call(data, room, len(data), size)
    return ctypes.string_at(room, size) if made == size else None


_BUFFERS = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)


def _function(method: str, name: str, gives: type, takes: tuple[type, ...]) -> Callable[..., int]:
    library = _library(method)
    if library is None:
        file, package = LIBRARIES[method]
        raise Unreadable(f"is compressed with {method}, and {file} is not installed (apt install {package})")
    found = library[name]
    found.restype, found.argtypes = gives, takes
    return found


@cache
def _library(method: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(LIBRARIES[method][0])
    except OSError:
        return None
