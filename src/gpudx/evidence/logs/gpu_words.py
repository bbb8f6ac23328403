"""Failures that are described in words, without the name or number of an error: "Failed creating CUDA context", "GPU sync failed".

It reads lines that name something of a GPU and say what happened to it. The words decide what kind of failure it is, not the
program that wrote them, so messages of unknown programs are understood as well. A wait that failed reports what earlier work
did.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gpudx.evidence.logs import _next, no_device, unrecognised
from gpudx.evidence.logs._event import Event, Role
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import clipped, place, without_sources
from gpudx.evidence.logs._statuses import Status, numbered
from gpudx.evidence.logs._statuses import event as status_event
from gpudx.evidence.logs.gpu_status import codelike

FORMAT = "gpu-words"
GENERIC = 3
ANY_CASE = True
MARKS = unrecognised.MARKS
MOST_READ = 10_000

# What runs models and is no GPU.
_ACCELERATORS = (
    r"(?-i:\bTT_[A-Z])|\btt[_-](?:metal|throw)\b|rknn|rknpu|hailo|edge ?tpu|\btpu\b|\bqaic|popart|poplar|(?-i:\bsyn[A-Z]\w{3,})|\bhpu\b"
    r"|\bneuron(?:core|x|_rt)\w*|\bneuron (?:driver|device|runtime)|\bNRT\b|\bnrt_\w+|\bvpu\b|\bqnn|snpe|hexagon"
)
# Words of GPUs that are no part of other words: quicker to look for than the pattern below, which has the rest.
_PLAIN = ("rocm", "opencl", "sycl", "vulkan", "nvidia", "amdgpu", "radeon", "tensorrt", "cudnn", "miopen", "nccl", "wgpu", "directml")
SUBJECT = re.compile(
    r"cuda(?!-gdb)|(?-i:\bcu[A-Z]\w{3,})|(?-i:\bhip[A-Z]\w{3,})|\bhip\b|rocm|\brocr\b|\bhsa\b|hsa[-_]|\bhcc\b|opencl"
    r"|(?-i:\bcl[A-Z]\w{4,})|sycl"
    r"|level[-_ ]?zero"
    r"|vulkan|(?-i:\bvk[A-Z]\w{4,})|\b[ex]?gpus?\b|(?-i:(?:gpu|GPU|Gpu)[A-Z_])|[_ ]gpu|nvenc|nvdec|cuvid|vaapi|vdpau"
    r"|qsv\b|\bvce\b|(?-i:\bAMF)|nvidia|amdgpu|\bkfd\b|radeon"
    r"|omptarget|accelerator|device ?(?:memory|allocation)|video memory|\bvram\b|graphics (?:memory|device|adapter|card)|tensorrt"
    r"|\btrt\b|cudnn|(?<![a-z])(?:lib)?(?:(?:cu|hip|roc)(?:blas|fft|solver|sparse|rand|tensor|rtc)|nv(?:rtc|jpeg|jitlink))"
    r"|miopen|rocblas|hipblas|nccl|\brccl\b|oneccl|onednn|\bxpu\b|directml|webgpu|wgpu|\bmetal\b|(?-i:\bMTL[A-Z]\w+)"
    r"|\bnvml\b|optix|egl\b"
    r"|(?:compute|device|gpu|cuda) kernel|\bkernel index\b|kernel (?:launch|execution|image)|kernel '|\bshader|\bPTX\b|spir-?v"
    r"|command (?:buffer|queue)"
    r"|ggml_|render device|\bndrange\b|\bdnn\b|\bdnnl\b|execute a primitive|libdevice|ptxas|launched on stream|mesa\b|libva|\bdxg"
    r"|driver name for fd|shmem|\bkernels?/|glsl|hlsl|wgsl|\bd3d\d|direct3d"
    r"|\bdxgi|swap ?chain|drm_syncobj|\bgfx\d{3}|\bsm_\d\d|mig-\d|\bdri[23]\b|(?-i:\bNv[A-Z]\w{2,})|(?-i:\begl[A-Z]\w+|EGL[A-Z]\w+)"
    r"|\bnvmm\b|miopen\w+|\bg[pvak]\d{2}b\b|\brunlist\b|\bTSG\b|\bTDR\b|(?-i:\bgl[A-Z][a-z]\w{3,}\()|opengl|\bnpu\b|\bmali\b|adreno|powervr"
    r"|nvswitch|nvlink|\bMMU fault"
    r"|\bmps\b(?! /)|\bSM (?:warp|exception)|graphics +exception|\bacl\b|\bE[EHZ]\d{4}\b|habana|ascend|\bHLO\b|autotun|\b(?:cuew"
    r"|hipew)\b|\bacl[A-Z]\w+|cann\b|\bmusa\w*|\bxrt\b"
    r"|\b(?:iris|radeonsi|radv|anv|crocus|turnip|zink|lavapipe|llvmpipe|rusticl|hasvk|nvk|v3dv|panvk|freedreno)\b|batchbuffer|pocl"
    r"|^(?:\w+/)?(?:msm|v3d|etnaviv|panfrost|panthor|lima|nouveau|nvc0|nv50|virgl|vc4|asahi|crocus|i915|i965|r600|d3d12|clover) *:"
    r"|\blibgl\b|\bac_rtld\b|\bpan_bo\w*|nvc0_\w+|\bEE \S+/gallium/|code object|\broc(?:device|memory|virtual|blit|program|kernel"
    r"|signal|settings)\.cpp|\bhip_\w+\.cpp|scratch for one wave|reducing queue occupancy"
    r"|\bv4l2[-_ ]request|\bpresent clause\b|allocation on device"
    r"|\bdrm_\w+|\bbuild (?:BLAS|TLAS|BVH)\b|acceleration structure|\brmm\b|rapids|\bcudf\b|(?-i:\bzes?[A-Z]\w{3,})"
    r"|\bkokkos\b|execution plans?\b|\bengine to execute\b|iree|tinygrad|triton|cupy|numba|pyopencl|\bjax\b|\bxla\b|openvino|nnapi"
    rf"|{_ACCELERATORS}",
    re.IGNORECASE,
)
# What a GPU has and other things have too: it counts where the lines around it name a GPU.
_PERHAPS = re.compile(
    r"\b(?:device|driver|kernel|queue|stream|buffer|texture|surface|fence|semaphore|event|context|memory|adapter|encoder|decoder|engine"
    r"|module|backend|delegate|runtime|channel|pipeline|dispatch|launch)(?:e?s)?\b|_(?:device|driver|kernel|queue|stream|buffer|context)",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"cuda|\bcu[A-Z]|\bhip", re.IGNORECASE)
_CODE = re.compile(r"\b(?:error|code|status|returned|result)\W{0,6}(?:(?:code|no\.?|number)\W{0,3})?(\d{1,3})\b", re.IGNORECASE)
STICKY = range(700, 720)
NEAR, LONGEST_NEAR = 12, 300  # lines on either side, and characters of each
GAP = r"(?:(?!\. ).){0,60}"  # within a sentence
# Goals of build tools, commands and scripts are executed too, and not on a device.
_TOOLS = r"(?! (?:the |an? )?(?:goals?|commands?|scripts?|quer\w+|statements?|plugins?|installer|process\b|programs?|tests?\b|executable))"
_LAUNCH = r"launch(?!\w* (?:the )?(?:\w+ )?compiler)\w*"
_EXECUTE = rf"execut(?:e|ed|es|ing|ion|ions)\b{_TOOLS}"
_RUN = rf"run(?:ning)?\b{_TOOLS}"
_FAIL = r"(?:fail(?:ed|ure|s)?|error|unable|cannot|can't|could(?: not|n't)|aborted)"


class _Class(NamedTuple):
    """What the words of a line say about the failure."""

    kind: str
    words: re.Pattern[str]
    role: Role
    causes: tuple[str, ...]
    next: str
    means: str


def _class(kind: str, words: str, role: Role, cause: str, command: str, means: str) -> _Class:
    causes = (cause,) if cause else ()
    return _Class(kind, re.compile(words, re.IGNORECASE), role, causes, command, means)


CLASSES = (
    # Browsers name the method and the interface, and then what was wrong.
    _class(
        "wait-failed",
        r"failed to execute '(?:mapAsync|onSubmittedWorkDone|submit|getMappedRange)' on 'GPU",
        "report",
        "device-error-reported",
        _next.SERIALISE,
        "A wait for the device, or the use of its results, failed",
    ),
    _class(
        "call-refused",
        r"failed to execute '\w+' on '(?:GPU|WebGL)|missing required|required (?:member|argument|field|parameter)"
        r"|could not create a primitive"
        r"|(?:find|found) (?:any|no|an? (?:suitable|valid|usable)) (?:\w+ )?(?:implementation|algorithm|tactic|config\w*|solver|plan)\b"
        r"|\bno (?:\w+ )?(?:implementations?|algorithms?|tactics?|engine configs?|execution plans?) (?:\w+ )?(?:built|found|available"
        r"|support\w*|works?)|\bfind an engine to execute\b"
        r"|(?-i:NotSupported\w*)|\bcannot (?:\w+ ){0,2}\S+ (?:\w+ ){0,2}during (?:\w+ ){0,3}capture",
        "refusal",
        "failed-call",
        _next.RECORD,
        "A call was refused for what it was passed, or is not supported",
    ),
    _class(
        "device-memory-error",
        r"uncorrect\w* (?:\w+ ){0,2}errors?|\bdouble[- ]bit (?:\w+ )?errors?|\bECC errors?\b.{0,20}\bdetected"
        r"|row[- ]remap\w* (?:failure|failed)",
        "refusal",
        "",
        _next.HEALTH,
        "The device reported a fault of its memory",
    ),
    _class(
        "device-faulty",
        r"\bfaulty\b",
        "refusal",
        "",
        _next.HEALTH,
        "A test of the device, or of its memory, found it faulty",
    ),
    _class(
        "process-not-started",
        r"\bGPU process (?:launch failed|is(?:n't| not) usable)",
        "refusal",
        "",
        _next.DOCTOR,
        "The browser could not start the process that uses the GPU",
    ),
    # The word "kernel" means Linux here.
    _class(
        "driver-not-installed",
        r"(?:linux )?kernel (?:modules?|headers?|sources?)\b|\bmodule build\b|\w\.ko\b|\bdkms\b|nvidia-installer|depmod|modprobe",
        "refusal",
        "",
        _next.DOCTOR,
        "The GPU's Linux driver was not built, installed or loaded",
    ),
    _class(
        "memory-refused",
        r"out[- ]of[- ](?:\w+ ){0,5}memory|\bOOM\b|(?:insufficient|not enough)(?: \w+){0,3} memory|(?:cannot|can't"
        r"|could(?: not|n't)|failed to"
        r"|unable to|fail(?:ed|ure) (?:in|while|to)) (?:re)?(?:alloc|reserv)\w*|(?<!\w)alloc\w*\b.{0,60}\b(?:failed|refused)"
        r"|alloc\w*(?:\([^()]{0,60}\))?\W{1,3}(?:has )?(?:failed|refused)"
        r"|error in alloc\w*"
        r"|memory alloc\w* (?:error|failure)|(?:exceeds|larger than|over).{0,40}(?:max\w* alloc"
        r"|available (?:\w+ )?memory|memory limit)"
        r"|\ballocation on device\b(?: \d+)?(?: would exceed|\W*$)|no available (?:\w+ )?memory"
        r"|ran out of (?:\w+ ){0,2}memory|memory (?:is )?exhausted|pool size exceed\w*|exceeds? the (?:maximum )?pool size",
        "refusal",
        "failed-call",
        _next.RECORD,
        "An allocation was refused",
    ),
    # Arrays that check their own indices on the device: they name the array and the index.
    _class(
        "bounds-check",
        r"out[- ]of[- ]bounds access (?:label|in|of|to) ?[=:]?.{0,80}\bindices\b",
        "fault",
        "out-of-bounds-access",
        _next.SANITIZE,
        "A bounds check of an array failed",
    ),
    _class(
        "kernel-out-of-bounds",
        r"out[- ]of[- ]bounds.{0,60}(?:array|access|index|memory|kernel|read|write)|bounds ?error.{0,60}kernel"
        r"|illegal (?:memory )?(?:access|address|read|write)",
        "report",
        "out-of-bounds-access",
        _next.SANITIZE,
        "Device code accessed memory outside an array",
    ),
    _class(
        "kernel-exception",
        r"(?:exception|error|trap)\b.{0,40}\b(?:during|in|inside) (?:the |a )?(?:kernel|device|shader)(?: execution"
        r"| code)?|KernelException"
        r"|device[- ]side (?:exception|error|trap)|\bSM (?:warp|global) exception|graphics +exception",
        "report",
        "device-exception",
        _next.SANITIZE,
        "Device code stopped with an exception",
    ),
    _class(
        "device-gone",
        r"fallen off the bus|device handle for|(?:gpu|device|adapter) (?:is |was |has been |has |no longer )?(?:lost"
        r"|disconnected|gone"
        r"|removed|missing|disappeared|unhealthy)|lost (?:the )?(?:gpu|device)|(?:gpu|device)\b.{0,80}\bunhealthy",
        "report",
        "",
        _next.DMESG,
        "The device no longer answers",
    ),
    _class(
        "device-hang",
        r"timed[ -]?out|time-?out(?![\w-]| ?[=:(]? ?\d)|\bhangs?\b|\bhung\b|\bstuck\b|(?:not|stopped) respond(?:ing)?|no progress"
        r"|deadlock|watchdog",
        "report",
        "hang",
        _next.HANG,
        "Work on the GPU, or a wait for it, did not finish in time",
    ),
    _class(
        "wait-failed",
        rf"synchroni[sz]\w*\b.{{0,80}}\b{_FAIL}|{_FAIL}\b.{{0,80}}\bsynchroni[sz]\w*|\bsync {_FAIL}|{_FAIL}\b.{{0,20}}\bsync\b"
        r"|unspecified launch failure|failed to (?:wait|poll)|waiting for .{0,60}failed|event (?:status"
        r"|query).{0,30}(?:fail|error)",
        "report",
        "device-error-reported",
        _next.SERIALISE,
        "A wait for the device failed: work that was submitted before it had failed",
    ),
    _class(
        "wrong-device-code",
        r"(?:find|found|no) (?:a |any )?compatible (?:kernel|code|binary|image)"
        r"|(?:not |in)compatible (?:with|image|device|gpu|arch\w*|processor|binary|code)|(?:processor|arch\w*|target|isa) mismatch"
        r"|unsupported code object|code object.{0,120}not supported by"
        r"|unsupported (?:gpu|device|arch\w*|target|compute capability|processor)|(?:gpu|device|arch\w*"
        r"|compute capability|gfx\w+|sm_\d+)\b"
        r".{0,40}\b(?:is |are )?(?:not|no longer) supported|no (?:kernel|device|code|binary"
        r"|code object).{0,30}for (?:this |the )?(?:gpu|device"
        r"|arch\w*|gfx\w+|sm_\d+)|requires (?:compute capability|sm_|gfx)"
        r"|\bTensileLibrary\w*\.dat\b|\bfor GPU arch ?: ?gfx"
        r"|only supports? .{0,40}(?:GPUs?|devices?|architectures?) or newer|(?:GPUs?|architectures?) or newer (?:is|are) required",
        "refusal",
        "wrong-architecture",
        _next.DOCTOR,
        "The program or its device code does not fit this device",
    ),
    _class(
        "made-elsewhere",
        r"version tag does not match|\bserializ\w*\b.{0,80}(?:version|mismatch|not match)"
        r"|(?:engine|plan|cubin|binary|model) (?:file )?(?:is|was) "
        r"(?:generated|built|created|serialized) (?:on|with|for|by)\b.{0,80}(?:not compatible|incompatible|different|expect)",
        "refusal",
        "",
        _next.DOCTOR,
        "A compiled model or kernel was made by another version of the software, or for another device",
    ),
    _class(
        "build-failed",
        r"\bupload (?:the )?shader|\bselect compute shader"
        r"|\bcl(?:Build|Compile|Link)Program\W{1,4}(?:error|fail)|(?:fail\w*|error|unable|could not)\b.{0,60}\b(?:compil\w+"
        r"|build\w*|link\w*|jit)\b.{0,60}\b(?:kernel|program"
        r"|module|shader|ptx|code|source"
        r"|pipeline)|(?:compil\w+|build\w*|link\w*)\b.{0,60}\b(?:kernel|program|module|shader|ptx"
        r"|pipeline)\b.{0,60}\b(?:fail|error)",
        "refusal",
        "failed-call",
        _next.RECORD,
        "Device code could not be compiled or linked",
    ),
    _class(
        "no-device",
        r"(?:device|gpu|driver|cuda|hip|opencl|adapter|platform|runtime)s?\b.{0,20}\b(?:(?:could not|couldn't|can(?:not|'t)) be "
        r"(?:initiali[sz]ed|opened|started|loaded|found|detected|created)|failed to (?:initiali[sz]e|start|load|open)\W*(?:$|\())|\bno "
        r"(?:\w+ ){0,3}(?:devices?|gpus?|adapters?|platforms?|accelerators?|encoders?|card|\w*backend found)\b|(?:device|gpu"
        r"|driver|platform|adapter)s?\b"
        r".{0,30}\bnot (?:found|available|present|detected|visible|usable|initiali[sz]ed)|(?:device|gpu|driver|cuda|adapter|platform)s? "
        r"(?:\w+ ){0,2}unavailable|cannot open shared object"
        rf"|{_FAIL}\b.{{0,40}}\b(?:load|open|find|locate|detect|retrieve|enumerat\w*|initiali[sz]\w*|init|(?:re)?creat\w*|set ?up"
        rf"|start|access|acquire|get"
        r"|query|select|connect)\b.{0,80}\b(?<![/\\])(?:driver|device(?!s?/)|context|\w*provider|runtime|librar\w+|plugin|backend"
        r"|session|instance|adapter|platform|gpus?|handle|encoder|decoder|rtl|display|\w+\.so\b|\w+\.dll)"
        rf"|{_FAIL}\b.{{0,40}}\b(?:initiali[sz]\w*|init|start)\b.{{0,30}}(?<![/\\])\b(?:nvml|cuda|opencl|vulkan|hip|rocm|nvenc|nvdec)\b"
        rf"|(?:initiali[sz]\w*|set ?up|creation|init)\b.{{0,40}}\b{_FAIL}|(?:driver|librar\w+"
        rf"|version)\b.{{0,40}}\b(?:mismatch|too old"
        r"|insufficient|outdated)|permission denied|operation not permitted(?! when)"
        r"|not have permission|ERR_NVGPUCTRPERM",
        "refusal",
        "",
        _next.DOCTOR,
        "The GPU or the software around it could not be used",
    ),
    _class(
        "object-not-created",
        rf"{_FAIL}\b.{{0,20}}\bbuild (?:BLAS|TLAS|BVH|(?:\w+ )?acceleration structure)|"
        rf"{_FAIL}\b.{{0,40}}\b(?:initiali[sz]\w*|init|(?:re)?creat\w*|set ?up|start|acquire|get|map|bind|import"
        rf"|export)\b.{{0,80}}\b(?<![/\\])"
        r"(?:stream|queue|module|surface|pipeline|texture|swap ?chain|rtv|buffer|image|sampler|fence|semaphore|event|heap|kernel"
        r"|program|plan)s?\b",
        "refusal",
        "failed-call",
        _next.RECORD,
        "Something that the program needs on the GPU could not be created",
    ),
    _class(
        "device-busy",
        r"\b(?:device|resource|gpu|engine|encoder|decoder)\b.{0,20}\bbusy\b|\bin use by (?:another|other)\b|-EBUSY\b",
        "refusal",
        "",
        _next.DOCTOR,
        "The device, or a part of it, is in use by another program",
    ),
    # OpenACC: a part of the program counts on data on the device that no earlier part put there.
    _class(
        "data-not-present",
        r"\bpresent clause\b.{0,40}\bnot found\b",
        "refusal",
        "failed-call",
        _next.RECORD,
        "A kernel needs data that the program never copied to the device",
    ),
    _class(
        "device-fault",
        r"page fault|memory (?:access )?fault|access violation|protection fault|bus fault|mmu fault",
        "report",
        "device-error-reported",
        _next.SERIALISE,
        "Work on the device accessed memory that it must not access",
    ),
    _class(
        "part-missing",
        r"not found|no such file|(?:cannot|can't|could(?: not|n't)|unable to|failed to) (?:locate|open|load|import|find (?!any\b|an? "
        r"(?:suitable|valid|usable)))|\bmissing\b",
        "refusal",
        "",
        _next.DOCTOR,
        "Something that the GPU's software needs was not found",
    ),
    _class(
        "internal-error",
        r"internal (?:\w+ )?error|unknown error|generic error|error state|unexpected (?:error|state|status|event)"
        r"|ret_check|internal assert"
        r"|(?:driver|runtime|platform|library|device|gpu)\W{0,3}\w*\W{0,3} error\b",
        "report",
        "device-error-reported",
        _next.SERIALISE,
        "The GPU's software reported an error of its own; earlier work may have caused it",
    ),
    _class(
        "call-refused",
        r"(?:invalid|illegal|bad|wrong|unknown|unsupported) (?:\w+ ){0,2}(?:platforms?|ids?|names?|options?|programs?"
        r"|arguments?|values?|param\w*|handle|pointer|config\w*|size|dimension\w*"
        r"|operation|state|type|format|stream|context|index|flag\w*|device|kernel|image|usage|binding)"
        r"|not (?:currently |yet )?(?:supported|implemented|permitted)|\bis not (?:set|bound)\b"
        r"|unimplemented|misalign\w*|alignment|\bexpected .{1,60}\b(?:got|found|received)\b",
        "refusal",
        "failed-call",
        _next.RECORD,
        "A call was refused for what it was passed, or is not supported",
    ),
    _class(
        "launch-failed",
        rf"(?:{_LAUNCH}|enqueue\w*|dispatch\w*|submi\w+|{_EXECUTE}|\w+_exec|invok\w+|{_RUN})\b{GAP}\b{_FAIL}"
        rf"|{_FAIL}\b{GAP}\b(?:{_LAUNCH}|enqueue\w*|dispatch\w*|submi\w+|{_EXECUTE}|invok\w+|{_RUN})\b",
        "report",
        "device-error-reported",
        _next.SERIALISE,
        "A launch or a submission reported an error; earlier work may have caused it",
    ),
    _class(
        "transfer-failed",
        rf"\b(?:copy(?:ing)?|memcpy\w*|transfer\w*|upload\w*|download\w*|read(?:ing)?|writ(?:e|ing)|map(?:ping)?"
        rf"|target\w*)\b{GAP}\b{_FAIL}|{_FAIL}\b{GAP}\b(?:copy"
        r"|memcpy|transfer|upload|download|read|write|map)(?:p?ing|s|ed)?\b",
        "report",
        "device-error-reported",
        _next.SERIALISE,
        "A transfer reported an error; earlier work may have caused it",
    ),
    _class(
        "call-failed",
        r"^(?=.*(?:fail|exception|abort|unable|could ?n|cannot)).*(?-i:\b(?:cuda|cu|hip|hsa_|cl|vk|ze|nvml|nccl)[A-Z_]\w{3,})",
        "report",
        "device-error-reported",
        _next.SERIALISE,
        "A call of a GPU interface failed, and the line does not say with which error; earlier work may have caused it",
    ),
)
APIS = tuple(
    (api, re.compile(words, re.IGNORECASE))
    for api, words in (
        (_next.ACCELERATOR, _ACCELERATORS),
        ("cuda", r"cuda|\bnv(?:cuda|rtc|ml)|cudnn|cublas|nvidia"),
        ("hip", r"\bhip|rocm|amdhip|miopen|rocblas"),
        ("opencl", r"opencl|pocl|rusticl"),
        ("vulkan", r"vulkan|(?-i:\bvk[A-Z])"),
        ("webgpu", r"wgpu|webgpu"),
        ("metal", r"\bmetal\b|\bMTL"),
        ("direct3d", r"\bd3d|direct3d|\bdxgi"),
        ("sycl", r"\bsycl"),
        ("level-zero", r"level[-_ ]?zero|\bze[A-Z]"),
    )
)
# It only ends what is told there.
_ABOVE = re.compile(r"\bsee (?:the )?(?:\w+ )?(?:cause|trace|error|log|output)s? \(?above", re.IGNORECASE)
_NOTE = re.compile(r"(?:\S+: )?note: ")  # of a compiler, under its error
# ROCm's runtime goes on without a tool's library (ROCR-Runtime, os_linux.cpp, LoadLib).
_TOOL = re.compile(r"LoadLib\(\S+\) failed: |Tool lib \"[^\"]+\" failed to load")
_WARNED = re.compile(r"(?:^|[\W_])warn(?:ing)?(?:[\W_]|$)", re.IGNORECASE)  # the program's own level: one of the first words
_LEVEL_WORDS = 5
LOOKED_FOR = ("no-device", "part-missing")
_THING = re.compile(r"['\"`]([\w+-]{4,60})|\b(lib\w{3,60})")
_FOUND = re.compile(r"\b(?:found|loaded|opened|using|succeeded)\b", re.IGNORECASE)
VAGUE = ("launch-failed", "internal-error", "call-failed", "transfer-failed", "wait-failed")


def is_vague(event: Event) -> bool:
    """Does it say that something failed, and not how?"""
    return event.format == FORMAT and event.kind in VAGUE


def names_gpu(text: str) -> bool:
    """Does a line name something of a GPU?"""
    low = text.lower()
    return any(word in low for word in _PLAIN) or bool(SUBJECT.search(text))


def _about_gpu(text: str, near: Near) -> bool:
    """Does the line name something of a GPU, or something that is one's by the lines around it?"""
    if names_gpu(text):
        return True
    if not _PERHAPS.search(text) or unrecognised.is_prose(text):
        return False
    return any(names_gpu(line[:LONGEST_NEAR]) for line in (*near.before(NEAR), *near.after(NEAR)))


def read(near: Near) -> Iterator[Event]:
    text = " ".join(near.text.split())
    if not unrecognised.reads_like_a_failure(text) or unrecognised.is_advice(text):
        return
    if (sticky := _of_device(text)) and not codelike(text):
        yield status_event(sticky, "", place(text))
        return
    if not _about_gpu(text, near):
        return
    if unrecognised.leads_on(text, near) or _ABOVE.search(text):
        return
    said = without_sources(text)
    kind = next((one for one in CLASSES if one.words.search(said)), None)
    if kind is None or codelike(text) or unrecognised.is_code(text) or _NOTE.match(text):
        return
    where, api = place(text), _api(text)
    means = kind.means.replace("GPU", api) if api == _next.ACCELERATOR else kind.means
    late = "; the log shows where this was noticed, not which work caused it" if kind.role == "report" else ""
    status = _number(text)
    yield Event(
        kind=kind.kind,
        role=kind.role,
        message=f"{means}{late}: {clipped(text)}",
        facts=(("kind", kind.kind), ("said", unrecognised.shape(text)), *((("api", api),) if api else ())),
        notes=(*status, *(("not proved: which launch or submission caused it",) if kind.role == "report" else ())),
        causes=("device-error-reported",)
        if kind.role == "report" and kind.causes and kind.causes[0] != "hang"
        else kind.causes,
        next=_next.HIP_SERIALISE if api == "hip" and kind.next == _next.SERIALISE else kind.next,
        noticed=where if kind.role == "report" else "",
        sure=False,
        warning=unrecognised.is_calm(text)
        or bool(_TOOL.match(text))
        or (kind.role == "refusal" and _is_warning(text))
        or (kind.kind in LOOKED_FOR and (_found_later(text, near) or no_device.goes_on(text))),
    )


def _is_warning(text: str) -> bool:
    return any(map(_WARNED.search, text.split(None, _LEVEL_WORDS)[:_LEVEL_WORDS]))


def _api(text: str) -> str:
    """The interface that a line names, where it names one only: next steps are those of that interface."""
    named = {api for api, words in APIS if words.search(text)}
    return named.pop() if len(named) == 1 else ""


def _found_later(text: str, near: Near) -> bool:
    """Was one of several names not there, and another one found in the next lines?"""
    things = {(name[0] or name[1]).lower() for name in _THING.findall(text)}
    return any(
        _FOUND.search(line) and not unrecognised.reads_like_a_failure(line) and any(one in line.lower() for one in things)
        for line in near.after(4)
    )


def _of_device(text: str) -> Status | None:
    """The fault of the device whose number stands beside a word like "kernel" or "stream": no other interface has these numbers."""
    found = _CODE.search(text) if _PERHAPS.search(text) else None
    status = numbered(int(found[1])) if found and int(found[1]) in STICKY else None
    return status if status and status.group == "device" else None


def _number(text: str) -> tuple[str, ...]:
    """What a number means where the line names CUDA or HIP beside it."""
    found = _CODE.search(text) if _NUMBERS.search(text) else None
    status = numbered(int(found[1])) if found else None
    return (f"if {found[1]} is an error of CUDA or HIP, it means: {status.meaning}",) if found and status else ()
