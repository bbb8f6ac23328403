"""Running a program on Oclgrind, which simulates an OpenCL device and checks every access.

Oclgrind comes as an OpenCL driver, so the program finds it instead of its own through the loader; its command `oclgrind` would
take the loader's place, and the recorder with it. Its check for uninitialized values is left out: it reports bytes that
clEnqueueFillBuffer wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpudx.backends.opencl import TOOLS
from gpudx.errors import UserError
from gpudx.lab.probe import look_for
from gpudx.model.how import Simulator

FOLDER = "oclgrind"  # in the case directory
LOG = "log.txt"
MOST_ERRORS = "100000"  # it stops at 1,000 by itself, and one kernel can use these up
DRIVERS = ("lib/oclgrind", "lib64/oclgrind", "lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")
DRIVER = "liboclgrind-rt-icd.so"


def find() -> Simulator:
    """Oclgrind's driver. UserError when it is not installed."""
    tool = next(one for one in TOOLS if one.name == "oclgrind")
    found = look_for(tool)
    if found.state != "found":
        raise UserError(f"Oclgrind is not installed: {tool.install}.")
    prefix = Path(found.path).resolve().parent.parent
    driver = next((path for folder in DRIVERS if (path := prefix / folder / DRIVER).is_file()), None)
    if driver is None:
        raise UserError(f"Oclgrind's driver {DRIVER} is not below {prefix}: install Oclgrind with its OpenCL driver.")
    return Simulator(str(driver), found.version)


def environment(simulator: Simulator, case_dir: Path) -> Mapping[str, str]:
    """The variables that make the program use it, and the folder that they name."""
    folder = (case_dir / FOLDER).absolute()
    vendors = folder / "vendors"
    vendors.mkdir(parents=True, exist_ok=True)
    (vendors / "oclgrind.icd").write_text(f"{simulator.driver}\n")
    return {
        "OCL_ICD_VENDORS": str(vendors),
        "OCL_ICD_FILENAMES": "",
        "OCLGRIND_LOG": str(folder / LOG),
        "OCLGRIND_DATA_RACES": "1",
        "OCLGRIND_MAX_ERRORS": MOST_ERRORS,
    }
