"""The OpenCL hooks under AddressSanitizer and UndefinedBehaviorSanitizer, in programs that do everything at once."""

from __future__ import annotations

import numpy as np
import pytest
from every_entry import every_entry
from native_kit import PROGRAMS, Kit
from support.builds import lasting_folder
from support.opencl import PROGRAMS as DETECTED
from support.opencl import find_loader
from support.sanitized import named
from support.simulated import crossed

from gpudx.facts import derive
from gpudx.trace import Trace

WAYS: tuple[dict[str, str], ...] = (
    {},
    {"GPUDX_FENCE": "red", "GPUDX_SERIALISE": "1"},
    {"GPUDX_FENCE": "high", "GPUDX_POISON": "cb"},
    {"GPUDX_FENCE": "red", "GPUDX_POISON": "nan"},
)

OURS = [("fenced", "right"), ("fenced", "threads"), ("edges", "refused"), ("edges", "lives")]


def check_arguments(trace: Trace) -> None:
    """Every argument that claims to be whole lies inside its launch's bytes."""
    launches = trace.select(trace.schema.doing("launch"))
    owner, arguments = trace.arguments(launches)
    flags = trace.schema.argument_flags
    plain = flags["set"]
    wide = np.flatnonzero((arguments["size"] > 8) & (arguments["flags"] == plain))
    lengths = [len(trace.argument_tail(int(p))) for p in launches]
    for i in wide:
        assert int(arguments["tail"][i]) + int(arguments["size"][i]) <= lengths[int(owner[i])]


@pytest.mark.parametrize("name", ["launches", "shared", "threads_fork", "thread_end", "storm", "builds", "refused"])
def test_programs(kit: Kit, name: str) -> None:
    built = kit.hooked(PROGRAMS / f"{name}.c", "address")
    arguments = {"thread_end": ["destructors"], "storm": ["300"]}.get(name, [])
    ran = kit.run([built, *arguments], "linked", timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "ERROR" not in ran.stderr
    trace = ran.traces()[0]
    assert not {g.kind for g in trace.gaps} & {"damaged", "stopped", "cut-file"}
    if name in ("launches", "shared"):
        check_arguments(trace)


@pytest.mark.parametrize("way", WAYS, ids=named)
def test_every_entry(kit: Kit, way: dict[str, str]) -> None:
    ran = kit.run([kit.hooked(every_entry(kit.shared), "address")], "linked", env=way)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(("words", "way"), crossed(OURS, WAYS[1:]), ids=named)
def test_memory_of_ours(kit: Kit, words: tuple[str, str], way: dict[str, str]) -> None:
    """On PoCL, whose own leaks are not looked for."""
    name, mode = words
    loader = find_loader()
    if loader is None:
        pytest.skip('no OpenCL loader and device: pip install "pyopencl[pocl]"')
    built = kit.hooked(DETECTED / f"{name}.c", "address", *loader.link)
    env = {**loader.environment, "POCL_CACHE_DIR": str(lasting_folder("kernels")), "ASAN_OPTIONS": "detect_leaks=0", **way}
    ran = kit.run([built, mode], "linked", env=env, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
    facts = derive(ran.trace())
    assert not facts.fences.damages and (facts.fences.blocks or facts.poison.count)
