"""Reports in the form that compute-sanitizer prints, with numbers and kernels of our own."""

from __future__ import annotations

BANNER = "========= COMPUTE-SANITIZER\n"


def marked(*lines: str) -> str:
    return "".join(f"========= {line}\n" for line in lines)


def report(*records: str, errors: int | None = None) -> str:
    """A whole report; `errors` is what its summary counts."""
    counted = len(records) if errors is None else errors
    return BANNER + "".join(records) + marked(f"ERROR SUMMARY: {counted} error{'' if counted == 1 else 's'}")


def invalid(
    kernel: str,
    address: int | str,
    *,
    verb: str = "write",
    size: int = 4,
    space: str = "global",
    block: int = 0,
    thread: int = 0,
    why: str = "out of bounds",
    nearest: str = "",
    frames: tuple[str, ...] = (),
) -> str:
    """One access that is not allowed."""
    return marked(
        f"Invalid __{space}__ {verb} of size {size} bytes",
        f"    at {kernel}+0x90 in scale.cu:12",
        f"    by thread ({thread},0,0) in block ({block},0,0)",
        f"    Access to {address if isinstance(address, str) else hex(address)} is {why}",
        *([f"    and is {nearest}"] if nearest else []),
        *(f"    Device Frame: {frame}" for frame in frames),
        "    Saved host backtrace up to driver entry point at kernel launch time",
        "        Host Frame: main [0x5678] in app",
        "",
    )  # fmt: skip


def uninitialised(kernel: str, address: int) -> str:
    return marked(
        "Uninitialized __global__ memory read of size 4 bytes",
        f"    at {kernel}+0x40 in scale.cu:20",
        "    by thread (3,0,0) in block (0,0,0)",
        f"    Address {address:#x}",
        "",
    )


def race(kernel: str) -> str:
    return BANNER + marked(
        f"Error: Race reported between Write access at {kernel}+0x90 in scale.cu:30",
        f"    and Read access at {kernel}+0xa0 in scale.cu:31 [512 hazards]",
        "",
        "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)",
    )


def barrier(kernel: str) -> str:
    return marked(
        "Barrier error detected. Divergent thread(s) in warp.",
        f"    at {kernel}+0x70 in scale.cu:40",
        "    by thread (5,0,0) in block (0,0,0)",
        "",
    )


def api_error(call: str, code: int, name: str) -> str:
    return marked(f'Program hit {name} (error {code}) due to "words" on CUDA API call to {call}.', "")
