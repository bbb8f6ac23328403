"""The next command, ready to paste: what would settle an event that a log can only name.

Formats write it for a program called ./app on Linux; `fit` puts in the log's own command, and takes another tool where the log
is of Windows, Android or macOS, on which gpudx does not run.
"""

from __future__ import annotations

import re

APP = "./app"
SERIALISE = f"gpudx run --serialise --stacks -- {APP}"
SANITIZE = f"gpudx run --sanitize --stacks -- {APP}"
RECORD = f"gpudx run --stacks -- {APP}"
RACES, UNINITIALIZED, BARRIERS = (
    SANITIZE.replace("--sanitize", f"--sanitize={tool}") for tool in ("racecheck", "initcheck", "synccheck")
)
DUMP = f"gpudx run --dump --stacks -- {APP}"
HANG = f"gpudx run --dump --timeout 120s -- {APP}"
INVESTIGATE = f"gpudx investigate -- {APP}"
FLAKE = f"gpudx flake -- {APP}"
DOCTOR = "gpudx doctor -v"
HEALTH = "nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER"
# These variables are the runtime's own (HIP documentation, "Debugging with HIP"): they need nothing but the program.
HIP_SERIALISE = f"AMD_SERIALIZE_KERNEL=3 AMD_SERIALIZE_COPY=3 AMD_LOG_LEVEL=3 {APP}"
HIP_LOG = f"AMD_LOG_LEVEL=3 {APP}"
ANDROID = "adb logcat -b all -d"
DMESG = "sudo dmesg --level=err,warn"
# The kernel keeps what a driver saved about a fault until it is read (Linux, Documentation/driver-api/devcoredump).
DEVCOREDUMP = "sudo cp /sys/class/devcoredump/devcd*/data gpu-state.bin"
I915 = "sudo cat /sys/class/drm/card0/error > i915-error.txt"
WINDOWS_DEVICES = "dxdiag /t dxdiag.txt"
MACOS = "log show --last 1h --predicate 'eventMessage CONTAINS[c] \"gpu\"'"
OPENCL_DEVICES = "clinfo > clinfo.txt"
SYSTEM_EVENTS = "wevtutil qe System /c:30 /rd:true /f:text"
ACCELERATOR = "accelerator"  # of models, and no GPU: nothing of gpudx knows it
# Interfaces that gpudx does not record, with their own switches: the Vulkan loader, Metal's and Level Zero's validation, SYCL's trace.
OWN = {
    "vulkan": f"VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation {APP}",
    "webgpu": f"RUST_BACKTRACE=1 RUST_LOG=wgpu_core=debug,wgpu_hal=debug {APP}",
    "metal": f"MTL_DEBUG_LAYER=1 MTL_SHADER_VALIDATION=1 {APP}",
    "level-zero": f"ZE_ENABLE_VALIDATION_LAYER=1 ZE_ENABLE_PARAMETER_VALIDATION=1 {APP}",
    "sycl": f"SYCL_UR_TRACE=2 {APP}",
    "direct3d": f"PROTON_LOG=1 {APP}",
    "browser": "chrome://gpu",  # what people paste below its headline "Log Messages"
    "opengl": DMESG,
    # Mesa, docs/envvars.rst: dumps what ran when the device hung, and where it faulted.
    "radv": f"RADV_DEBUG=hang {APP}",
    "radeonsi": f"AMD_DEBUG=check_vm {APP}",
    ACCELERATOR: DMESG,
}
# compute-sanitizer and CUDA_LAUNCH_BLOCKING exist on Windows, too.
WINDOWS_CUDA = {
    SERIALISE: f"CUDA_LAUNCH_BLOCKING=1 {APP}",
    SANITIZE: f"compute-sanitizer {APP}",
    RECORD: f"compute-sanitizer --report-api-errors all {APP}",
    **{step: f"compute-sanitizer --tool {step.split('=')[1].split()[0]} {APP}" for step in (RACES, UNINITIALIZED, BARRIERS)},
    DUMP: f"compute-sanitizer {APP}",
    INVESTIGATE: f"compute-sanitizer {APP}",
    DOCTOR: "nvidia-smi -q",
}
_SETTINGS = re.compile(r"^((?:[A-Z_][A-Z0-9_]*=\S* )+)(.+)$")


def driver(name: str, cause: str) -> str:
    """What to look at after a line of a kernel driver."""
    if cause == "failed-call":  # the driver got no memory
        return DMESG
    if name.startswith(("nvidia", "nvrm")):
        return HANG if cause == "hang" else SANITIZE if cause else DMESG
    if name in ("amdgpu", "amdkfd", "kfd") and cause and cause != "hang":
        return HIP_SERIALISE
    if name == "i915" and cause:
        return I915
    return DEVCOREDUMP if cause else DMESG


def fit(step: str, command: str = "", system: str = "", api: str = "") -> str:
    """A next step for this program, system and interface; "" where none is known."""
    if api == "browser":
        return OWN[api]
    if system == "android":
        return step if not step or step.startswith("adb ") else ANDROID
    if api in OWN and step.startswith("gpudx " if api == ACCELERATOR else ("gpudx run", "AMD_SERIALIZE_")):
        step = OWN[api] if system != "windows" or api != "direct3d" else SYSTEM_EVENTS
    if system == "windows":
        return _on_windows(step, command or "app.exe", api)
    if system == "macos" and step and not step.startswith(("MTL_", "RUST_", "VK_", "log ")):
        return MACOS
    return with_command(step, command)


def with_command(step: str, command: str) -> str:
    """The step with the log's own command; variables that were set for it stay in front."""
    if not command or APP not in step:
        return step
    settings = _SETTINGS.match(command)
    if settings and step.startswith("gpudx "):
        return settings[1] + step.replace(APP, settings[2])
    return step.replace(APP, command)


def _on_windows(step: str, command: str, api: str) -> str:
    if step in (HANG, DMESG, DEVCOREDUMP) or (not step and api == "direct3d"):
        return SYSTEM_EVENTS
    if step.startswith("gpudx "):
        own = HIP_LOG if api == "hip" and step != DOCTOR else ""
        usual = WINDOWS_DEVICES if step == DOCTOR else OPENCL_DEVICES if step == RECORD and api == "opencl" else SYSTEM_EVENTS
        step = WINDOWS_CUDA.get(step, usual) if api == "cuda" else own or usual
    settings = _SETTINGS.match(step)
    if settings:
        step = "".join(f"set {one}&& " for one in settings[1].split()) + settings[2]
    return with_command(step, command)
