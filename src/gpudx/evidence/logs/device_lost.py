"""A lost device, as reported by Vulkan, Direct3D, WebGPU, OpenGL, browsers and Windows.

A device is lost after a kernel or shader hung, faulted, or was stopped by the operating system (TDR on Windows, a GPU reset on Linux).
The call that reports it is only the first that noticed. Every later error of the same device follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next, kernel_modules
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source
from gpudx.evidence.logs.gpu_status import codelike

# "Display driver X stopped responding and has successfully recovered" (event 4101) in other languages: what they say of the driver.
LOCAL = (
    "応答を停止",
    "停止响应",
    "停止響應",
    "停止回應",
    "응답하지 않아",
    "응답이 중지",
    "응답을 중지",
    "reagiert nicht mehr",
    "dejó de responder",
    "ne répond plus",
    "a cessé de répondre",
    "non risponde più",
    "parou de responder",
    "deixou de responder",
    "перестал отвечать",
    "przestał odpowiadać",
)
FORMAT = "device-lost"
GENERIC = 2
ANY_CASE = True
MARKS = (
    "device is lost",
    "device was lost",
    "device lost",
    "device loss",
    "device instance has been suspended",
    "device was removed",
    "device is removed",
    "removing device",
    "lost device",
    "devicelost",
    "context lost",
    "context_lost",
    "context was lost",
    "already lost",
    "device remove",
    "device removal",
    "device hung",
    "device_hung",
    "device_removed",
    "device_lost",
    "nvlddmkm",
    "tdr ",
    "(tdr",
    "tdr:",
    "video_tdr",
    "stopped responding",
    "driver timeout",
    "gpu crash",
    "gpu process",
    "gpu hang",
    "gpu reset",
    "device reset",
    "lost vkdevice",
    "gpu timeout",
    "command buffer was aborted",
    "command buffer exited with error",
    "command buffer execution",
    "amdkmdag",
    "livekernelevent",
    "the cs has",
    "execbuf",
    "submit failed",
    "submit batchbuffer",
    "context is lost",
    "bad_tsg",
    "external instance reference",
    "hw exception by gpu",
    "hw_exception_event",
    "4101",
    *LOCAL,
)
_HUNG = re.compile(
    r"hung|hang|\bTDR\b|VIDEO_TDR|timed? ?out|stopped responding|took an unreasonable|nvlddmkm.*(?:153|4101)|\b4101\b|"
    + "|".join(LOCAL), re.IGNORECASE
)
# The driver that stopped is named as a display driver, or by its file.
_DISPLAY = re.compile(
    r"ディスプレイ ?ドライバ|显示(?:器)?驱动|顯示(?:器)?驅動|디스플레이 드라이버|Anzeigetreiber|Grafiktreiber"
    r"|controlador de (?:pantalla|vídeo|video)|pilote d.affichage|driver (?:dello schermo|de vídeo|video)|драйвер"
    r"|Sterownik ekranu|nvlddmkm|amd\w+|igfx\w*",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"\s*[^:：]{2,20}[:：]\s*(?:4101|Display|nvlddmkm)\s*$")  # a field of an entry of the event log
_STOPPED = re.compile("|".join((*LOCAL, "stopped responding", r"\bTDR\b")))
_LOST = re.compile(
    r"(?:device|context|gpu)\W*(?:is|was|has been|got|already)?\W*_?(?:lost|loss (?:occur|detect|report)"
    r"|removed?\b|removal|hung|hang|reset\b|crash|timeout)"
    r"|lost (?:vk)?device|removing device|nvlddmkm|amdkmdag|VIDEO_TDR"
    r"|(?-i:(?:^|[\s(\[])TDR)(?:[):]|\s+(?:detect|event|occur|recover|timeout|reset|fail|trigger|was |has |happen))"
    r"|(?:driver|device|display|gpu|adapter|card)\b.{0,80}stopped responding|LiveKernelEvent"
    r"|driver time-?out has occurred|device instance has been suspended|The CS has (?:been )?(?:rejected|cancel)|\bBAD_TSG\b"
    r"|GPU process (?:exited|crashed|was)"
    r"|command buffer (?:was aborted|exited with error|execution (?:failed|error))"
    r"|external Instance reference no longer exists"  # Dawn, of a device that is gone
    # EIO, EDEADLK, ECANCELED of a submission (Linux, i915, msm, amdgpu): the driver takes no more work of a context that hung or faulted.
    r"|(?:execbuf\w*|submit(?: batchbuffer)?)\b.{0,30}\b(?:failed|failure)?\b.{0,12}"
    r"(?:Input/output error|Resource deadlock|Operation canceled)"
    r"|HW Exception by GPU|HSA_AMD_GPU_HW_EXCEPTION_EVENT",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"(?:DXGI_ERROR_DEVICE_(\w+))|for the following reason \((\w+)|reason: ?'?(\w+)|\((?:code )?\w*:?(kIO(?:GPU|Accel)\w+)\)"
)
APIS = tuple(
    (api, re.compile(pattern, re.IGNORECASE))
    for api, pattern in (
        ("browser", r"(?-i:\bUncaught )|\bin promise\b|DOMException|\.m?js:\d|WebGL|\bchrom(?:e|ium)\b|\bfirefox\b|GPU process"),
        ("radv", r"\bradv"),
        ("radeonsi", r"\bradeonsi\b"),
        ("vulkan", r"VK_ERROR|MESA-INTEL|INTEL-MESA|\bTU: |\bzink\b"),
        ("opengl", r"\b(?:iris|crocus|i965): |^amdgpu: "),
        ("level-zero", r"level_zero|\bZE_RESULT_"),
        ("sycl", r"\b(?:UR_RESULT|PI_ERROR)_"),
        ("metal", r"\bMTL|Metal\b|kIOGPU|kIOAccel|command buffer"),
        ("direct3d", r"DXGI|D3D|Direct3D"),
        ("webgpu", r"wgpu|WebGPU|Dawn|external Instance|Parent device|GPUDevice"),
        ("vulkan", r"vulkan|\bvk|VkDevice"),
        ("opengl", r"\bGL_|OpenGL|WebGL|context lost"),
        ("cuda", r"CUDA|nvlddmkm|nvidia"),
    )
)
# Promises and settings are no losses.
_NOT_LOST = re.compile(
    r"(?<!due to )Insufficient Memory|OutOfMemory|device[- ]lost (?:callback|handler|promise)"
    r"|on_?device_?lost|TdrDelay|TdrLevel|if the device"
    r"|lost\.then|CallbackCancelled|no gpu "
    r"hang|\basahi |rejected.*\(-12\)|description for Event ID \d+ .{0,80}cannot be found",  # its driver prints the fault below
    re.IGNORECASE,
)
_INNOCENT = re.compile(r"context is innocent", re.IGNORECASE)  # Mesa, amdgpu_cs.c: each context is told whose work hung


def read(near: Near) -> Iterator[Event]:
    text = near.text
    if _ENTRY.match(text) and any(map(_STOPPED.search, near.after(8))):
        return  # the entry's own text says more
    local = bool(_DISPLAY.search(text)) and any(one in text for one in LOCAL)
    if not (local or _LOST.search(text)) or _NOT_LOST.search(text) or codelike(text) or kernel_modules.names_work(near):
        return
    hung = bool(_HUNG.search(text))
    found = _REASON.search(text)
    reason = next(filter(None, found.groups()), "") if found else ""
    why = (
        "it did not finish its work in time, and the system reset it"
        if hung
        else "work on it failed, or the driver stopped it"
    )
    yield Event(
        kind="device-lost",
        role="report",
        message=f"The device was lost: {why}{f' ({reason})' if reason else ''}; the log shows where this was noticed, not which work "
        f"caused it.",
        facts=(("api", _api(text)), ("hung", str(hung))),
        notes=(
            *(("the driver says that work of another context caused it",) if _INNOCENT.search(text) else ()),
            "not proved: which launch, dispatch or submission caused it",
        ),
        causes=("hang", "device-error-reported") if hung else ("device-error-reported",),
        next=_next.HANG if hung else _next.SERIALISE,
        noticed=source(text),
        sure=False,
        covers=3,
    )


def _api(text: str) -> str:
    return next((api for api, pattern in APIS if pattern.search(text)), "")
