"""What device code says of kernels' parameters and of variables, where the program's file is at hand and has PTX of it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpudx.facts import Facts

if TYPE_CHECKING:  # readers of device code take a tenth of the time of all imports, and few runs need them
    from gpudx.ptx_checks.parameters import Loads, Roles
    from gpudx.ptx_checks.values import Values

MOST_BYTES = 256 << 20  # of a program


def roles_of(facts: Facts, kernel_row: int) -> Roles | None:
    """Of the kernel that an object is; None where nothing is known of its code."""
    info = facts.kernels.info(kernel_row)
    return _roles(Path(facts.trace.exe), info.symbol or info.name) if info and facts.trace.exe else None


def loads_of(facts: Facts, kernel_row: int) -> Loads | None:
    """What the kernel loads of its parameters; None where that is not known."""
    info = facts.kernels.info(kernel_row)
    return _loads(Path(facts.trace.exe), info.symbol or info.name) if info and facts.trace.exe else None


def values_of(facts: Facts, kernel_row: int) -> Values | None:
    """What its registers hold; None where that is not known."""
    info = facts.kernels.info(kernel_row)
    found = _values(Path(facts.trace.exe), info.symbol or info.name) if info and facts.trace.exe else None
    return found if found is not None and found.is_known else None


def alignment_of(facts: Facts, variable: str) -> int | None:
    """Of a variable of the device, in bytes: of an array of numbers the size of one. None where the program's PTX does not say it."""
    return _alignment(Path(facts.trace.exe), variable) if variable and facts.trace.exe else None


@lru_cache(maxsize=256)
def _roles(program: Path, symbol: str) -> Roles | None:
    from gpudx.evidence.device_functions import ptx_of
    from gpudx.ptx_checks.parameters import roles

    return roles(ptx_of(program, symbol), symbol) if _is_small(program) else None


@lru_cache(maxsize=256)
def _loads(program: Path, symbol: str) -> Loads | None:
    from gpudx.evidence.device_functions import ptx_of
    from gpudx.ptx_checks.parameters import loads

    return loads(ptx_of(program, symbol), symbol) if _is_small(program) else None


@lru_cache(maxsize=256)
def _values(program: Path, symbol: str) -> Values | None:
    from gpudx.evidence.device_functions import ptx_of
    from gpudx.ptx_checks.values import Values

    return Values(ptx_of(program, symbol), symbol) if _is_small(program) else None


@lru_cache(maxsize=256)
def _alignment(program: Path, variable: str) -> int | None:
    from gpudx.evidence.device_functions import alignments

    found = set(alignments(program, variable)) if _is_small(program) else set()
    return found.pop() if len(found) == 1 else None


def _is_small(program: Path) -> bool:
    try:
        return program.stat().st_size <= MOST_BYTES
    except OSError:
        return False
