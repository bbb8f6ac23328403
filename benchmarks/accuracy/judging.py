"""Compares a case with what a program's header says: right, partial, silent or wrong, and alarms on twins.

Only case.json is read. An entry of its diagnosis counts as confident if its status is confirmed or likely.

- right: a confident entry names an acceptable cause and every place that the header knows (kernel, launch, argument, call and,
  of a race, the second site), and no confident entry is wrong
- wrong: a confident entry names another cause, kernel, launch or argument
- partial: the cause is right but a place is missing, or the entry is inconclusive, or a symptom is reported at the right place
- silent: nothing of this
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from planted import Planted

Result = Literal["right", "partial", "silent", "wrong", "alarm", "clean", "no case"]
Entry = dict[str, Any]

_NAMES = tomllib.loads((Path(__file__).resolve().parent / "causes.toml").read_text())
SYMPTOMS = frozenset(_NAMES.pop("symptoms")["causes"])
WIDER: dict[str, str] = _NAMES

# Calls of the CUDA runtime under the names that the driver has for them.
_DRIVER = {
    "malloc": "memalloc",
    "free": "memfree",
    "mallochost": "memallochost",
    "freehost": "memfreehost",
    "hostalloc": "memhostalloc",
    "hostregister": "memhostregister",
    "mallocasync": "memallocasync",
    "freeasync": "memfreeasync",
    "memsetasync": "memsetd8async",
    "launchhostfunc": "launchhostfunc",
}


@dataclass(frozen=True)
class Judgement:
    """The result for one run, with the entry that decided it in words."""

    result: Result
    why: str
    line_named: bool = False


def judge(program: Planted, case: dict[str, Any] | None, twin: bool) -> Judgement:
    """What the case is worth for this program or for its twin."""
    if case is None:
        return Judgement("no case", "gpudx wrote no case.json")
    entries: list[Entry] = case.get("diagnosis") or []
    confident = [entry for entry in entries if entry.get("status") in ("confirmed", "likely")]
    if twin or not program.has_fault:
        return Judgement("alarm", _words(confident[0])) if confident else Judgement("clean", "")
    opinions = [_opinion(program, entry) for entry in confident]
    line_named = any(_names_line(program, entry) for entry in confident)
    for wanted in ("wrong", "right", "partial"):
        for opinion, why in opinions:
            if opinion == wanted:
                return Judgement(wanted, why, line_named)
    unsure = [entry for entry in entries if entry.get("status") == "inconclusive" and _cause_fits(program, entry)]
    if unsure:
        return Judgement("partial", f"inconclusive: {_words(unsure[0])}", _names_line(program, unsure[0]))
    return Judgement("silent", opinions[0][1] if opinions else "")


def _opinion(program: Planted, entry: Entry) -> tuple[str, str]:
    """Right, partial, wrong or nothing, of one confident entry."""
    guilty = entry.get("guilty") or {}
    words = _words(entry)
    kernel = base_name(guilty.get("kernel"))
    strays = bool(program.kernels and kernel and kernel not in (*program.kernels, *program.others))
    if not _cause_fits(program, entry):
        if entry.get("cause") not in SYMPTOMS or strays:
            return "wrong", f"another cause: {words}"
        return ("partial" if kernel and kernel in program.kernels else ""), f"a symptom: {words}"
    if strays:
        return "wrong", f"another kernel: {words}"
    for name, wanted in _numbers(program):
        if wanted and guilty.get(name) is not None and guilty[name] not in wanted:
            return "wrong", f"{name} {guilty[name]} instead of {' or '.join(map(str, wanted))}: {words}"
    if missing := _missing(program, entry):
        return "partial", f"{missing} is missing: {words}"
    return "right", words


def _numbers(program: Planted) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The right launches and arguments; none where the header does not say."""
    return ("launch", () if program.launch is None else (program.launch,)), ("argument", program.arguments)


def _missing(program: Planted, entry: Entry) -> str:
    """The first place that the header knows and the entry does not name."""
    guilty = entry.get("guilty") or {}
    kernel, call = base_name(guilty.get("kernel")), guilty.get("call") or ""
    at_kernel = bool(kernel) and kernel in program.kernels
    at_call = any(same_call(call, one) for one in program.calls)
    if (program.kernels or program.calls) and not at_kernel and not at_call:
        return " or ".join((*program.kernels, *program.calls))
    if at_call and not at_kernel:
        return _second_site(program, entry, call)
    for name, wanted in _numbers(program):
        if wanted and guilty.get(name) is None:
            return name
    return _second_site(program, entry, kernel)


def _second_site(program: Planted, entry: Entry, first: str) -> str:
    """Empty if the race's other site is named anywhere in the entry, or if the program has no second site."""
    wanted = [one for one in program.others if one != first and not same_call(one, first)] or list(program.others)
    text = json.dumps({key: value for key, value in entry.items() if key not in ("fix", "refutes_if")})
    called = re.findall(r"\b(?:cu|cl|hip)[A-Z]\w+", text)
    if not wanted or any(re.search(rf"\b{re.escape(one)}\b", text) for one in wanted):
        return ""
    if any(same_call(one, name) for one in wanted for name in called):
        return ""
    return "the second site " + " or ".join(wanted)


def _cause_fits(program: Planted, entry: Entry) -> bool:
    cause = str(entry.get("cause"))
    return cause in program.causes or WIDER.get(cause) in program.causes


def _names_line(program: Planted, entry: Entry) -> bool:
    return program.fault_line is not None and bool(
        re.search(rf"{re.escape(program.path.name)}:{program.fault_line}\b", json.dumps(entry))
    )


def base_name(kernel: str | None) -> str:
    """`scale` of "void ns::scale<float>(float*, int)"."""
    if not kernel:
        return ""
    plain = re.sub(r"<.*", "", kernel.split("(")[0])
    return plain.split()[-1].split("::")[-1] if plain.split() else ""


def same_call(one: str, other: str) -> bool:
    """Whether both name the same API function: cudaMemcpyAsync is cuMemcpyHtoDAsync_v2."""
    return bool(one) and bool(other) and _stem(one) == _stem(other)


def _stem(call: str) -> str:
    stem = re.sub(r"^(cuda|cu|cl|hip)(?=[A-Z])", "", call.split("(")[0].strip())
    stem = re.sub(r"_(v\d+|ptsz|ptds)\b", "", stem)
    stem = re.sub(r"(HtoD|DtoH|DtoD)", "", stem).lower()
    return _DRIVER.get(stem, stem)


def _words(entry: Entry) -> str:
    guilty = entry.get("guilty") or {}
    place = [base_name(guilty.get("kernel")) or guilty.get("call") or ""]
    place += [f"{name} {guilty[name]}" for name in ("launch", "argument") if guilty.get(name) is not None]
    return f"{entry.get('status')} {entry.get('cause')} ({', '.join(one for one in place if one)})"
