"""Makes the golden first screens: keeps cases as tests/report/screens/NAME.json and what they show at 80 and 120 columns.

usage: PYTHONPATH=src python tools/screens.py [--keep NAME=CASE_DIRECTORY...] [--record [PATTERN]]

Without arguments the texts are made anew from the kept cases: read the difference before you commit it. --keep adds a case, without
what belongs to the machine: loaded files, environment, process ids of other runs. --record runs the programs again, all or those whose
name matches: demo-NAME is a demo; run-, fence-, sanitize- and inv- (investigate) stand before the name of a planted program. A demo
that does not run here is left as it is: a case of it from another machine can be kept.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from gpudx import casefile
from gpudx.figures import kernel_text
from gpudx.report import Page
from gpudx.report.screen import render

ROOT = Path(__file__).resolve().parent.parent
SCREENS = ROOT / "tests/report/screens"
HERE = "@ROOT@"  # stands for this repository in kept cases
WIDTHS = (80, 120)
WAYS = {
    "run": ("run",),
    "fence": ("run", "--fence"),
    "sanitize": ("run", "--sanitize"),
    "inv": ("investigate", "--budget", "60s"),
}
ELSEWHERE = re.compile(
    r"(?<![\w@])/(?:tmp|work|root|home)/(?:[\w.+-]+/)*"
)  # folders of the machine that the case is from


def keep(name: str, place: Path) -> None:
    data = json.loads((place / casefile.NAME).read_text())
    data["kernel_text"] = _kernel_text(place)
    data |= {"identity": None, "surroundings": {}, "environment": {}, "directory": f"{HERE}/gpudx-cases/{name}"}
    first = Path(data["command"][0]).name
    data["command"] = [
        first if first.startswith("python") else f"./{first}",
        *(Path(word).name for word in data["command"][1:]),
    ]
    text = json.dumps(data, indent=1)
    for incident in (ROOT / "incidents").iterdir():  # demos are built in a copy of their folder
        if incident.name in name:
            text = text.replace(f"{place.absolute()}/build/", f"{HERE}/incidents/{incident.name}/")
    text = ELSEWHERE.sub("/elsewhere/", text.replace(str(ROOT), HERE))
    SCREENS.mkdir(exist_ok=True)
    (SCREENS / f"{name}.json").write_text(text + "\n")


def record(pattern: str) -> None:
    """Run the kept programs again, in a folder that goes away, and keep their cases."""
    names = [path.stem for path in sorted(SCREENS.glob("*.json")) if fnmatch.fnmatch(path.stem, pattern)]
    names += [] if any(one in pattern for one in "*?[") or pattern in names else [pattern]
    with tempfile.TemporaryDirectory(prefix="gpudx-screens-") as room:
        for name in names:
            place = Path(room) / name
            print(name, "->", _run(name, place, Path(room)), flush=True)
            if (place / casefile.NAME).exists() and any(one.calls for one in casefile.read(place).processes):
                keep(name, place)


def _run(name: str, place: Path, room: Path) -> int:
    """The exit status of gpudx for a screen of that name."""
    way, _, program = name.partition("-")
    if way == "demo":
        words = ["demo", "--case", str(place), program]
    else:
        words = [*WAYS[way], "--case", str(place), "--", *_built(program, room)]
    env = {**os.environ, "GPUDX_CASES": "none"}
    return subprocess.run([sys.executable, "-m", "gpudx", *words], env=env, check=False, capture_output=True).returncode


def _built(program: str, room: Path) -> list[str]:
    """The command of a planted OpenCL program."""
    sys.path.insert(0, str(ROOT / "benchmarks/accuracy"))
    from planted import build, programs  # type: ignore[import-not-found,unused-ignore]

    (found,) = programs(("opencl",), program)
    return build(found, False, room / "built")


def _kernel_text(place: Path) -> list[str]:
    """The text of the kernel that the verdict is about: traces are not kept."""
    case = casefile.read(place)
    access = case.diagnosis[0].access if case.diagnosis else None
    return kernel_text.of(case, access.kernel) if access and access.kernel else []


def screen(kept: Path, width: int) -> str:
    """What a kept case shows, in a working directory at the root of this repository."""
    os.chdir(ROOT)
    data = json.loads(kept.read_text().replace(HERE, str(ROOT)))
    text = data.pop("kernel_text", [])
    return render(casefile.from_json(data), Page(width), kernel_text=lambda case, kernel: text)


def main() -> None:
    for word in sys.argv[2:] if sys.argv[1:2] == ["--keep"] else []:
        name, _, place = word.partition("=")
        keep(name, Path(place))
    if sys.argv[1:2] == ["--record"]:
        for pattern in sys.argv[2:] or ["*"]:
            record(pattern)
    for kept in sorted(SCREENS.glob("*.json")):
        for width in WIDTHS:
            kept.with_suffix(f".{width}.txt").write_text(screen(kept, width))


if __name__ == "__main__":
    main()
