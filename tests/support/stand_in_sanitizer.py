"""A STAND-IN for compute-sanitizer. It checks nothing: it runs the program it is given and writes the report that it is
told to write, so that what gpudx makes of a report can be tested without a GPU and without the tool.

    STAND_IN_REPORT   the report's text; {memory} is what the program wrote into the file named by STAND_IN_MEMORY
    STAND_IN_DOES     "nothing": ends with status 255 without starting the program; "crash": dies of SIGSEGV after it
    STAND_IN_ARGS     a file for the arguments it was given

Like the tool, it runs the program below another process of its own, writes its report into --log-file, and ends with 255
unless it saw CUDA calls, which it never does: the program's status must come from elsewhere.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path


def install(folder: Path) -> Path:
    """The stand-in as a program of the tool's name in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "compute-sanitizer"
    path.write_text(f"#!{sys.executable} -IS\n" + Path(__file__).read_text())
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def main(words: list[str]) -> int:
    if words == ["--version"]:
        print("A stand-in\nVersion 1999.1.0")
        return 0
    told = os.environ.get("STAND_IN_ARGS")
    if told:
        Path(told).write_text("\n".join(words))
    options = {}
    while words[0].startswith("--"):  # all options that gpudx gives have a value
        options[words[0]], words = words[1], words[2:]
    does = os.environ.get("STAND_IN_DOES", "")
    if does == "nothing":
        return 255
    subprocess.run(["/bin/sh", "-c", '"$@"; true', "sh", *words], check=False)
    text = os.environ.get("STAND_IN_REPORT", "")
    memory = os.environ.get("STAND_IN_MEMORY")
    if text:
        seen = Path(memory).read_text() if memory else ""
        log = options["--log-file"].replace("%p", str(os.getpid())).replace("%%", "%")
        Path(log).write_text(text.replace("{memory}", seen))
    if does == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    return 255


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
