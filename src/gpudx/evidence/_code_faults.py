"""What is wrong with device code as the compiler left it: spills, stack, kernels that are nothing but a trap, missing targets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from gpudx.backends.cuda.images import Code
from gpudx.backends.hip.targets import parse
from gpudx.backends.mangling import function_name
from gpudx.errors import UserError
from gpudx.evidence._device_code import Contents, Image, Kernel
from gpudx.model import DeviceCode, Evidence, Finding, Severity
from gpudx.text import listed, plural

NVIDIA = re.compile(r"(sm|compute)_(\d{2,3})([af]?)")
AMD = re.compile(r"gfx[0-9a-f]{3,4}(?::\w+[+-])*")
SHOWN = 6  # targets in a sentence

Found = list[tuple[Image, Kernel]]


def faults(contents: Contents, archs: Sequence[str]) -> Iterator[Finding]:
    """All of one file, missing targets first; a kernel that is built for several targets is told once for each fault."""
    for arch in archs:
        yield from _missing(contents, arch)
    for found in _by_symbol(contents).values():
        yield from _of_kernel(contents.name, found)


def _by_symbol(contents: Contents) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for image in contents.images:
        for kernel in image.kernels:
            found.setdefault(kernel.build.mangled, []).append((image, kernel))
    return found


# ---- kernels ----


def _of_kernel(file: str, found: Found) -> Iterator[Finding]:
    traps = [one for one in found if one[1].traps]
    if traps:
        yield _told(
            file, "kernel-is-a-trap", "warning", traps, TRAPS, lambda _: "it begins with a trap", ("device-trap",)
        )
    spills = [one for one in found if _spilled(one[1])]
    if spills:
        most = max(_spilled(kernel) for _, kernel in spills)
        yield _told(file, "kernel-spills", "warning", spills, SPILLS.format(most), _spills)
    stacks = [one for one in found if one[1].build.stack_bytes and one not in spills]
    if stacks:
        most = max(kernel.build.stack_bytes or 0 for _, kernel in stacks)
        maybe = "spilled registers, " if any(kernel.build.spill_stores is None for _, kernel in stacks) else ""
        yield _told(file, "kernel-uses-stack", "info", stacks, STACK.format(most, maybe), _stack)


TRAPS = (
    "stops at a trap before it does anything: the compiler found its body to be wrong, or the source has a trap for "
    "this target; read the compiler's warnings for it"
)
SPILLS = (
    "has more values than registers and moves {:,} bytes per thread to slow memory and back: allow it more registers "
    "(launch bounds), or make it smaller"
)
STACK = (
    "keeps {:,} bytes per thread on a stack in slow memory: {}arrays that are indexed by a variable, big arguments "
    "by value and recursion do that"
)


def _told(
    file: str,
    id_: str,
    severity: Severity,
    found: Found,
    what: str,
    number: Callable[[Kernel], str],
    causes: tuple[str, ...] = (),
) -> Finding:
    symbol = found[0][1].build.mangled
    targets = list(dict.fromkeys(image.target for image, _ in found))
    return Finding(
        id=id_,
        severity=severity,
        message=f"Kernel {function_name(symbol)} ({_listed(targets)}) {what}.",
        evidence=tuple(
            Evidence(f"{image.target}, {image.where} of {file}: {number(kernel)}") for image, kernel in found
        ),
        causes=causes,
        facts=(("kernel", symbol), ("file", file)),
        code=DeviceCode(found[0][1].build.kernel, ", ".join(targets)),
    )


def _spilled(kernel: Kernel) -> int:
    return max(kernel.build.spill_stores or 0, kernel.build.spill_loads or 0)


def _spills(kernel: Kernel) -> str:
    count = kernel.numbers.get("vector spills")
    how = f" ({plural(count, 'vector register')})" if count else ""
    return f"{plural(_spilled(kernel), 'byte')} per thread spilled{how}, {kernel.build.registers} registers used"


def _stack(kernel: Kernel) -> str:
    dynamic = ", and more that the compiler cannot know" if kernel.numbers.get("dynamic stack") else ""
    return f"{plural(kernel.build.stack_bytes or 0, 'byte')} of stack per thread{dynamic}"


# ---- targets ----


def _missing(contents: Contents, arch: str) -> Iterator[Finding]:
    """No code for a target at all, or kernels that only the code for other targets has."""
    runs = runner(arch)
    fit = [image for image in contents.images if runs(image)]
    if not fit:
        yield _none(contents, arch)
    elif all(image.kernels for image in fit):  # PTX lists no kernels
        here = {kernel.build.mangled for image in fit for kernel in image.kernels}
        for symbol, found in _by_symbol(contents).items():
            if symbol not in here:
                what = f"has no code that runs on {arch}: it was left out when the file was built for that target"
                has = "this is where it has code"
                yield _told(contents.name, "kernel-not-built-for", "warning", found, what, lambda _, has=has: has)  # type: ignore[misc]


def _none(contents: Contents, arch: str) -> Finding:
    held = _listed(list(contents.targets)) if contents.targets else "nothing that is known"
    unread = [image for image in contents.images if image.unread]
    return Finding(
        id="no-code-for-target",
        severity="warning" if unread else "error",
        message=f"Nothing in {contents.name} runs on {arch}: it has code for {held}; build it for {arch} too.",
        evidence=(
            Evidence(f"{contents.name} holds {plural(len(contents.images), 'image')}, for {held}"),
            *(Evidence(f"{image.where} could not be read: it {image.unread}") for image in unread),
        ),
        causes=("wrong-architecture",),
        facts=(("file", contents.name), ("arch", arch)),
    )


def runner(arch: str) -> Callable[[Image], bool]:
    """What tells whether an image runs on a device of this kind, written as compilers write it. UserError otherwise."""
    if found := NVIDIA.fullmatch(arch):
        major, minor = divmod(int(found[2]), 10)
        device = {"capability_major": major, "capability_minor": minor}
        return lambda image: (
            image.vendor == "NVIDIA" and (code := _code(image.target)) is not None and code.runs_on(device)
        )
    if AMD.fullmatch(arch):
        return lambda image: image.vendor in ("AMD", "SPIR-V") and parse(image.target).runs_on(parse(arch))
    raise UserError(f"{arch!r} is not an architecture: write it as compilers do, as sm_90 or gfx90a:xnack-.")


def _code(target: str) -> Code | None:
    found = NVIDIA.fullmatch(target)
    return Code(found[1] == "compute", int(found[2]), found[3]) if found else None


def _listed(names: Iterable[str]) -> str:
    known = [name or "a target that is unknown" for name in names]
    more = [f"{len(known) - SHOWN} more"] if len(known) > SHOWN else []
    return listed(known[:SHOWN] + more)
