"""No usable device: no platform, no driver, no permission, a library that cannot be loaded, a container without the GPU.

The program never reached the device. The line names what is missing; `gpudx doctor` checks whether the driver, a permission,
the container or the selection is at fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next, unrecognised
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import clipped

FORMAT = "no-device"
GENERIC = 2
ANY_CASE = True
MARKS = (
    "platform",
    "no opencl",
    "no cuda",
    "no hip",
    "no gpu",
    "no nvidia",
    "no rocm",
    "no supported gpu",
    "no suitable",
    "no adapter",
    "no compatible",
    "no device",
    "0 devices",
    "devices found",
    "devices: 0",
    "number of devices",
    "num_devices",
    "numdevices",
    "cannot get devices",
    "get devices",
    "libopencl",
    "libcuda",
    "libamdhip",
    "libnvidia-ml",
    "libze_",
    "/dev/kfd",
    "/dev/dri",
    "/dev/nvidia",
    "/dev/kgsl",
    "/dev/mali",
    "/dev/dxg",
    "/dev/accel",
    "/dev/davinci",
    "/dev/nvhost",
    "/dev/nvmap",
    "nvml",
    "nvidia-smi",
    "nvidia driver",
    "cuda is not available",
    "which is not",
    "not found ",
    "not compiled with",
    "nvidia-container",
    "capabilities: [[gpu",
    "find a gpu",
    "gpu not found",
    "gpu adapter",
    "opencl library",
    "cuinit",
    "hsa_init",
    "zeinit",
    "zesinit",
    "rocr",
    "no usable",
    "gpu is not available",
    "not detect",
    "gpu delegate",
    "isn't exposed",
    "no kfd",
    "couldn't find",
    "find opencl",
    "gpu device not",
    "no vulkan",
    "vulkan loader",
    "vkcreateinstance",
    "insufficient",
    "unavailable for ",
    "create an engine",
    "secondary gpu",
    "linked against",
    "compiled against",
    "built against",
    "not accessible for",
    "unknown header type 7f",
    "rock module is not loaded",
    "incompatible kernel and userspace",
    "found no ",
    "dlopen",
    "dynamic library",
    "device creation failed",
    "init_hw_device",
    "build with",
    "built with",
    "is requested",
    "gres/gpu",
    "(gres)",
    "requested node config",
    "was compiled with",
    "not enabled in",
    "required nvenc",
    "or newer",
    "disabled (",
    "no healthy",
    "returned 0 ",
    "unhealthy devices",
)
_GPU = r"(?:OpenCL|CUDA|HIP|ROCm|GPU|NVIDIA|AMD|Vulkan|SYCL|Level Zero|WebGPU|Metal|graphics)"
_FILES = "kfd|dri|nvidia|kgsl|mali|dxg|accel|davinci|nvhost|nvmap|galcore|pvr"  # of devices
_PATTERNS = (
    # lspci, where every register reads as ones: the device is off, or no longer on the bus.
    (r"Unknown header type 7f", "A device does not answer on the PCI bus"),
    (
        r"dlopen failed|cannot open shared object|library .{0,40}not (?:found|loaded)|couldn't find \"?lib|unable to load .{0,30}lib"
        r"|is not accessible for the namespace"
        r"|Can "
        r"not open OpenCL library",
        "A GPU library could not be loaded",
    ),
    (
        r"(?:cannot|can't|could(?: not|n't)|failed to|unable to) (?:dlopen|load dynamic library|(?:open|load|find) "
        r"(?:the )?(?:\w+ )?lib(?:OpenCL|cuda|amdhip|hsa-runtime|vulkan|ze_loader|nv\w+)\w*)",
        "A GPU library could not be loaded",
    ),
    (
        r"^Device creation failed: -?\d+|Failed to set value '[^']{0,80}' for option 'init_hw_device'",
        "The device for video could not be opened",
    ),
    (
        r"(?:driver|runtime) does(?: not|n't) support the required|minimum required .{0,40}driver\b",
        "The driver is older than the program requires",
    ),
    (
        rf"(?:unable to open|cannot open|failed to open|permission denied)\W.{{0,40}}/dev/(?:{_FILES})|/dev/"
        rf"(?:{_FILES})\S*\W.{{0,40}}(?:denied|no such|not permitted|failed|unable)",
        "The device file could not be opened",
    ),
    (r"ROCk module is NOT loaded", "The AMD driver is not loaded"),  # rocminfo
    (r"Incompatible kernel and userspace", "The kernel driver is too old for ROCm's runtime, which leaves the device out"),
    (
        r"driver not loaded|driver/library version mismatch",
        "The NVIDIA driver does not answer",
    ),
    (
        r"nvidia-container-cli\W.{0,200}(?:error|fail|timed out|not found|denied)",
        "The container tool could not prepare the GPU",
    ),
    (
        r"capabilities: \[\[gpu|could not select device driver",
        "The container was started without the GPU",
    ),
    (
        r"Failed to initialize NVML|couldn't communicate with the NVIDIA driver|NVIDIA-SMI has failed|Driver/library version mismatch"
        r"|found no nvidia driver",
        "The NVIDIA driver does not answer",
    ),
    (rf"\b{_GPU}\b.{{0,30}}\bdisabled \((?:no|failed|unable|not|cannot|could)\b[^()]{{0,60}}\)", "The program continues without a device"),
    (r"no healthy devices|cannot allocate unhealthy devices", "The scheduler has no healthy device"),
    (
        r"Insufficient (?:nvidia|amd|gpu)\S*gpu|nvidia\.com/gpu.{0,40}(?:insufficient|unavailable)"
        r"|unavailable for (?:nvidia|amd)\.com/gpu|No GPU resources?",
        "The scheduler has no free GPU",
    ),
    (r"gres/gpu count .{0,30}lower than", "A node has fewer GPUs than the scheduler expects"),
    (r"Invalid generic resource \(gres\)|Requested node configuration is not available", "The scheduler has no node for it"),
    (
        rf"\b{_GPU}\b.{{0,60}}\bnot enabled in (?:this|the) (?:build|version)|"
        r"not compiled with (?:CUDA|ROCm|HIP|GPU|OpenCL)|built without (?:CUDA|GPU|ROCm)"
        r"|(?:was ?n.t|not) buil[dt] with (?:CUDA|GPU|ROCm|HIP|OpenCL)"
        r"|\bis requested,? but .{0,60}\bnot (?:linked|built|enabled|available)",
        "The program was built without support for this device",
    ),
    (
        rf"(?:number of (?:platforms|devices)|num_?(?:platforms|devices)|platforms|devices)\s*(?:found|available|detected)?\s*(?:[:=]"
        rf"|\s)\s*0\s*$"
        rf"|\breturned (?:0|zero) (?:\w+ )?(?:platforms?|devices?|GPUs?|adapters?)\b"
        rf"|\b(?:0|zero) (?:{_GPU} )?(?:platforms?|devices?|GPUs?) (?:found|detected|available)|(?:found|detected) (?:0|zero|no) (?:{_GPU} "
        rf")?(?:platforms?|devices?|GPUs?)",
        "No device was found",
    ),
    (
        rf"\bno (?:suitable |usable |compatible |supported |available |such |valid )*{_GPU}(?:[- ]capable)?(?: \w+)?(?: \w+)?(?: (?:is|was"
        rf"|are|were|has been))? ?(?:found|detected|available|present|exist)"
        rf"|\bno (?:suitable |usable |compatible )+(?:{_GPU} )?(?:adapter|device|GPU)|no (?:platforms?|adapters?) (?:found|available)"
        rf"|{_GPU} (?:device|GPU|driver|platform)s? (?:is |was |are )?not (?:found|available|detected)|(?:cannot|can't|could not|couldn't"
        rf"|failed to|unable to) (?:find|get|detect|query|enumerate|access|open) (?:secondary |discrete |a |any |the |suitable |an? "
        rf"appropriate )*(?:{_GPU} )*(?:adapter|devices?|GPUs?|platforms?)"
        rf"|(?<!clause was )\bnot found (?:\w+ ){{0,2}}(?:{_GPU} )?(?:platforms?|devices?|GPUs?|adapters?)\b"
        rf"|\b(?:requires?|needs?) (?:an? |the )?(?:\w+ )?{_GPU}\b.{{0,30}}(?:which|but|and it|that) (?:is|was) not (?:available|found"
        rf"|present)"
        r"|CUDA is not available|GPU is not available|no usable GPU|PLATFORM_NOT_FOUND|clGetPlatformIDs.{0,60}-1001|isn't exposed to SYCL"
        r"|RuntimeError: could not create an engine\b"  # oneDNN
        r"|no device of requested type|found no (?:\w+ ){0,3}(?:devices?|GPUs?|adapters?|platforms?)\b",
        "No device was found",
    ),
    (
        r"(?:cuInit|hsa_init|hipInit|zes?Init|vkCreateInstance|clGetPlatformIDs).{0,40}(?:fail|error|returned)"
        r"|Initialization of (?:CUDA|HIP"
        r"|OpenCL) failed",
        "The driver could not be started",
    ),
    (
        r"(?:GPU )?delegate.{0,60}(?:not initialized|failed|not supported)|Failed to apply delegate|not supported by GPU delegate",
        "The GPU delegate could not be used",
    ),
)
PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), means) for pattern, means in _PATTERNS)


_WITHOUT = re.compile(
    r"\b(?:is |are |be )?(?:disabled|disabling|skipped|ignored)\b|fall(?:ing|s)? ?back|\binstead\b|\bcontinuing\b"
    r"|may be unavailable|\busing internal\b", re.IGNORECASE
)
# clinfo and its like: each platform has its own count.
_COUNTED = re.compile(r"number of devices\W+0\s*$", re.IGNORECASE)
_OTHERS = re.compile(r"number of devices\W+[1-9]", re.IGNORECASE)
_MISMATCH = re.compile(
    r"(?:linked|compiled|built) against (.{2,60}?) (?:but|and) (?:is )?(?:loaded|loading|running|found|using"
    r"|have)\b(.{0,60})",
    re.IGNORECASE,
)
_COMPILED = re.compile(r"loaded (?:runtime )?(\w.{1,40}?) but (?:the )?source was compiled with:? ?(\d[\w.]*)", re.IGNORECASE)


def goes_on(text: str) -> bool:
    """Does the program say what it does without the missing part?"""
    return bool(_WITHOUT.search(text))


def read(near: Near) -> Iterator[Event]:
    if found := _MISMATCH.search(near.text):
        said = (
            f"A library was built against {found[1].strip()} and runs with{found[2].rstrip('.')}: the versions differ."
        )
        yield Event("library-mismatch", "refusal", said, (("said", found[0][:80]),), next=_next.DOCTOR, warning=True)
        return
    if found := _COMPILED.search(near.text):
        versions = f"{found[1].strip()}, and {found[2].rstrip('.')} was expected"
        said = f"A library has another version than the program was built with: {versions}."
        yield Event("library-mismatch", "refusal", said, (("said", found[0][:80]),), next=_next.DOCTOR)
        return
    for pattern, means in PATTERNS:
        if found := pattern.search(near.text):
            if _COUNTED.search(near.text) and any(map(_OTHERS.search, (*near.before(60), *near.after(60)))):
                return  # one of several platforms
            yield Event(
                kind="no-device",
                role="refusal",
                message=f"{means}: {clipped(' '.join(near.text.split()))}",
                facts=(("means", means), ("said", found[0][:80].lower())),
                next=_next.DOCTOR,
                sure=False,
                warning=goes_on(near.text) or unrecognised.is_calm(near.text),
            )
            return
