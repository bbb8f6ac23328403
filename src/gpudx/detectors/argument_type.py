"""A kernel argument has the size of the declared type, but the bits of another one.

An int passed where the kernel has a float (or the other way round) has the right size, so no driver can notice. The
kernel reads the same bits as another number: the integer 1024 as the float 1.4e-42, the float 1.0 as the integer
1065353216. Results are wrong, and loops run forever or not at all.

Example:

    int scale = 1024;
    clSetKernelArg(kernel, 1, sizeof scale, &scale);     // kernel: float scale

CUDA and HIP take a pointer to each argument, and copy as many bytes as the kernel declares. A float that is passed for a double
is read together with the four bytes behind it:

    float rate = 0.5f;
    void *arguments[] = {&y, &n, &rate};                 // kernel: double rate

Fix it by converting on the host: `cl_float scale = 1024`, `double rate = 0.5`.

It is reported only if every value that was set for the argument is like that. It is an error if the kernel's source does not
reinterpret the bits of an argument, and if the run failed or the source shows that the kernel computes with the number; otherwise
it is a warning: bits alone prove nothing.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._two_floats import TwoFloats, two_floats
from gpudx.detectors._words import argument, site_of
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import capital, plural, several

ID = "argument-type"
CAUSE = Cause(
    id=ID,
    title="An argument seems to hold another type than the kernel declares",
    refutes_if="The value makes sense as the declared type.",
    fix=("Convert the value to the declared type on the host before passing it.",),
    predicts=(("recorded", "results are wrong although no call fails"),),
    settled_by="a run in which the value is converted first",
    kind=FIXED,
)
I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
ENOUGH = 4  # unrelated values in the range of ordinary floats are no coincidence any more: (1/17)^4
EXPONENT = np.uint64(23)  # where it begins in a float: counters of random generators rarely leave theirs
LOWEST, HIGHEST = 0x3A800000, 0x49800000  # the floats from 1/1024 to 2^20: one in 17 of all 32-bit patterns
ROUND = (1 << 12) - 1  # floats that people write down end in zeros
ELEMENTS = (1, 2, 4, 8, 16)
ARGUMENTS = 1 << 12
SMALL = np.uint64(1 << 20)  # a whole number up to here is a float below 2e-39
# The floats 1e-39 to 1e-42, which somebody may mean. Smaller ones are not told from small whole numbers, and nobody computes with them.
TINY = np.array([1e-39, 1e-40, 1e-41, 1e-42], np.float32).view(np.uint32).astype(np.uint64)
REINTERPRETED = re.compile(r"\bas_\w+\s*\(|\bunion\b|\*\s*\(\s*(?:const\s+)?\w+\s*\*\s*\)\s*&")


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel argument whose every setting looks like another type."""
    sets = facts.set_args
    rows = np.flatnonzero((sets.declares("size") == 4) & (sets.size == 4))
    rows = rows[sets.value[rows] != 0]
    keys = facts.kernels.functions(sets.kernel_row)[rows] * ARGUMENTS + sets.index[rows].clip(0, ARGUMENTS - 1)
    for name, scalars, looks in (("an integer", ("float",), _like_integer), ("a float", ("int", "uint"), _like_float)):
        of_type = np.flatnonzero(np.isin(keys, _keys_of(facts, scalars)))
        kept = of_type[_all_look(keys[of_type], looks(_bits(facts, rows[of_type])))]
        for part in groups(rows[kept], keys[kept]):
            values = np.unique(_bits(facts, part))
            if name == "an integer" or _are_floats(facts, values, _bits(facts, part)):
                yield _finding(facts, run, part, name, values)
    if run.failed:
        yield from (_of_float(facts, one) for one in two_floats(facts))


def _of_float(facts: Facts, one: TwoFloats) -> Finding:
    given, launches = facts.launches.arguments, facts.launches
    row = int(one.rows[0])
    launch = int(given.launch[row])
    site = facts.sites.at(int(launches.position[launch]), argument=one.index, value=int(given.value[row]))
    what = argument(facts, int(launches.kernel_row[launch]), one.index)
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"{capital(what)} of kernel {site.kernel} (launch {site.launch}) seems to hold a float: its first 4 bytes are "
            f"{one.as_float:g}, all 8 are {one.as_double:g} as a double."
        ),
        because="The value makes sense as a float and the 4 bytes after it; nothing in the trace shows its type on the host.",
        site=site,
        count=len(one.rows),
        causes=(ID,),
        evidence=(
            Evidence(f"the kernel declares {what}, and the driver copies 8 bytes", (site.number,)),
            Evidence(f"the bytes are {int(given.value[row]):#018x}: {one.as_float:g} as a float in the lower half", (site.number,)),
            Evidence(f"{plural(len(one.rows), 'launch', 'launches')} of the kernel, all with such a value", (site.number,)),
        ),
        facts=(("kernel", site.kernel or "?"), ("argument", str(one.index)), ("looks like", "a float")),
        steps=(
            f"Declare the host variable that is passed for argument {one.index} as double, or the kernel's parameter as float.",
            "Or launch with kernel<<<...>>>(...), which converts arguments to the declared types.",
        ),
    )


def _bits(facts: Facts, rows: I64) -> U64:
    return facts.set_args.value[rows] & np.uint64(0xFFFFFFFF)


def _keys_of(facts: Facts, scalars: tuple[str, ...]) -> I64:
    """Arguments of one component that are declared as one of `scalars`, as function number and index in one number."""
    declared = [(f, arg) for f, info in enumerate(facts.kernels.of_functions) if info for arg in info.args.values()]
    return np.array(
        [f * ARGUMENTS + arg.index for f, arg in declared if arg.scalar in scalars and arg.size == 4], np.int64
    )


def _all_look(keys: I64, looks: NDArray[np.bool_]) -> I64:
    """Those settings that look so together with all others of their argument."""
    clean = np.ones(int(keys.max(initial=0)) + 1, bool)
    clean[keys[~looks]] = False
    return np.flatnonzero(clean[keys])


def _like_integer(values: U64) -> NDArray[np.bool_]:
    """Small integers are denormal floats, small negative ones NaNs with nearly all bits set: nobody passes those."""
    return (values < 0x00800000) | (values > 0xFFFF0000)


def _like_float(values: U64) -> NDArray[np.bool_]:
    return (values >= LOWEST) & (values <= HIGHEST)


def _are_floats(facts: Facts, values: U64, in_time: U64) -> bool:
    """Ordinary floats: several of different magnitude that go up and down, or round ones that are no recorded size."""
    steps = np.diff(in_time.astype(np.int64))
    if len(np.unique(values >> EXPONENT)) >= ENOUGH and (steps > 0).any() and (steps < 0).any():
        return True
    round_ = (values & np.uint64(ROUND)) == 0
    power_of_two = (values & (values - np.uint64(1))) == 0
    return bool(round_.all()) and not power_of_two.all() and not _is_size(facts, values)


def _is_size(facts: Facts, values: U64) -> bool:
    """A count or size around a gigabyte looks like a float too."""
    sizes = np.unique(facts.objects.table["size"])
    return bool(np.isin(np.concatenate([values * np.uint64(k) for k in ELEMENTS]), sizes).any())


def _makes_no_other_sense(facts: Facts, row: int, looks_like: str, values: U64) -> bool:
    """Whole numbers as floats, gigantic ones as integers, for a kernel that never takes the bits of one type for another; or small
    whole numbers, which are far below every float that people compute with."""
    whole = values.astype(np.uint32).view(np.float32)
    if looks_like == "a float" and not (whole == np.round(whole)).all():
        return False
    if looks_like == "an integer" and not ((values <= SMALL) & ~np.isin(values, TINY)).all():
        return False
    info = facts.kernels.info(int(facts.set_args.kernel_row[row]))
    source = facts.kernels.source(info.program, info.position) if info else ""
    return bool(source) and not REINTERPRETED.search(source)


def _first_launch(facts: Facts, row: int) -> int | None:
    """The number of the first launch that has the value of this setting."""
    launches, sets = facts.launches, facts.set_args
    later = np.flatnonzero((launches.kernel == sets.kernel[row]) & (launches.position > sets.position[row]))
    return int(later[0]) + 1 if len(later) else None


def _finding(facts: Facts, run: Run, part: I64, looks_like: str, values: U64) -> Finding:
    sets, row = facts.set_args, int(part[0])
    site = replace(site_of(facts, int(sets.position[row])), launch=_first_launch(facts, row))
    what = argument(facts, int(sets.kernel_row[row]), int(sets.index[row]))
    bits = int(sets.value[row]) & 0xFFFFFFFF
    as_int, as_float = (struct.unpack(code, struct.pack("<I", bits))[0] for code in ("<i", "<f"))
    meant, read = (as_int, f"{as_float:g}") if looks_like == "an integer" else (f"{as_float:g}", as_int)
    message = f"{capital(what)} of kernel {site.kernel} seems to hold {looks_like}: {meant}, read as {read}."
    shown = several([f"{int(v):#010x}" for v in values])
    computed = facts.kernels.computes_with(int(sets.kernel_row[row]), int(sets.index[row]))
    certain = (run.failed or computed) and _makes_no_other_sense(facts, row, looks_like, values)
    return Finding(
        id=ID,
        severity="error" if certain else "warning",
        certainty="observed" if certain else "recorded",
        attribution="this" if run.failed or not certain else "probable",  # a program that passes says nothing of its results
        because=f"The value makes sense as {looks_like} only, and the kernel reads the same bits as {read}.",
        message=message,
        site=site,
        count=len(part),
        causes=(ID,),
        evidence=(Evidence(f"{plural(len(part), 'setting')} of {what}, all of this kind: {shown}", (site.number,)),),
        facts=(("kernel", site.kernel or "?"), ("argument", str(site.argument)), ("looks like", looks_like)),
    )
