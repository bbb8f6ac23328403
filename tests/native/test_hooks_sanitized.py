"""The OpenCL hooks under AddressSanitizer and UndefinedBehaviorSanitizer, in programs that do everything at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from every_entry import every_entry
from native_kit import NATIVE, PROGRAMS, WARNINGS, Kit
from support.opencl import PROGRAMS as DETECTED
from support.opencl import find_loader
from support.sanitized import FLAGS

from gpudx.facts import derive
from gpudx.trace import Trace

WAYS: tuple[dict[str, str], ...] = (
    {},
    {"GPUDX_FENCE": "red", "GPUDX_SERIALISE": "1"},
    {"GPUDX_FENCE": "high", "GPUDX_POISON": "cb"},
    {"GPUDX_FENCE": "red", "GPUDX_POISON": "nan"},
)


@pytest.fixture(scope="session")
def hooks(kit: Kit) -> list[Path]:
    """Object files of the recorder with its symbols, made with the sanitizers."""
    sources = [*kit.core_sources, *(NATIVE / "opencl").glob("*.c")]
    sources += [kit.generated / "cl_wrappers.c", kit.generated / "cl_exports.c"]
    return kit.objects("sanitized", sources, "-std=gnu11", "-g", *WARNINGS, *FLAGS)


def with_hooks(kit: Kit, hooks: list[Path], source: Path, opencl: Sequence[str] = ()) -> Path:
    """The program with the recorder linked in: its symbols come before those of the library (a fake, unless told)."""
    flags = ["-std=gnu11", "-g", *WARNINGS, *FLAGS, "-I", kit.generated, "-I", PROGRAMS]
    link = opencl or ["-L", str(kit.fake), f"-Wl,-rpath,{kit.fake}", "-lOpenCL"]
    return kit.built(source.stem, "cc", *flags, source, *hooks, *link, "-ldl", "-lpthread")


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
def test_programs(kit: Kit, hooks: list[Path], name: str) -> None:
    built = with_hooks(kit, hooks, PROGRAMS / f"{name}.c")
    arguments = {"thread_end": ["destructors"], "storm": ["300"]}.get(name, [])
    ran = kit.run([built, *arguments], "linked", timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "ERROR" not in ran.stderr
    trace = ran.traces()[0]
    assert not {g.kind for g in trace.gaps} & {"damaged", "stopped", "cut-file"}
    if name in ("launches", "shared"):
        check_arguments(trace)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: " ".join(way.values()) or "recorded")
def test_every_entry(kit: Kit, hooks: list[Path], way: dict[str, str]) -> None:
    ran = kit.run([with_hooks(kit, hooks, every_entry(kit.shared))], "linked", env=way)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("way", WAYS[1:], ids=lambda way: " ".join(way.values()))
@pytest.mark.parametrize(
    ("name", "mode"), [("fenced", "right"), ("fenced", "threads"), ("edges", "refused"), ("edges", "lives")]
)
def test_memory_of_ours(kit: Kit, hooks: list[Path], name: str, mode: str, way: dict[str, str]) -> None:
    """On PoCL, whose own leaks are not looked for."""
    loader = find_loader()
    if loader is None:
        pytest.skip('no OpenCL loader and device: pip install "pyopencl[pocl]"')
    built = with_hooks(kit, hooks, DETECTED / f"{name}.c", loader.link)
    env = {**loader.environment, "POCL_CACHE_DIR": str(kit.shared / "kernels"), "ASAN_OPTIONS": "detect_leaks=0", **way}
    ran = kit.run([built, mode], "linked", env=env, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
    facts = derive(ran.trace())
    assert not facts.fences.damages and (facts.fences.blocks or facts.poison.count)
