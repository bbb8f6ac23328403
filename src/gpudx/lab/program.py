"""Programs as files: finding the one a command names, and telling whether the recorder can get into it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from gpudx.errors import UserError

if TYPE_CHECKING:  # slow to import, and not needed to start a program
    from elftools.elf.elffile import ELFFile

NOT_FOUND = 127  # as shells have it
NOT_EXECUTABLE = 126
LONGEST_SCRIPT_CHAIN = 5  # the kernel follows four #! lines

Form = Literal["dynamic", "static", "musl", "other loader", "other machine", "set-user-id", "unreadable", "unknown"]


@dataclass(frozen=True)
class Program:
    """What kind of file a program is, as far as loading the recorder goes.

    `path` is the file that decides: for a script its interpreter. `detail` is the loader or the machine.
    """

    path: str
    form: Form
    detail: str = ""


def find(command: list[str]) -> Path:
    """The file that `command` starts, found as a shell finds it. UserError with a shell's exit status otherwise."""
    if not command or not command[0]:
        raise UserError("There is no command to run: write it after --, as in `gpudx run -- ./app`.")
    name = command[0]
    found = name if "/" in name else shutil.which(name)
    if found is None:
        hint = f" Did you mean ./{name}?" if os.access(name, os.X_OK) else ""
        raise UserError(f"{name}: command not found: check its name and PATH.{hint}", NOT_FOUND)
    _check_executable(found)
    return Path(found)


def _check_executable(name: str) -> None:
    if not os.path.exists(name):
        raise UserError(f"{name}: no such file: check the path of the program.", NOT_FOUND)
    if os.path.isdir(name):
        raise UserError(f"{name} is a directory: name the program inside it.", NOT_EXECUTABLE)
    if not os.access(name, os.X_OK):
        raise UserError(f"{name} is not executable: run `chmod +x {name}` or name its interpreter.", NOT_EXECUTABLE)


def inspect(path: str, lib: Path) -> Program:
    """What kind of file `path` is, following #! lines, compared with the recorder `lib`. Never raises."""
    return _inspect(path, lib, LONGEST_SCRIPT_CHAIN)


def _inspect(path: str, lib: Path, depth: int) -> Program:
    try:
        mode = os.stat(path).st_mode
        with open(path, "rb") as file:
            head = file.read(4096)
            if head.startswith(b"#!") and depth:
                return _inspect(interpreter(head), lib, depth - 1)
            if mode & (stat.S_ISUID | stat.S_ISGID) or _has_capabilities(path):
                return Program(path, "set-user-id")
            return _inspect_elf(path, file, lib) if head.startswith(b"\x7fELF") else Program(path, "unknown")
    except OSError:
        return Program(path, "unreadable")


def interpreter(head: bytes) -> str:
    """The program that a #! line starts; for `#!/usr/bin/env NAME` what env will start."""
    words = os.fsdecode(head[2:].split(b"\n", 1)[0]).split()
    if len(words) > 1 and os.path.basename(words[0]) == "env":
        name = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
        return shutil.which(name) or words[0]
    return words[0] if words else ""


def _has_capabilities(path: str) -> bool:
    """File capabilities make the dynamic loader drop LD_PRELOAD just as set-user-id does."""
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def _inspect_elf(path: str, file: BinaryIO, lib: Path) -> Program:
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        elf = ELFFile(file)
        machine = _machine(elf)
        if machine != _machine_of_file(lib):
            return Program(path, "other machine", machine)
        loader = _loader(elf)
    except (ELFError, ValueError):
        return Program(path, "unknown")
    if not loader:
        return Program(path, "static")
    if "musl" in loader:
        return Program(path, "musl", loader)
    return Program(path, "dynamic" if "/ld-linux" in loader or "/ld64" in loader else "other loader", loader)


def _machine(elf: ELFFile) -> str:
    return f"{elf.get_machine_arch()} {elf.elfclass}-bit"


def _machine_of_file(path: Path) -> str:
    from elftools.elf.elffile import ELFFile

    with path.open("rb") as file:
        return _machine(ELFFile(file))


def _loader(elf: ELFFile) -> str:
    """The dynamic loader that the program asks for; empty for a static one."""
    from elftools.elf.segments import InterpSegment

    found = (segment.get_interp_name() for segment in elf.iter_segments() if isinstance(segment, InterpSegment))
    return str(next(found, ""))


def runs_python(command: Sequence[str]) -> bool:
    """Does the command start Python, by its name or by the #! line of a script?"""
    found = shutil.which(command[0]) if command and "/" not in command[0] else next(iter(command), None)
    try:
        with open(found or "", "rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    name = interpreter(head) if head.startswith(b"#!") else found or ""
    return os.path.basename(name).startswith("python")
