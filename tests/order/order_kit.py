"""Plays the programs of programs/, plain or recorded: CUDA on the fake driver of tests/cuda, OpenCL on a real driver."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from support.opencl import OpenCL
from support.typed import pair

from gpudx.detectors import Run, detect_all
from gpudx.facts import Facts, derive
from gpudx.model import Finding, Outcome
from gpudx.trace import Trace

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "cuda"))

from cuda_kit import Kit  # noqa: E402


@dataclass(frozen=True)
class Played:
    """A run that is over. `trace` is None where nothing was recorded."""

    code: int | None
    output: str
    trace: Trace | None

    @cached_property
    def facts(self) -> Facts:
        assert self.trace is not None and self.code == 0, self.output
        return derive(self.trace)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(detect_all(self.facts, Run(Outcome("passed", "The program ended normally.", 0))))


Stage = Callable[..., Played]


def asked(finding: Finding, *which: str) -> dict[str, str]:
    """The variables that hold the first call of a finding ("hold"), and put its two calls in order ("edge")."""
    return {f"GPUDX_{name.upper()}": getattr(pair(finding), name) for name in which}


def done_at(trace: Trace) -> list[tuple[int, str]]:
    """What was done at named calls: bits, and why not."""
    note = trace.schema.by_name("note_at_site")
    assert note is not None
    return [(trace.record(int(at))["at"], trace.text(int(at))) for at in trace.select(note)]


def play_cuda(kit: Kit, program: str, words: tuple[str, ...], recorded: bool = True, **environment: str) -> Played:
    """Once, with these variables."""
    built = kit.program(str(HERE / "programs" / program), way="LINKED")
    ran = kit.run([built, *words], recorded, environment)
    return Played(ran.returncode, ran.stdout + ran.stderr, ran.trace() if recorded else None)


def make_stage(kit: Kit, opencl: OpenCL | None = None) -> Stage:
    """stage(program, mode, "bug" or "twin", recorded): each is played once, with the driver and recorder of the kit."""

    def on_cuda(program: str, words: tuple[str, ...], recorded: bool) -> Played:
        return play_cuda(kit, program, words, recorded)

    def on_opencl(program: str, words: tuple[str, ...], recorded: bool) -> Played:
        assert opencl is not None
        built = opencl.build([HERE / f"programs/{program}.c"], "-Werror")
        ran = opencl.record([built, *words], **({} if recorded else {"LD_PRELOAD": "", "OPENCL_LAYERS": ""}))
        return Played(ran.outcome.exit_code, ran.output, ran.traces[0] if recorded else None)

    @cache
    def play(program: str, mode: str, which: str, recorded: bool = True) -> Played:
        return (on_cuda if program.startswith("cuda") else on_opencl)(program, (mode, which), recorded)

    return play
