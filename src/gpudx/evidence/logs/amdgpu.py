"""AMD's kernel driver in dmesg: "[gfxhub] page fault", protection fault status with the client that faulted, ring timeouts.

The client says who made the access: TCP, TCI, SQC and similar ones are the caches of shaders, so a kernel left its memory; CPF,
CPC and CPG are the command processor, so queue, packet or firmware are more likely than any kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._numbers import address, page, span
from gpudx.model import DeviceFault

FORMAT = "amdgpu"
MARKS = ("page fault (src_id", "amdgpu_job_timedout", "*ERROR* ring ", "amdgpu: GPU reset begin")
_PROCESS = re.compile(r"[Pp]rocess (?!information)(\S+) pid (\d+)")
_PAGE = re.compile(r"(?:address|at page) (0x[0-9a-fA-F]+)")
_CLIENT = re.compile(r"client ID: (\w+)")
_WRITE = re.compile(r"\bRW: 0x(\d)")
_RING = re.compile(r"ring (([a-z]+)\S*) timeout")
RINGS = {"gfx": "graphics", "comp": "compute", "sdma": "copies"}
# Threads that submit work of Mesa's OpenGL and OpenCL drivers are named so (winsys/amdgpu).
_MESA_THREAD = re.compile(r"thread \S+:cs\d")
MESA = 0x80  # the terabyte in which Mesa's drivers begin to give addresses on AMD devices
COMMAND = ("CPF", "CPC", "CPG")
MOST_LINES = 12


def read(near: Near) -> Iterator[Event]:
    if "page fault" in near.text:
        yield _fault(near.text, near.after(MOST_LINES))
    elif ring := _RING.search(near.text):
        work = f" ({RINGS[ring[2]]})" if ring[2] in RINGS else ""
        who = _who(next(filter(None, map(_PROCESS.search, near.after(2))), None))
        text = f"The device did not finish the work of its ring {ring[1]}{work} in time{who}."
        yield Event("ring-timeout", "fault", text, (("ring", ring[1]),), causes=("hang",), next=_next.DEVCOREDUMP)
    elif "reset begin" in near.text:
        yield Event("gpu-reset", "ending", "The driver resets the device; all work on it is lost.")


def _who(process: re.Match[str] | None) -> str:
    return f", in process {process[2]} ({process[1]})" if process else ""


def _fault(text: str, below: list[str]) -> Event:
    who, where, client, write = (
        next(filter(None, map(p.search, (text, *below))), None) for p in (_PROCESS, _PAGE, _CLIENT, _WRITE)
    )
    value = int(where[1], 16) if where else None
    name = client[1] if client else ""
    copies = name.startswith("SDMA")
    by = "The command processor" if name in COMMAND else "A copy engine" if copies else "A kernel" if name else "The device"
    does = "wrote" if write and write[1] == "1" else "read" if write else "accessed"
    said = f"{by} {does} memory that is not mapped"
    api = "radeonsi" if any(map(_MESA_THREAD.search, below)) else "radv" if value and value >> 40 == MESA else ""
    doubt = (
        "queues, packets or firmware are more likely than any kernel"
        if name in COMMAND
        else f"not proved: which {'copy' if copies else 'kernel'} it was"
    )
    return Event(
        kind="amdgpu-page-fault",
        role="fault",
        message=f"{said}{f' (client {name})' if name else ''}{_who(who)}.",
        facts=(("client", name), ("does", does), *((("api", api),) if api else ())),
        notes=tuple(
            filter(
                None,
                (f"the page is {value:#x}" if value else "", address(value) if value else "", page(value or 0), doubt),
            )
        ),
        causes=("device-exception",) if name in COMMAND else ("out-of-bounds-access",),
        sure=False,
        next=_next.HIP_SERIALISE,
        fault=None
        if value is None
        else DeviceFault(f"{does} memory that is not mapped", text.strip(), value, span(value), does == "wrote"),
    )
