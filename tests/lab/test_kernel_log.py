"""Lines of GPU drivers in the kernel's log are kept beside the traces."""

from __future__ import annotations

import os
from pathlib import Path

from gpudx.lab.kernel_log import KernelLog
from gpudx.trace.kernel_log import NAME, read_log

XID = "NVRM: Xid (PCI:0000:00:06): 31, pid=7, name=app, channel 0x0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS"


def test_new_lines_of_gpu_drivers_are_kept(tmp_path: Path) -> None:
    device = tmp_path / "kmsg"
    os.mkfifo(device)
    with KernelLog(str(device)) as log:
        writer = os.open(device, os.O_WRONLY)
        os.write(writer, f"4,10,35529508,-;{XID}\n SUBSYSTEM=pci\n6,11,35600000,-;usb 1-1: new device\n".encode())
        log.keep(tmp_path)
        os.close(writer)
    assert [line for line in read_log(tmp_path).lines if "NVRM" in line] == [f"[   35.529508] {XID}"]
    assert "usb" not in (tmp_path / NAME).read_text()


def test_a_quiet_log_leaves_no_file(tmp_path: Path) -> None:
    device = tmp_path / "kmsg"
    os.mkfifo(device)
    with KernelLog(str(device)) as log:
        log.keep(tmp_path)
    assert not (tmp_path / NAME).exists() and read_log(tmp_path).lines == ()


def test_a_log_that_may_not_be_read_is_no_matter(tmp_path: Path) -> None:
    with KernelLog(str(tmp_path / "none")) as log:
        log.keep(tmp_path)
    assert not list(tmp_path.iterdir())
