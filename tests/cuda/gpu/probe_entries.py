"""Does the driver of this machine look as the hooks expect? Calls nothing that needs a device.

Says which entries of schema/cuda.toml the driver does not export, and which answers of cuGetProcAddress are not among
its exported functions: calls through those would not be recorded.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import sys
import tomllib
from pathlib import Path

SCHEMA = Path(__file__).resolve().parents[3] / "schema" / "cuda.toml"
FLAGS = (0, 2)  # legacy and per-thread default streams
VERSIONS = (11000, 12000, 12040, 13000)


def names() -> tuple[set[str], set[str]]:
    """(recorded, all) entries."""
    schema = tomllib.loads(SCHEMA.read_text())
    recorded = set()
    for call in schema["call"]:
        recorded |= {call["name"], *(call["name"] + n if n.startswith("_") else n for n in call.get("also", []))}
    return recorded, recorded | {name for group in schema["skip"].values() for name in group}


def address(driver: ctypes.CDLL, name: str) -> int:
    try:
        return ctypes.cast(getattr(driver, name), ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


def answer(driver: ctypes.CDLL, symbol: str, version: int, flags: int) -> int:
    """What cuGetProcAddress gives, 0 if nothing."""
    at, found = ctypes.c_void_p(None), ctypes.c_int(0)
    arguments = (symbol.encode(), ctypes.byref(at), version, ctypes.c_uint64(flags), ctypes.byref(found))
    return (at.value or 0) if driver.cuGetProcAddress_v2(*arguments) == 0 else 0


def main() -> int:
    driver = ctypes.CDLL("libcuda.so.1")
    recorded, every = names()
    exported = {name: address(driver, name) for name in every}
    missing = sorted(name for name in recorded if not exported[name])
    print(f"recorded entries {len(recorded)}, not exported by this driver: {len(missing)} {' '.join(missing)}")
    known: dict[int, list[str]] = {}
    for name, at in exported.items():
        known.setdefault(at, []).append(name)
    folded = [group for at, group in known.items() if at and len(group) > 1]
    print(f"entries that share one address: {len(folded)} groups, for example {sorted(folded)[:4]}")
    symbols = sorted({re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", name) for name in recorded})
    strange = []
    for symbol, version, flags in itertools.product(symbols, VERSIONS, FLAGS):
        at = answer(driver, symbol, version, flags)
        if at and not any(name.startswith(symbol) for name in known.get(at, [])):
            strange.append((symbol, version, flags, known.get(at, [])))
    print(f"answers of cuGetProcAddress that would not be recorded: {len(strange)} {strange[:12]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
