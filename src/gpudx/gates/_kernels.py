"""What gates on numbers of kernels have in common: a limit, for all kernels or for some."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from typing import Any

from gpudx.errors import UserError
from gpudx.gates._judged import Judged, missing, whole_number
from gpudx.model import Built, Case, KernelBuild
from gpudx.text import plural

MOST_NAMED = 3
HOW = "make a case with `gpudx build --ask -- make -B`"


def judge_number(
    key: str, limit: Any, cases: Sequence[Case], number: Callable[[KernelBuild], int | None], unit: str
) -> Judged:
    """No kernel has more of it than the limit; a kernel of which it was not told fails the gate."""
    most, pattern = _limit(key, limit)
    kernels = [one.build for one in chosen(cases, pattern)]
    if not kernels:
        of = f" of {pattern}" if pattern != "*" else ""
        return missing(key, f"no compiler output about kernels{of}: {HOW}.")
    if why := unread(cases):
        return missing(key, f"{why}: give the parts of it as several logs.")
    untold = [build for build in kernels if number(build) is None]
    if untold:
        return missing(key, f"not known for {_named(untold)}: {HOW}.")
    over = [build for build in kernels if (number(build) or 0) > most]
    if over:
        worst = max(over, key=lambda build: number(build) or 0)
        many = plural(len(over), "kernel has", "kernels have")
        return Judged(
            key, False, f"{many} more than {most:,} {unit}; the most is {number(worst):,}, in {title(worst)}."
        )
    highest = max(number(build) or 0 for build in kernels)
    return Judged(key, True, f"{highest:,} {unit} at most in {plural(len(kernels), 'kernel')} ({most:,} allowed).")


def unread(cases: Sequence[Case]) -> str:
    """Why what was told may not be all; "" where nothing speaks against it."""
    logs = [one for case in cases for one in case.instruments if one.name.startswith("log ") and one.blind]
    return f"{logs[0].name.removeprefix('log ')} has {logs[0].blind}" if logs else ""


def chosen(cases: Sequence[Case], pattern: str) -> list[Built]:
    """Kernels whose name, with or without parameters, fits the pattern."""
    return [one for case in cases for one in case.kernels if fits(one.build.kernel, pattern)]


def fits(kernel: str, pattern: str) -> bool:
    bare = kernel.split("(")[0].removeprefix("void ")
    return any(fnmatch.fnmatchcase(name, pattern) for name in (kernel, bare, bare.split("<")[0]))


def title(build: KernelBuild) -> str:
    where = f" ({build.source})" if build.source else ""
    return f"{build.kernel.split('(')[0].removeprefix('void ')}{f' for {build.arch}' if build.arch else ''}{where}"


def _named(builds: list[KernelBuild]) -> str:
    names = ", ".join(map(title, builds[:MOST_NAMED]))
    return f"{names} and {len(builds) - MOST_NAMED} more" if len(builds) > MOST_NAMED else names


def _limit(key: str, limit: Any) -> tuple[int, str]:
    """A number, or { most = NUMBER, kernel = "PATTERN" }."""
    if not isinstance(limit, dict):
        return whole_number(key, limit), "*"
    unknown = set(limit) - {"most", "kernel"}
    if unknown or not isinstance(limit.get("kernel", "*"), str):
        raise UserError(f'gpudx.toml: {key} takes a number, or {{ most = 0, kernel = "gemm*" }}.')
    return whole_number(key, limit.get("most")), limit.get("kernel", "*")
