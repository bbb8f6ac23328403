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
BLOCKED = "RoPE Q launch failed: an illegal memory access was encountered"
COPY = "hipMemcpy D2H failed: an illegal memory access was encountered"
BY_SIZE = "it has room for 16,384 values, the sizes passed with it need 32,768."
BY_PAGE = "and the access was to element 16,384: argument 3 x argument 4 is 32,768."
LINE = "main.cpp:161"
CALLER = "main.cpp:161 in main"
ABORTS = {"GPUDX_HIP_SIM_FAULT": "abort"}
# What is typed: the ways in which the runtime may tell of the fault, and what is printed then.
COMMANDS: dict[str, list[tuple[dict[str, str], str]]] = {
    "HIP_LAUNCH_BLOCKING=1 ./decode": [({}, BLOCKED)],
    "AMD_SERIALIZE_KERNEL=3 ./decode": [({}, BLOCKED)],
    "HSA_ENABLE_SDMA=0 ./decode": [({}, COPY)],
    "gpudx doctor": [({}, "HIP 7: --fence stops accesses at pages")],
    "gpudx run -- ./decode": [({}, BY_SIZE), ({}, LINE), (ABORTS, BY_PAGE), (ABORTS, LINE)],
    "gpudx investigate -- ./decode": [({}, CALLER), (ABORTS, CALLER)],
    "gpudx run --serialise -- ./decode": [({"GPUDX_CRUMBS": "off"}, BY_SIZE)],
    "gpudx run --fence -- ./decode": [({}, BY_SIZE), (ABORTS, BY_PAGE)],
    "gpudx run --dump --case decode-case -- ./decode": [(ABORTS, "wrote 4 bytes")],
    "gpudx explain agent.log --run decode-case": [({}, "argument 0")],
    "gpudx verify --before ./decode --after ./decode-fixed": [({}, "A FIX")],
}
QUOTED = (BLOCKED, COPY, BY_SIZE, BY_PAGE, "1 launch of 6 had completed when the device stopped", "wrote 4 bytes", "main.cpp:81", LINE)


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


def test_the_story_has_these_commands_and_quotes() -> None:
    typed = [line.strip() for line in STORY.splitlines() if re.match(r"    (gpudx |[A-Z_]+=\d \./)", line)]
    assert typed == [*COMMANDS, "gpudx demo hip-rope-misattributed"]  # the demo is run by the tests of incidents
    assert [quote for quote in QUOTED if quote not in " ".join(STORY.split())] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_prints_what_the_page_says(place: tuple[Path, dict[str, str]], command: str) -> None:
    folder = place[0]
    if "explain" in command:  # what the agent wrote in the step before; this test may run alone
        if not (folder / "decode-case").exists():
            typed(place, "gpudx run --dump --case decode-case -- ./decode", ABORTS)
        (folder / "agent.log").write_bytes((folder / "decode-case/dumps/waves.txt").read_bytes())
    for environment, wanted in COMMANDS[command]:
        assert wanted in typed(place, command, environment), (command, environment)


def typed(place: tuple[Path, dict[str, str]], command: str, environment: dict[str, str]) -> str:
    """All that a command printed, its line breaks aside."""
    folder, env = place
    if command.startswith("gpudx "):
        done = forked.gpudx(*shlex.split(command)[1:], cwd=folder, env=env | environment, timeout=240)
    else:
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder, env=env | environment, capture_output=True, text=True, check=False, timeout=240
        )
    return " ".join((done.stdout + done.stderr).split())
