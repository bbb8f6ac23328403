"""A kernel argument was passed with a different size than the kernel declares.

clSetKernelArg copies as many bytes as its size argument says. Some drivers refuse a size that does not fit; others copy what
they get, and the kernel reads bytes after it that were never set, or half of the value. The usual reasons: a host structure
whose padding differs from the device's, a three-component vector (which takes the space of four), a double where the kernel has
a float, an int where it has a long.

Example:

    struct range { long first; int count; };            // 16 bytes on the device: 4 bytes of padding at the end
    clSetKernelArg(kernel, 1, 12, &range);               // 12 bytes
    clSetKernelArg(kernel, 2, 3 * sizeof(float), xyz);   // kernel: float3, which is 16 bytes

With CUDA and HIP the arguments of a launch can be passed as one packed buffer (CU_LAUNCH_PARAM_BUFFER_POINTER). The driver does not
compare its length with what the kernel's parameters need. A buffer that is packed more tightly than the parameters are shifts all that
follows:

    #pragma pack(4)
    struct { CUdeviceptr x; int n; double dt; };         // 20 bytes; the kernel reads dt at byte 16 of 24

Fix it by passing `sizeof` of a host type with the same layout: cl_float3, cl_long, a structure with the same
padding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._consequence import failed_launch
from gpudx.detectors._failures import was_replaced
from gpudx.detectors._groups import groups
from gpudx.detectors._words import argument, declared, site_of
from gpudx.facts import Facts
from gpudx.facts.kernels import ArgInfo
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural

ID = "argument-size"
ADDRESSES = "Let each argument's address be that of a variable with the parameter's own type: size_t has 8 bytes."
CAUSE = Cause(
    id=ID,
    title="An argument was passed with a different size than the kernel declares",
    refutes_if="The declared type has the size that was passed on this device.",
    fix=(
        (
            "Pass sizeof of a host type with the same size and layout as the declared one; mind 3-component "
            "vectors (4 wide), tail padding and packed structures."
        ),
    ),
    fix_of=tuple((api, ADDRESSES) for api in ("cuda", "hip")),
    predicts=(("recorded", "the call is refused, or the kernel reads bytes that were not set"),),
    kind=FIXED,
)
FLOATS = {2: "half", 4: "float", 8: "double"}
INTEGERS = {1: "char", 2: "short", 4: "int", 8: "long, size_t or pointer"}


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel argument and size that was passed; repeats are counted."""
    sets = facts.set_args
    sizes = sets.declares("size")
    rows = np.flatnonzero((sizes >= 0) & (sets.size != sizes))
    rows = rows[(sets.pointer[rows] != 0) & ~sets.svm[rows]]
    rows = np.array([row for row in rows.tolist() if not was_replaced(facts, int(sets.position[row]))], np.int64)
    functions = facts.kernels.functions(sets.kernel_row[rows])
    for part in groups(rows, functions, sets.index[rows], sets.size[rows]):
        known = declared(facts, int(sets.kernel_row[part[0]]), int(sets.index[part[0]]))
        if known is not None and known.size is not None:
            yield _finding(facts, int(part[0]), known, known.size, len(part))
    yield from _short_buffers(facts)


def _short_buffers(facts: Facts) -> Iterator[Finding]:
    """One finding per kernel whose packed arguments end before its parameters do, at the first parameter that is cut off."""
    given, flag = facts.launches.arguments, facts.trace.schema.argument_flags.get("beyond", 0)
    rows = np.flatnonzero((given.flags & flag) != 0)
    _, first = np.unique(given.launch[rows], return_index=True)
    functions = facts.kernels.functions(facts.launches.kernel_row[given.launch[rows[first]]])
    for part in groups(rows[first], functions):
        yield _short_buffer(facts, int(part[0]), len(part))


def _short_buffer(facts: Facts, row: int, count: int) -> Finding:
    given, launches = facts.launches.arguments, facts.launches
    launch, index = int(given.launch[row]), int(given.index[row])
    length, size = int(given.value[row]), int(given.size[row])
    site = facts.sites.at(int(launches.position[launch]), argument=index)
    what = argument(facts, int(launches.kernel_row[launch]), index)
    needed = _parameter_bytes(facts, launch)
    takes = f", its parameters need {plural(needed, 'byte')}" if needed else ""
    return Finding(
        id=ID,
        severity="error",
        certainty="observed",
        because="The buffer that the launch passed ends before this parameter does, so the kernel does not get what was packed.",
        message=(
            f"{site.call} passed {plural(length, 'byte')} of packed arguments to kernel {site.kernel} (launch {site.launch})"
            f"{takes}: {what} lies beyond the end."
        ),
        site=site,
        count=count,
        causes=(ID,),
        evidence=(
            Evidence(f"the buffer of packed arguments has {plural(length, 'byte')}", (site.number,)),
            Evidence(f"{what} takes {plural(size, 'byte')}, more than the buffer has left", (site.number,)),
            *((Evidence(_effect(site.status, needed, length), (site.number,)),) if needed else ()),
        ),
        facts=(
            ("kernel", site.kernel or "?"),
            ("argument", str(index)),
            ("given", str(length)),
            ("declared", str(needed or "?")),
        ),
        steps=(
            "Give the packed structure the layout of the parameters: each at a multiple of its own alignment, without #pragma pack.",
            "Or pass an array of pointers to the arguments (kernelParams) instead of a packed buffer.",
        ),
    )


def _parameter_bytes(facts: Facts, launch: int) -> int | None:
    """How long the kernel's parameters are together, where the driver said so."""
    notes = facts.trace.named("note_kernel_params")
    mine = [note for note in notes.tolist() if facts.trace.record(note)["kernel"] == int(facts.launches.kernel[launch])]
    return int(facts.trace.record(int(mine[-1]))["bytes"]) if len(mine) else None


def _finding(facts: Facts, row: int, known: ArgInfo, size: int, count: int) -> Finding:
    sets = facts.set_args
    given, site = int(sets.size[row]), site_of(facts, int(sets.position[row]))
    what = argument(facts, int(sets.kernel_row[row]), known.index)
    reason = _reason(known, size, given)
    message = f"{site.call} passed {plural(given, 'byte')} for {what} of kernel {site.kernel}, which takes {size:,}" + (
        f": {reason}." if reason else "."
    )
    return Finding(
        id=ID,
        severity="error",
        message=message,
        site=site,
        others=failed_launch(facts, row),
        count=count,
        causes=(ID,),
        steps=_steps(known, size, given),
        evidence=(Evidence(_effect(site.status, size, given), (site.number,)),),
        facts=(
            ("kernel", site.kernel or "?"),
            ("argument", str(known.index)),
            ("given", str(given)),
            ("declared", str(size)),
        ),
    )


def _steps(known: ArgInfo, size: int, given: int) -> tuple[str, ...]:
    """For a number: which variable to pass."""
    if not known.scalar or known.is_memory or "*" in known.type:
        return ()
    wanted = f"{known.type} ({plural(size, 'byte')})"
    return (f"Pass the size and address of a variable of type {wanted}: the one that is passed has {given:,}.",)


def _effect(status: str | None, size: int, given: int) -> str:
    if status:
        return f"the driver refused the call with {status}" if status != "in flight" else "the call never returned"
    if given < size:
        unset = plural(size - given, "byte")
        return f"the driver accepted it, so the kernel reads {unset} that {'was' if size - given == 1 else 'were'} never set"
    return f"the driver accepted it, and the kernel reads the first {plural(size, 'byte')} only"


def _reason(known: ArgInfo, size: int, given: int) -> str:
    """Why the sizes may differ, "" where no usual reason fits."""
    if known.is_memory:
        return "a memory argument takes the size of a handle, not of the memory"
    if known.scalar and known.type.rstrip().endswith("3") and given * 4 == size * 3:
        return f"{known.type} takes the space of 4 components"
    if known.scalar:
        return _scalar(known, size, given)
    if known.packed and given > size:
        return "the kernel's structure is packed, the host's is not"
    if known.tail_padding and given == size - known.tail_padding:
        return f"the kernel's structure has {plural(known.tail_padding, 'byte')} of padding at its end"
    return "the host's structure has another layout than the kernel's"


def _scalar(known: ArgInfo, size: int, given: int) -> str:
    names = FLOATS if known.scalar in FLOATS.values() else INTEGERS
    if given in names and size in names:
        return f"{given} is the size of {'an' if names[given][0] == 'i' else 'a'} {names[given]}"
    return ""
