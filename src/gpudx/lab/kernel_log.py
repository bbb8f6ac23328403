"""What drivers of GPUs write into the kernel's log while a program runs: the address of a fault, a reset.

NVIDIA's driver logs "NVRM: Xid ... faulted @ ADDRESS" for a fault that the program itself only gets as an error code, and AMD's
logs page faults alike. The log is read from /dev/kmsg (Linux, Documentation/ABI/testing/dev-kmsg), where this user may; the
program does not notice. Lines of other drivers are not kept.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

DEVICE = "/dev/kmsg"
DRIVERS = re.compile(r"NVRM|\bnvidia|amdgpu|\bkfd|\[drm|\bi915|\bxe \d|kgsl|mali|panfrost|panthor", re.IGNORECASE)
LONGEST = 8192  # the kernel gives one record at a time, and none is longer
MOST = 2000
FIRST_NAMESPACE = 0xEFFFFFFC  # the number of the host's namespace of processes (Linux, include/linux/proc_ns.h)


class KernelLog:
    """Opened before the program starts; `keep` writes what has come since."""

    def __init__(self, device: str = DEVICE) -> None:
        self._file = -1
        with contextlib.suppress(OSError):
            self._file = os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._file, 0, os.SEEK_END)

    def __enter__(self) -> KernelLog:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def keep(self, folder: Path) -> None:
        """Writes the new lines of GPU drivers into a file of the folder, as dmesg prints them; no file where there are none."""
        if self._file < 0:
            return
        lines = [line for line in self._new() if DRIVERS.search(line)]
        if lines:
            from gpudx.trace.kernel_log import (  # with numpy, which is not loaded before the program starts
                ELSEWHERE,
                NAME,
            )

            lines = [*([] if _own_numbers() else [ELSEWHERE]), *lines]
            with contextlib.suppress(OSError):  # a full disk: the program's own record matters more
                (folder / NAME).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _new(self) -> list[str]:
        found: list[str] = []
        while len(found) < MOST:
            try:
                record = os.read(self._file, LONGEST)
            except BlockingIOError:
                break
            except BrokenPipeError:
                continue  # the kernel has overwritten the next records: it goes on with the oldest it still has
            except OSError:
                break
            if not record:
                break
            # A line that begins with a space has further fields of the record before it.
            lines = record.decode("utf-8", "replace").splitlines()
            found += (_line(line) for line in lines if not line.startswith(" "))
        return found


def _own_numbers() -> bool:
    """Does the kernel call processes by the numbers that they have here? Not in a container."""
    with contextlib.suppress(OSError):
        return os.stat("/proc/self/ns/pid").st_ino == FIRST_NAMESPACE
    return True


def _line(record: str) -> str:
    """ "6,339,5140900,-;NVRM: ..." as "[    5.140900] NVRM: ..."."""
    head, _, text = record.partition(";")
    fields = head.split(",")
    at = int(fields[2]) if len(fields) > 2 and fields[2].isdigit() else 0
    return f"[{at / 1e6:12.6f}] {text}"
