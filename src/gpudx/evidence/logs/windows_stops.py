"""Windows stopped, or noted a fault, because of a GPU or its driver: bug checks (blue screens), live kernel events, WinDbg's analysis.

It reads the name or number of the bug check, the driver that WinDbg suspects, and the numbers in the reports of Windows. A bug
check names no application and no kernel: it shows which driver noticed the fault, and whether it waited for the device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near

FORMAT = "windows-stop"
GENERIC = 1
ANY_CASE = True
MARKS = (
    "video_tdr",
    "video_scheduler",
    "video_engine",
    "video_memory_management",
    "video_dxgkrnl",
    "video_driver",
    "video_miniport",
    "thread_stuck_in_device_driver",
    "bugcheck",
    "bug check",
    "bugcode",
    "livekernelevent",
    "probably caused by",
    "failure_bucket_id",
    "module_name:",
    "image_name:",
    "stop code",
    "stopcode",
    "(code 10)",
    "(code 12)",
    "(code 31)",
    "(code 39)",
    "(code 43)",
    "(code 45)",
    "error 43",
    "code 43",
)
# What the device manager says of a device: Microsoft Learn, "Error codes in Device Manager in Windows".
MANAGER = {
    10: "the device could not be started",
    12: "there are not enough free resources for the device",
    31: "Windows could not load the drivers that the device needs",
    39: "the driver is damaged or missing",
    43: "the driver reported a failure of the device, and Windows stopped it",
    45: "the device is not connected",
}
_MANAGER = re.compile(r"\(code (10|12|31|39|43|45)\)|^(?!.*cuda).*\b(?:gpu|card|driver|device|nvidia)\b.{0,60}\b(?:error"
    r"|code) (43)\b", re.IGNORECASE)
# Numbers, names and meanings of bug checks: Microsoft Learn, "Bug Check Code Reference". True where the device did not answer in time.
CHECKS = {
    0x10E: ("VIDEO_MEMORY_MANAGEMENT_INTERNAL", "the video memory manager found an error in its own data", False),
    0x113: ("VIDEO_DXGKRNL_FATAL_ERROR", "the Windows graphics kernel found an error that it cannot recover from", False),
    0x114: ("VIDEO_SHADOW_DRIVER_FATAL_ERROR", "a shadow driver of the graphics kernel failed", False),
    0x116: ("VIDEO_TDR_FAILURE", "the device did not finish its work in time, and the driver could not be reset", True),
    0x117: ("VIDEO_TDR_TIMEOUT_DETECTED", "the device did not finish its work in time", True),
    0x119: ("VIDEO_SCHEDULER_INTERNAL_ERROR", "the GPU scheduler found an error that it cannot recover from", False),
    0x141: ("VIDEO_ENGINE_TIMEOUT_DETECTED", "an engine of the device did not finish its work in time", True),
    0x142: ("VIDEO_TDR_APPLICATION_BLOCKED", "an application was blocked from the GPU because it had caused too many timeouts", True),
    0x193: ("VIDEO_DXGKRNL_LIVEDUMP", "the Windows graphics kernel saved a dump of an error", False),
    0x1A8: ("VIDEO_DXGKRNL_BLACK_SCREEN_LIVEDUMP", "the screen stayed black, and Windows saved a dump", False),
    0xEA: ("THREAD_STUCK_IN_DEVICE_DRIVER", "the driver waited for the device in an endless loop", True),
}
NAMES = {name: code for code, (name, _, _) in CHECKS.items()}
_NAMED = re.compile(rf"\b({'|'.join(sorted(NAMES, key=len, reverse=True))})", re.IGNORECASE)
_NUMBERED = re.compile(
    r"\b(?:bug ?check(?: code)?|BugcheckCode|stop ?code|LiveKernelEvent(?:\W+Code)?)\b\W{1,6}(?:0x0*)?([0-9a-f]{2,3})\b", re.IGNORECASE
)
_BUCKET = re.compile(r"FAILURE_BUCKET_ID:\s*(?:LKD_)?0x([0-9a-f]{2,3})_?\w*?_?(?:IMAGE_)?(\w+?)(?:\.sys|!)", re.IGNORECASE)
# Drivers of GPUs and the graphics kernel of Windows.
_DRIVER = re.compile(r"\b(nvlddmkm|atikmdag|atikmpag|amdkmdag|igdkmd\w*|dxgkrnl|dxgmms\d|watchdog|qcdxkm\w*)(?:\.sys)?\b", re.IGNORECASE)
_BLAMED = re.compile(r"Probably caused by ?: ?(\S+)|(?:MODULE|IMAGE)_NAME: +(\S+)", re.IGNORECASE)
_DECIMAL = re.compile(r"BugcheckCode\W{1,6}(\d{2,4})\b")  # event 41 of Kernel-Power writes it in decimal
_LIVE = re.compile(r"LiveKernelEvent", re.IGNORECASE)  # the reliability monitor has the number in a line of its own
_CODE_LINE = re.compile(r"\s*Code\W{1,4}([0-9a-f]{2,3})\s*$", re.IGNORECASE)
NEAR = 12


def read(near: Near) -> Iterator[Event]:
    if found := _MANAGER.search(near.text):
        number = int(found[1] or found[2])
        said = f"The device manager of Windows has an error for a device: {MANAGER[number]} (code {number})."
        yield Event("windows-device", "refusal", said, (("code", str(number)),), next=_next.SYSTEM_EVENTS, sure=False)
        return
    code = _code(near.text)
    around = (near.text, *near.after(NEAR), *near.before(NEAR))
    if code is not None:
        yield _stop(code, _driver(around))
    elif _LIVE.search(near.text) and (found := next(filter(None, map(_CODE_LINE.match, near.after(6))), None)):
        if int(found[1], 16) in CHECKS:
            yield _stop(int(found[1], 16), _driver(around))
    elif (found := _BLAMED.search(near.text)) and _DRIVER.search(near.text) and all(_code(line) is None for line in around):
        driver = (found[1] or found[2]).rstrip(",")
        said = f"Windows stopped, and its analysis points to {driver}, a driver of the GPU; the number of the bug check was not pasted."
        yield _event(said, "", driver)


def _code(text: str) -> int | None:
    """The bug check of a line, where it is one of those for GPUs."""
    if found := _NAMED.search(text):
        return NAMES[found[1].upper()]
    if found := _DECIMAL.search(text):
        return int(found[1]) if int(found[1]) in CHECKS else None
    found = _NUMBERED.search(text) or _BUCKET.search(text)
    number = int(found[1], 16) if found else 0
    return number if number in CHECKS else None


def _driver(lines: tuple[str, ...]) -> str:
    return next((found[1].lower() for found in map(_DRIVER.search, lines) if found), "")


def _stop(code: int, driver: str) -> Event:
    name, means, hung = CHECKS[code]
    where = f"; the driver in the report is {driver}" if driver else ""
    return _event(f"Windows noted a fault of the GPU: {means} ({name}, {code:#x}){where}.", name, driver, hung)


def _event(message: str, name: str, driver: str, hung: bool = False) -> Event:
    return Event(
        kind="windows-stop",
        role="report",
        message=message,
        facts=(("check", name), ("driver", driver)),
        notes=("not proved: which application or which work caused it",),
        causes=("hang", "device-error-reported") if hung else ("device-error-reported",),
        next=_next.SYSTEM_EVENTS,
        sure=False,
        covers=3,
    )
