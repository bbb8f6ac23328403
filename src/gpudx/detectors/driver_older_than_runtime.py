"""The driver is older than the runtime library that the program brings.

A runtime of a newer major version needs a newer driver; with an older one its first call fails, or calls that came later are
missing.

Example:

    // built with and linked to CUDA 13, on a machine whose driver is for CUDA 12
    cudaGetDeviceCount(&count);      // cudaErrorInsufficientDriver

Mend it by updating the driver, or by building with the older toolkit.

Told of runtimes that were loaded as a file, by the version in its name; one that is linked into the program is not seen.
Versions with the same major number work together, and are not told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpudx import backends
from gpudx.detectors import Run
from gpudx.detectors._ages import name_of
from gpudx.facts import Facts
from gpudx.facts._backend import backend_module
from gpudx.facts.symbols import parse_maps
from gpudx.model import Evidence, Finding

ID = "driver-older-than-runtime"
Version = Callable[[str], tuple[int, int] | None]


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding at most."""
    for rules in filter(None, (backend_module(api, "versions") for api in backends.every())):
        known = filter(None, (rules.driver(device.numbers) for device in facts.kernels.devices.values()))
        yield from [found for driver in list(known)[:1] for found in _newer(facts, rules.runtime, driver)][:1]


def _newer(facts: Facts, runtime: Version, driver: tuple[int, int]) -> Iterator[Finding]:
    for path in dict.fromkeys(mapping.path for mapping in parse_maps(facts.trace.maps) if mapping.is_file):
        version = runtime(path)
        if version and version[0] > driver[0]:
            yield _finding(path, version, driver)


def _finding(path: str, runtime: tuple[int, int], driver: tuple[int, int]) -> Finding:
    has, needs = (f"{major}.{minor}" for major, minor in (driver, runtime))
    return Finding(
        id=ID,
        severity="warning",
        message=f"The driver is of version {has}, the runtime of {needs}: update the driver, or build with the older toolkit.",
        evidence=(Evidence(f"{path} was loaded"), Evidence(f"the driver says that it is of version {has}")),
        facts=(("driver", has), ("runtime", name_of(path))),
    )
