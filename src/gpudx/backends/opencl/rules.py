"""Rules of OpenCL that depend on versions and build options."""

from __future__ import annotations

import re

VERSION = re.compile(r"OpenCL (\d+)\.(\d+)")
LEAVE_MEMORY = ("clGet", "clCreate", "clRetain", "clRelease", "clIcd", "clLog")  # beginnings of functions of extensions
STANDARD = re.compile(r"-cl-std=CL(?:C)?(\d+)\.(\d+)")


def whole_groups(device_version: str, build_options: str) -> bool | None:
    """Must the global size be a multiple of the local size? None when only the driver knows.

    OpenCL 2.0 allows a remainder, to programs built with -cl-std=CL2.0 or later; without the option programs are
    OpenCL C 1.x. In OpenCL 3.0 it is optional again (OpenCL 3.0 specification, clEnqueueNDRangeKernel).
    """
    version, standard = VERSION.search(device_version), STANDARD.search(build_options)
    if not version or int(version[1]) < 2:
        return True
    if not standard or int(standard[1]) < 2 or "-cl-uniform-work-group-size" in build_options:
        return True
    return False if int(version[1]) == 2 else None


def starts_work(function: str) -> bool:
    """Can an extension's function start work, write memory, or give it to kernels, without a call that is recorded? Extensions are many:
    what is not known to leave memory alone may do so (native/opencl/checks_written.c knows the same ones)."""
    return not function.startswith(LEAVE_MEMORY)


def memory_of_image(desc: bytes) -> int:
    """The buffer or image that an image was made from, 0 if none: the last field of cl_image_desc."""
    return int.from_bytes(desc[64:72], "little")


def empty_launches(device_version: str) -> bool:
    """May the global size be 0? From OpenCL 2.1 on."""
    version = VERSION.search(device_version)
    return bool(version) and (int(version[1]), int(version[2])) >= (2, 1)  # type: ignore[index]
