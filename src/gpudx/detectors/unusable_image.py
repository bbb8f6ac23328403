"""Device code could not be loaded: nothing in it fits the device or the driver.

A program carries its device code for the architectures that it was built for. On another device, or with an older driver,
loading it fails; if code is loaded on first use, the failure comes at the first kernel, far from the build that caused it. The
status does not say what the program has. The report names both: the architectures of the image and of the device.

Example:

    nvcc -gencode arch=compute_120,code=sm_120 app.cu          // run on an sm_90 device
    kernel<<<grid, block>>>(data);                             // "no kernel image is available for execution"

Fix it by building for the named device (hipcc --offload-arch=gfxNNN for AMD), or by including PTX for an architecture that is
not newer.

Reported only if the trace shows it: no code of the image runs on the device, its PTX is newer than the driver, the driver must
not compile PTX and there is nothing else, or the image is not device code. If the image was not recorded and only the status
says that nothing fits, only the device is named. Not reported in a run that passed, if the program tried an image that is not
device code and continued.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._words import site_of
from gpudx.facts import Facts, backend_module
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import several

ID = "unusable-image"
CAUSES = (
    Cause(
        id="device-code-too-new",
        title="The device code was built by a newer toolkit than the driver supports",
        refutes_if="The driver has the toolkit's version or a newer one.",
        fix=(
            "Update the driver to one that is not older than the toolkit that made the code.",
            "Or build machine code for the device, which needs no compiler in the driver, or build with an older toolkit.",
        ),
        predicts=(("recorded", "loading the code fails with this driver, on every device"),),
        kind=FIXED,
        about="""The device code was built by a newer toolkit than the driver supports.
""",
    ),
    Cause(
        id="not-device-code",
        title="What was passed as device code is not device code",
        refutes_if="The image begins as device code does.",
        fix=(
            "Check the file that the image is read from: it may be missing, truncated, compressed, or a pointer to another file.",
        ),
        predicts=(("recorded", "loading the image fails, on every device"),),
        kind=FIXED,
        about="""What was passed as device code is not device code.
""",
    ),
    Cause(
        id="wrong-architecture",
        title="The program has no device code that this device can run",
        refutes_if="The image holds code for the device's architecture, or code that the driver can compile for it.",
        fix=("Build for the architecture of the device; `gpudx audit FILE` shows which ones a file has code for.",),
        fix_of=(
            ("cuda", "With nvcc: -gencode arch=compute_XY,code=sm_XY; with CMake: CMAKE_CUDA_ARCHITECTURES."),
            ("cuda", "Keep PTX for newer devices: -gencode arch=compute_XY,code=compute_XY."),
            ("hip", "With hipcc: --offload-arch=gfxNNN; with CMake: CMAKE_HIP_ARCHITECTURES."),
        ),
        predicts=(("recorded", "loading the code, or its first kernel, fails on this device"),),
        settled_by="a run of a build for the device's architecture",
        kind=FIXED,
        about="""The program has no device code that this device can run.
""",
    ),
)
I64 = NDArray[np.int64]
ARCHITECTURE, TOO_NEW, NOT_CODE = "wrong-architecture", "device-code-too-new", "not-device-code"


@dataclass(frozen=True)
class _Case:
    """A failing call, the image it is about and the device: what each of the reasons below looks at."""

    error: str  # as of the backend's table: bad, missing, no-code, no-compiler, too-new
    image: Any | None
    target: str
    numbers: dict[str, int]
    device: str
    driver: str
    loads: bool

    @property
    def codes(self) -> Sequence[Any]:
        return self.image.codes if self.image else ()

    @property
    def fitting(self) -> list[Any]:
        return [code for code in self.codes if code.runs_on(self.numbers)]


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per call, status and image; repeats are counted."""
    positions = facts.errors.of_images
    status = facts.trace.column("status", positions)
    for part in groups(positions, facts.trace.call[positions], status, _subjects(facts, positions)):
        load = facts.images.loaded_by(int(part[0]))
        case = _case(facts, int(part[0]), load)
        reason = _reason(case)
        if reason and (run.failed or reason[0] != NOT_CODE):
            yield _finding(facts, run, int(part[0]), load, case, reason, len(part))


def _subjects(facts: Facts, positions: I64) -> NDArray[np.uint64]:
    """The handle or image that each call is about: a launch that is refused a million times is looked into once."""
    found = np.zeros(len(positions), np.uint64)
    for number in np.unique(facts.trace.call[positions]):
        info, mine = facts.trace.schema.calls[int(number)], facts.trace.call[positions] == number
        name = next((n for n in ("kernel", "program", "image") if info.word(n) is not None), "")
        found[mine] = facts.trace.field(info, name, positions[mine])
    return found


def _case(facts: Facts, position: int, load: int) -> _Case:
    info, device = facts.trace.info(position), facts.kernels.device_at(position)
    images, numbers = backend_module(info.api, "images"), device.numbers if device else {}
    target = images.device_target(numbers) if images else ""
    return _Case(
        error=facts.errors.image_error(position),
        image=facts.images.at(load) if load >= 0 else facts.images.of_kernel(position),
        target=target,
        numbers=numbers,
        device=f"{target} ({device.name})" if device and target else "",
        driver=device.version if device else "",
        loads=info.does == "create" and info.object == "program",
    )


def _reason(case: _Case) -> tuple[str, str] | None:
    """A cause, and the sentence's end; None where nothing that was recorded explains the failure."""
    for look in (_not_code, _too_new, _no_architecture, _only_source, _not_known):
        found = look(case)
        if found:
            return found
    return None


def _not_code(case: _Case) -> tuple[str, str] | None:
    wrong = case.loads and case.error in ("bad", "no-code") and case.image is not None and case.image.odd
    return (NOT_CODE, f"the image is {case.image.odd}") if wrong and case.image else None


def _too_new(case: _Case) -> tuple[str, str] | None:
    if case.error != "too-new":
        return None
    languages = list(dict.fromkeys(code.language for code in case.codes if code.language))
    what = f"the image has {several(languages)}" if languages else "the image is newer than the driver"
    return TOO_NEW, f"{what}; the driver knows that of {case.driver} and older" if case.driver else what


def _no_architecture(case: _Case) -> tuple[str, str] | None:
    if case.image is None or not (case.codes and case.image.whole and case.target) or case.fitting:
        return None
    return ARCHITECTURE, f"the image has {case.image.holds}; the device is {case.device}"


def _only_source(case: _Case) -> tuple[str, str] | None:
    """Nothing is compiled for the device, and what could be compiled may not be."""
    if case.image is None or case.error != "no-compiler" or not case.fitting or any(c.compiled for c in case.fitting):
        return None
    return (
        ARCHITECTURE,
        f"the image has {case.image.holds}; the device is {case.device}, and the driver could not compile for it",
    )


def _not_known(case: _Case) -> tuple[str, str] | None:
    """The status alone says that nothing fits."""
    if case.error != "no-code" or case.fitting:
        return None
    holds = (
        f"the image has {case.image.holds}" if case.image and case.codes else "what the image holds was not recorded"
    )
    return ARCHITECTURE, f"{holds}; the device is {case.device or 'not described in the trace'}"


def _asked_for(facts: Facts, position: int) -> str | None:
    """The kernel that a call asks for by name."""
    info = facts.trace.info(position)
    named = facts.trace.array(position, "name") if info.does == "create" and info.object == "kernel" else b""
    types, symbol = backend_module(info.api, "types"), named.rstrip(b"\0").decode(errors="replace")
    return types.signature(symbol).name if symbol and types and hasattr(types, "signature") else symbol or None


def _launch(facts: Facts, position: int, frames: Sequence[str]) -> int | None:
    """The number of the launch that a call was made for: a kernel is looked up when it is first launched, and the launch itself is
    never made where that fails."""
    names = backend_module(facts.trace.info(position).api, "runtime_names")
    if names is None or not any(map(names.is_launch, frames)):
        return None
    return int((facts.launches.position < position).sum()) + 1


def _finding(
    facts: Facts, run: Run, position: int, load: int, case: _Case, reason: tuple[str, str], count: int
) -> Finding:
    site = site_of(facts, position)
    launch = site.launch or _launch(facts, position, site.host_stack)
    site = replace(site, kernel=site.kernel or _asked_for(facts, position), launch=launch)
    cause, text = reason
    evidence = [Evidence(f"{site.call} returned {site.status}", (site.number,))]
    if launch and facts.launches.at_position(position) is None:
        evidence.append(Evidence(f"the call is part of launch {launch}, which was never made", (site.number,)))
    if case.image:
        what = f"is {case.image.odd}" if case.image.odd else f"has {case.image.holds or 'no code'}"
        evidence.append(Evidence(f"the image {what}", (load + 1,) if load >= 0 else ()))
    if case.device:
        evidence.append(Evidence(f"the device is {case.device}, with {case.driver}"))
    of = f" for kernel {site.kernel}" if site.kernel else ""
    return Finding(
        id=ID,
        severity="error" if run.failed else "warning",
        message=f"{site.call}{of} failed with {site.status}: {text}.",
        evidence=tuple(evidence),
        site=site,
        count=count,
        causes=(cause,),
        facts=(
            ("call", site.call),
            ("cause", cause),
            ("holds", " ".join(c.target for c in case.codes)),
            ("device", case.target),
        ),
    )
