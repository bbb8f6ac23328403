"""The recorder built with AddressSanitizer and UndefinedBehaviorSanitizer, for programs that are not: it is preloaded behind the
sanitizer's library. What a program then prints and returns is as without it, unless the recorder does wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

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
    """One whose recorder is built so. All kits of a session have the same one."""
    place, shared = kit.folder / "careful", kit.folder.parent / "libgpudx-careful.so"
    place.mkdir()
    made = type(kit)(place, careful=True)
    if not shared.exists():
        shared.symlink_to(made.recorder)
    made.recorder = shared
    return made


def library() -> Path:
    """The compiler's libasan.so, which has to come before all others."""
    told = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False)
    found = Path(told.stdout.strip())
    if not found.is_absolute():
        pytest.skip("the C compiler has no AddressSanitizer library (libasan)")
    return found


def with_early_dlsym(lookup: Path) -> Path:
    """Renames the recorder's dlsym in its object file; one more object file, which stands before it."""
    early = lookup.with_name("before_asan.o")
    subprocess.run(["objcopy", "--redefine-sym", "dlsym=gdx_dlsym_inside", lookup], check=True)
    subprocess.run(["cc", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", "-c", "-o", early, EARLY], check=True)
    return early


def check(stderr: str) -> None:
    """Where the program's own end is not the same as without us."""
    assert "Sanitizer" not in stderr and "runtime error" not in stderr, stderr
