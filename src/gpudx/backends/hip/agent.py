"""ROCm's debug agent: under `gpudx run --dump` it writes the waves that stopped to a file of the case.

The runtime loads the library that HSA_TOOLS_LIB names; ROCM_DEBUG_AGENT_OPTIONS has its options ("ROCR Debug Agent user guide", which also
asks for HSA_ENABLE_DEBUG up to ROCm 6.2). It comes with ROCm, but not with each of its packages: where it is not found, nothing is set.
A user who has set one of the variables keeps his own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

LIBRARY = "librocm-debug-agent.so.2"
FILE = "waves.txt"
PLACES = ("/opt/rocm/lib", "/opt/rocm*/lib", "/opt/rocm*/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64")
TOOLS, OPTIONS = "HSA_TOOLS_LIB", "ROCM_DEBUG_AGENT_OPTIONS"


def settings(folder: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The variables that make the agent write into `folder`; none where it is missing. Its options are cut at blanks."""
    library = found(base)
    if library is None or TOOLS in base or OPTIONS in base or " " in str(folder):
        return {}
    return {TOOLS: str(library), "HSA_ENABLE_DEBUG": "1", OPTIONS: f"--output={folder / FILE}"}


def found(base: Mapping[str, str]) -> Path | None:
    """The agent's library: that of ROCM_PATH first."""
    own = [Path(base["ROCM_PATH"]) / "lib"] if base.get("ROCM_PATH") else []
    anywhere = (place for pattern in PLACES for place in sorted(Path("/").glob(pattern.lstrip("/")), reverse=True))
    return next((place / LIBRARY for place in (*own, *anywhere) if (place / LIBRARY).exists()), None)


def main() -> int:
    """For `gpudx doctor`: where it is; 3: nowhere."""
    library = found(os.environ)
    print(library if library else f"{LIBRARY} is in none of the usual places")
    return 0 if library else 3


if __name__ == "__main__":
    sys.exit(main())
