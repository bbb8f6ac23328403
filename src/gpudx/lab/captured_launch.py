"""Captured launches: what `gpudx run --capture` and --nan ask the recorder for, and the capsules that come of it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpudx import __version__
from gpudx.errors import UserError
from gpudx.lab.environment import DIRECTORY, size_of
from gpudx.model.how import Capture, How

if TYPE_CHECKING:  # every run imports this module before the program starts: numpy comes later, in a thread that blocks signals
    from gpudx.capsule import raw
    from gpudx.capsule.model import Capsule

CAPTURE, NAN, VALUES = "GPUDX_CAPTURE", "GPUDX_NAN", "GPUDX_VALUES"  # native/core/capture.c
FOLDER, LIMIT = "GPUDX_CAPTURE_DIR", "GPUDX_CAPTURE_LIMIT"
NAME = "capture"  # the folder in the case
SPEC = re.compile(r"(?P<kernel>[^#]+?)(?:#(?P<launch>[1-9][0-9]{0,11}))?")


def wanted(text: str, limit: str | None) -> Capture:
    """KERNEL or KERNEL#N."""
    match = SPEC.fullmatch(text.strip())
    if not match:
        raise UserError(
            f"--capture {text} names no launch: write KERNEL, or KERNEL#3 for the third launch of that kernel."
        )
    bytes_ = size_of(limit) if limit is not None else Capture.limit
    if not bytes_:
        raise UserError(f"--capture-limit {limit} is not a size: give a number of bytes, for example 512M or 4G.")
    return Capture(match["kernel"], int(match["launch"] or 1), bytes_)


def environment(how: How, base: Mapping[str, str]) -> dict[str, str]:
    """The variables for the recorder, and the folder that it writes to."""
    if not how.capture and not how.nan and not how.values:
        return {}
    folder = Path(base[DIRECTORY]).parent / NAME
    folder.mkdir(parents=True, exist_ok=True)
    wanted = how.capture
    return {
        FOLDER: str(folder),
        **({CAPTURE: f"{wanted.kernel}#{wanted.launch}", LIMIT: str(wanted.limit)} if wanted else {}),
        **({NAN: f"{nan.every}@{nan.first}-{nan.last or 2**63}"} if (nan := how.nan) else {}),
        **({VALUES: "1"} if how.values else {}),
    }


@dataclass(frozen=True)
class Written:
    """What became of a captured launch."""

    kernel: str
    launch: int
    path: Path | None
    size: int = 0  # of the file
    capsule: Capsule | None = None
    problem: str = ""


def collect(case_dir: Path, ending: str = "", no_data: bool = False, keep_raw: bool = False) -> list[Written]:
    """Turn what the recorder left into capsules in the case."""
    from gpudx.capsule import raw

    folder = case_dir / NAME
    found = [_written(one, case_dir, no_data) for one in raw.captured(folder, f"gpudx {__version__}", ending, _typing)]
    if not keep_raw:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _written(one: raw.Captured, case_dir: Path, no_data: bool) -> Written:
    from gpudx.capsule import file

    if one.capsule is None:
        return Written(one.kernel, one.launch, None, problem=one.problem)
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", one.kernel)[:60]
    path = case_dir / f"{stem}-{one.launch}{file.SUFFIX}"
    made = one.capsule.without_data() if no_data else one.capsule
    return Written(one.kernel, one.launch, path, file.write(made, path), made)


def _typing(api: str, source: str, kernel: str, options: str) -> Sequence[raw.Typed]:
    from gpudx.backends.cuda import types as cuda_types
    from gpudx.backends.hip import types as hip_types
    from gpudx.backends.opencl.signatures import signature_of

    if not source:  # a C++ symbol has the types of its parameters
        types = hip_types if api == "hip" else cuda_types
        return [(one.type, "", 0) for one in types.signature(kernel).parameters or ()]
    found = signature_of(source, kernel, options)
    return [(one.type, one.name, one.space) for one in found or ()]
