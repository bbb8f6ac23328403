"""OpenCL loaders of a process: a second one means calls that are not recorded.

The recorder comes in through one loader, as its layer or by its symbols. Libraries that bring a loader of their own (wheels of
pyopencl do) leave a program with two, and calls through the other one are not seen. So what is absent from such a record is unknown.
"""

from __future__ import annotations

import re

# "libOpenCL.so.1.0.0", and "libOpenCL-5519dec5.so.1.0.0" as wheels rename it.
LOADER = re.compile(r"(/\S*/libOpenCL[-\w]*\.so[.\d]*)$", re.MULTILINE)


def opencl_loaders(maps: str) -> tuple[str, ...]:
    """The loaders that are mapped, by /proc/PID/maps; each once."""
    return tuple(sorted(set(LOADER.findall(maps))))
