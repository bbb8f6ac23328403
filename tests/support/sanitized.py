"""The recorder built with sanitizers, for programs that are not: it is preloaded behind the sanitizer's library. What a program then
prints and returns is as without it, unless the recorder does wrong.

"address" is AddressSanitizer with UndefinedBehaviorSanitizer, "thread" ThreadSanitizer.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from support.builds import SANITIZERS, SYMBOLS_ONLY, WARNINGS, Builds, cc, once, tell

if TYPE_CHECKING:
    from cuda_kit import Kit

# Leaks are looked for in the whole process, most of which is not ours. Races between what is not instrumented, the program and its
# driver, are theirs.
ENVIRONMENT = {
    "address": {"ASAN_OPTIONS": "detect_leaks=0"},
    "thread": {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1"},
}
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


def named(given: object) -> str | None:
    """What a test is called with these variables; other parameters have names of their own."""
    if isinstance(given, tuple):
        return " ".join(given)
    if not isinstance(given, dict):
        return None
    return " ".join(f"{name.removeprefix('GPUDX_').lower()}={value}" for name, value in given.items()) or "recorded"


def like(kit: AnyKit, sanitizer: str = "address") -> AnyKit:
    """One whose recorder is built so."""
    place = kit.folder / f"careful-{sanitizer}"
    place.mkdir()
    return type(kit)(place, kit.shared, careful=sanitizer)


def recorder(kit: Builds, sanitizer: str) -> Path:
    """libgpudx.so. Its dlsym has another name inside: what stands before it is not looked at by sanitizers."""
    objects = [path for path in kit.sanitized_objects(sanitizer) if path.stem not in SYMBOLS_ONLY]
    lookup = next(path for path in objects if path.stem == "driver-lookup")
    place = once(kit.shared / f"careful-dlsym-{sanitizer}", lambda place: _with_early_dlsym(lookup, place))
    others = [path for path in objects if path != lookup]
    return kit.joined("libgpudx.so", [*others, *sorted(place.glob("*.o"))], *SANITIZERS[sanitizer])


def inside(sanitizer: str, recorder: Path) -> dict[str, str]:
    """The environment in which the recorder and the sanitizer's library are preloaded."""
    return {"LD_PRELOAD": f"{library(sanitizer)} {recorder}", **ENVIRONMENT[sanitizer]}


def _with_early_dlsym(lookup: Path, place: Path) -> None:
    """The recorder's object file with its dlsym renamed, and one that stands before it."""
    place.mkdir()
    tell("objcopy", "--redefine-sym", "dlsym=gdx_dlsym_inside", lookup, place / lookup.name)
    cc("-O2", "-fPIC", *WARNINGS, "-c", "-o", place / "before_asan.o", EARLY)


def library(sanitizer: str) -> Path:
    """The compiler's libasan.so or libtsan.so, which has to come before all others."""
    name = f"lib{sanitizer[0]}san.so"
    told = subprocess.run(["cc", f"-print-file-name={name}"], capture_output=True, text=True, check=False)
    found = Path(told.stdout.strip())
    if not found.is_absolute():
        pytest.skip(f"the C compiler has no {name}")
    return found


def check(stderr: str) -> None:
    """Where the program's own end is not the same as without us."""
    assert "Sanitizer" not in stderr and "runtime error" not in stderr, stderr
