"""docs/amd.md: every command of its story is run, on the simulated runtime in the shape of HIP 7, and prints what the page quotes."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from hip_kit import Kit
from support import forked
from support.builds import ROOT
from support.own import PYTHONPATH

from gpudx.backends.hip import DEVICE, agent
from gpudx.backends.hip.simulated import SHAPE

pytestmark = [
    pytest.mark.docs,
    pytest.mark.skipif(DEVICE.exists(), reason="the page quotes the simulated runtime"),
]
PAGE = (ROOT / "docs/amd.md").read_text()
STORY = PAGE[PAGE.index("## From ") : PAGE.index("## Versions")]
PROMPT, LEFT_OUT = "    $ ", "..."
DUMP = "gpudx run --dump --case decode-case -- ./decode"
ABORTS = {"GPUDX_HIP_SIM_FAULT": "abort"}
# What is another on each machine and in each run: folders, addresses, times.
VARIES = ((r"\S*/main\.cpp", "main.cpp"), (r"0x[0-9a-f]+", "0x"), (r"(after|in) [\d.]+ m?s\b", r"\1 s"), (r"\s+", " "))


def sessions() -> list[tuple[str, str]]:
    """The commands of the page, each with what it is said to print."""
    found: list[tuple[str, str]] = []
    for line in STORY.splitlines():
        if line.startswith(PROMPT):
            found.append((line.removeprefix(PROMPT), ""))
        elif found and (not line or line.startswith("    ")):
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
        elif found and found[-1][0]:
            found.append(("", ""))  # what is between two sessions belongs to none
    return [one for one in found if one[0]]


SESSIONS = sessions()


@pytest.fixture(scope="module")
def place(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The program and the fixed one, with the debug agent installed."""
    folder = tmp_path_factory.mktemp("story")
    name = "hip-rope-misattributed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SHAPE, "7")
        built = kit.incident(name)
        fixed = kit.incident(name, twin=True)
    for link, one in (("decode", built), ("decode-fixed", fixed)):
        (folder / link).symlink_to(one.program)
    library = folder / "rocm/lib" / agent.LIBRARY
    library.parent.mkdir(parents=True)
    library.touch()
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("GPUDX_", "HIP_", "HSA_", "AMD_", "LD_"))}
    env = clean | built.environment | {"GPUDX_LIB": str(kit.recorder), "PYTHONPATH": PYTHONPATH, "NO_COLOR": "1"}
    env |= {"ROCM_PATH": str(folder / "rocm")}
    return folder, env


def test_the_story_goes_from_the_error_to_the_proof() -> None:
    typed = [command for command, _ in SESSIONS]
    assert typed[0] == "./decode" and typed[-1].startswith("gpudx verify") and len(typed) == 13
    assert all(quote.strip() for _, quote in SESSIONS)


@pytest.mark.parametrize("number", range(len(SESSIONS)), ids=[command for command, _ in SESSIONS])
def test_a_command_prints_what_the_page_says(place: tuple[Path, dict[str, str]], number: int) -> None:
    command, quote = SESSIONS[number]
    folder = place[0]
    if "explain" in command:  # what the agent wrote in the step before; this test may run alone
        if not (folder / "decode-case").exists():
            typed(place, DUMP, ABORTS)
        (folder / "agent.log").write_bytes((folder / "decode-case/dumps/waves.txt").read_bytes())
    printed, at = typed(place, command, settings(command, quote)), 0
    for part in re.split(rf"^\s*{re.escape(LEFT_OUT)}$", quote, flags=re.MULTILINE):
        wanted = alike(part)
        assert wanted in printed[at:], (wanted, printed)
        at = printed.index(wanted, at) + len(wanted)


def settings(command: str, quote: str) -> dict[str, str]:
    """How the simulated runtime behaves in a step: it aborts where the page quotes that, or where its agent is asked."""
    if "Memory access fault" in quote or command == DUMP:
        return ABORTS
    return {"GPUDX_CRUMBS": "off"} if "--serialise" in command else {}


def typed(place: tuple[Path, dict[str, str]], command: str, environment: dict[str, str]) -> str:
    """All that a command printed, without what varies."""
    folder, env = place
    if command.startswith("gpudx "):
        done = forked.gpudx(*shlex.split(command)[1:], cwd=folder, env=env | environment, timeout=240)
    else:
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder, env=env | environment, capture_output=True, text=True, check=False, timeout=240
        )
    return alike(done.stderr + done.stdout)


def alike(text: str) -> str:
    for pattern, same in VARIES:
        text = re.sub(pattern, same, text)
    return text.strip()
