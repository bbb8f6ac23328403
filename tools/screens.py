"""Makes the golden first screens: keeps cases as tests/report/screens/NAME.json and what they show at 80 and 120 columns.

usage: PYTHONPATH=src python tools/screens.py [--keep NAME=CASE_DIRECTORY...]

Without arguments the texts are made anew from the kept cases: read the difference before you commit it. --keep adds a case, without
what belongs to the machine: loaded files, environment, process ids of other runs.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from gpudx import casefile
from gpudx.figures import kernel_text
from gpudx.report import Page
from gpudx.report.screen import render

ROOT = Path(__file__).resolve().parent.parent
SCREENS = ROOT / "tests/report/screens"
HERE = "@ROOT@"  # stands for this repository in kept cases
WIDTHS = (80, 120)
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
    for kept in sorted(SCREENS.glob("*.json")):
        for width in WIDTHS:
            kept.with_suffix(f".{width}.txt").write_text(screen(kept, width))


if __name__ == "__main__":
    main()
