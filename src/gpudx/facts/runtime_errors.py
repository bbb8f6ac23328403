"""Calls of a runtime library that failed without a driver call that failed (native/cuda/runtime_errors.c)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gpudx.backends.mangling import function_name
from gpudx.facts._backend import backend_module
from gpudx.facts.sites import Sites
from gpudx.model import Site
from gpudx.trace import Trace


@dataclass(frozen=True)
class RuntimeFailure:
    """A failed runtime call: where it was made, what it was given, and which cause its error names."""

    site: Site
    command: bool  # it should have started work: a launch, a copy, a fill
    parameters: Mapping[str, int]
    said: tuple[str, ...]  # the parameters for people
    cause: str


def runtime_failures(trace: Trace, sites: Sites) -> list[RuntimeFailure]:
    """In order of time. Those in which a driver call failed are left out: its record says more."""
    note = trace.schema.by_name("note_runtime_error")
    runtime = backend_module("cuda", "runtime")
    if note is None or runtime is None:
        return []
    positions = [int(position) for position in trace.select(note)]
    told = {trace.record(one)["result"] for one in positions if runtime.function(trace.text(one)) in runtime.REPORTING}
    found = []
    for position in positions:
        name, record = runtime.function(trace.text(position)), trace.record(position)
        code = record["result"]
        # What the driver answered too is recorded there, unless it is an answer that the record takes for ordinary.
        in_driver = code not in runtime.ORDINARY and _driver_failed(trace, position, record["began"])
        if not runtime.is_own(name, code, told) or in_driver:
            continue
        given = runtime.parameters(name, trace.numbers(position))
        kernel = function_name(trace.text(position, "text2")) or None
        site = replace(sites.at(position), call=name, api="cuda", kernel=kernel, status=runtime.error(code))
        command = runtime.COMMANDS.match(name) is not None
        found.append(RuntimeFailure(site, command, given, tuple(runtime.said(given)), runtime.cause(name, code, given)))
    return found


@dataclass(frozen=True)
class EmptyFill:
    """A fill of 0 bytes: what was to be filled, and with which value."""

    site: Site
    address: int
    value: int


def empty_fills(trace: Trace, sites: Sites) -> list[EmptyFill]:
    """In order of time: of a runtime library, and of calls whose value is as wide as an int."""
    note, runtime = trace.schema.by_name("note_runtime_error"), backend_module("cuda", "runtime")
    found = []
    for position in map(int, trace.select(note)) if note is not None else ():
        assert runtime is not None
        name, record = runtime.function(trace.text(position)), trace.record(position)
        given = runtime.parameters(name, trace.numbers(position)) if not record["result"] else {}
        if "value" in given and not given.get("count", 1):
            site = replace(sites.at(position), call=name, api="cuda")
            found.append((position, EmptyFill(site, given["dst"], given["value"])))
    for info in trace.schema.doing("fill"):
        if info.writes != "dst+count" or None in (info.word("value"), info.word("dst"), info.word("count")):
            continue
        positions = trace.select(info)
        none = positions[(trace.field(info, "count", positions) == 0) & (trace.field(info, "value", positions) > 255)]
        found += [(p, EmptyFill(sites.at(p), trace.record(p)["dst"], trace.record(p)["value"])) for p in map(int, none)]
    return [fill for _, fill in sorted(found, key=lambda one: one[0])]


def _driver_failed(trace: Trace, note: int, began: int) -> bool:
    """Did a driver call of the same thread fail since the runtime call began?"""
    before = np.arange(max(0, note - 64), note)
    same = trace.column("tid", before) == trace.column("tid", np.array([note]))[0]
    inside = same & (trace.column("begin", before) >= began) & (trace.column("status", before) != 0)
    return bool(inside.any())
