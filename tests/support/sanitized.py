"""The recorder built with AddressSanitizer and UndefinedBehaviorSanitizer, for programs that are not: it is preloaded behind the
sanitizer's library. What a program then prints and returns is as without it, unless the recorder does wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from support.builds import SYMBOLS_ONLY, WARNINGS, Builds, cc, once, tell

if TYPE_CHECKING:
    from cuda_kit import Kit

FLAGS = ("-O1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# Leaks are looked for in the whole process, most of which is not ours.
ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=0"}
# What is asked of the recorder in the same programs.
WAYS: tuple[dict[str, str], ...] = (
    {},
    {"GPUDX_FENCE": "high"},
    {"GPUDX_FENCE": "red", "GPUDX_POISON": "nan"},
    {"GPUDX_WATCH": "1"},
    {"GPUDX_FENCE": "low", "GPUDX_WATCH": "1", "GPUDX_SERIALISE": "1"},
)
AnyKit = TypeVar("AnyKit", bound="Kit")
EARLY = Path(__file__).with_name("before_asan.c")


def named(way: dict[str, str]) -> str:
    return " ".join(f"{name.removeprefix('GPUDX_').lower()}={value}" for name, value in way.items()) or "recorded"


def like(kit: AnyKit) -> AnyKit:
    """One whose recorder is built so."""
    place = kit.folder / "careful"
    place.mkdir()
    return type(kit)(place, kit.shared, careful=True)


def recorder(kit: Builds) -> Path:
    """libgpudx.so. Its dlsym has another name inside: what stands before it is not looked at by sanitizers."""
    objects = [path for path in kit.all_objects(*FLAGS, name="careful") if path.stem not in SYMBOLS_ONLY]
    lookup = next(path for path in objects if path.stem == "driver-lookup")
    place = once(kit.shared / "careful-dlsym", lambda place: _with_early_dlsym(lookup, place))
    others = [path for path in objects if path != lookup]
    return kit.joined("libgpudx.so", [*others, *sorted(place.glob("*.o"))], *FLAGS)


def _with_early_dlsym(lookup: Path, place: Path) -> None:
    """The recorder's object file with its dlsym renamed, and one that stands before it."""
    place.mkdir()
    tell("objcopy", "--redefine-sym", "dlsym=gdx_dlsym_inside", lookup, place / lookup.name)
    cc("-O2", "-fPIC", *WARNINGS, "-c", "-o", place / "before_asan.o", EARLY)


def library() -> Path:
    """The compiler's libasan.so, which has to come before all others."""
    told = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False)
    found = Path(told.stdout.strip())
    if not found.is_absolute():
        pytest.skip("the C compiler has no AddressSanitizer library (libasan)")
    return found


def check(stderr: str) -> None:
    """Where the program's own end is not the same as without us."""
    assert "Sanitizer" not in stderr and "runtime error" not in stderr, stderr
