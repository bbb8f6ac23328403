"""Marks that the user put into the program: absent from what ran, in it but not reached, or fired. Three different things.

    TEXT        a text that the program writes: searched in all that was loaded, and in what the program wrote
    sym:NAME    a function, a variable or a kernel
    FILE:LINE   a source line

Whether a function or a line was reached is known only for kernels, from their launches; else "present" is all that is said.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpudx.elf.image import Image
from gpudx.facts import Facts
from gpudx.identity import packages, search
from gpudx.identity.built import source_files, texts_with
from gpudx.identity.places import is_package
from gpudx.identity.search import Answer
from gpudx.lab.probe_output import parse
from gpudx.lab.recorded import RunResult
from gpudx.model import LoadedObject, Probe
from gpudx.model.identity import ProbeKind
from gpudx.text import times

INTERPRETERS = re.compile(r"(?:node|nodejs|deno|bun|perl|ruby|julia|java|lua\w*|R|Rscript|php\w*|octave\w*)[\d.]*")
SHELLS = re.compile(r"(?:ba|da|z|k|fi)?sh|env|timeout|sudo|nice|taskset|numactl")
MOST_SHOWN = 3
NOTHING_RAN = "no process of the run could be inspected"


@dataclass(frozen=True)
class _Where:
    """All that can be searched."""

    objects: tuple[LoadedObject, ...]
    paths: tuple[str, ...]  # of objects whose content is that which ran
    scripts: tuple[str, ...]
    folders: tuple[str, ...]  # of Python sources
    kernels: tuple[str, ...]  # source texts that were given to compilers of kernels
    doubt: str  # why nothing may be called absent


def answers(run: RunResult, facts: Sequence[Facts], objects: Sequence[LoadedObject]) -> tuple[Probe, ...]:
    """One answer for each mark that was asked about."""
    where = _where(run, facts, objects)
    return tuple(_answer(wanted, run, facts, where) for wanted in dict.fromkeys(run.how.probes))


def looked_for(
    texts: Sequence[str], run: RunResult, facts: Sequence[Facts], objects: Sequence[LoadedObject]
) -> list[Probe]:
    """The same for texts that nobody asked about."""
    where = _where(run, facts, objects) if texts else None
    return [_of_text(text, run, where) for text in texts if where]


def _where(run: RunResult, facts: Sequence[Facts], objects: Sequence[LoadedObject]) -> _Where:
    python = [one for one in facts if _is_python(one)]
    scripts = [*_scripts(run.command), *(path for one in python for path in _scripts(one.trace.argv))]
    folders = [os.path.dirname(os.path.abspath(path)) for path in scripts if path.endswith(".py")] if python else []
    return _Where(
        tuple(objects),
        tuple(one.path for one in objects if one.sha256 and not one.unknown),
        tuple(dict.fromkeys(scripts)),
        (*folders, *packages.folders(objects)) if python else (),
        tuple(text for one in facts for text in _kernel_sources(one)),
        _doubt(facts, objects),
    )


def _is_python(facts: Facts) -> bool:
    return os.path.basename(facts.trace.exe).startswith("python")


def _scripts(words: Sequence[str]) -> list[str]:
    """Files among the words of a command that are not objects."""
    files = [word for word in words if os.path.isfile(word)]
    return [word for word in files if Image.open(word) is None]


def _kernel_sources(facts: Facts) -> list[str]:
    return [facts.trace.text(int(position)) for position in facts.trace.named("note_source")]


def _doubt(facts: Sequence[Facts], objects: Sequence[LoadedObject]) -> str:
    """Why "absent" may not be said of anything."""
    programs = [one for one in objects if one.executable and not SHELLS.fullmatch(os.path.basename(one.path))]
    users = {one.trace.exe for one in facts}
    lost = next((one for one in objects if one.unknown and (one.path in users or (one.executable and one.own))), None)
    if lost:
        return f"{os.path.basename(lost.path)} was deleted or changed since"
    cut = next((one.trace.exe for one in facts if not one.trace.ended and not one.trace.last_words), None)
    if cut is not None:
        return f"{os.path.basename(cut)} was ended before it could report what it had loaded since its first GPU call"
    other = next((one for one in programs if INTERPRETERS.fullmatch(os.path.basename(one.path))), None)
    if other:
        return f"what {os.path.basename(other.path)} interprets was not searched"
    seen = {one.trace.pid for one in facts}
    apart = next((one for one in programs if one.own and not seen & set(one.processes)), None)
    if apart:
        return f"{os.path.basename(apart.path)} called no GPU, so the libraries that it loaded are not known"
    return "" if objects else NOTHING_RAN


def _answer(wanted: str, run: RunResult, facts: Sequence[Facts], where: _Where) -> Probe:
    kind, text, number = parse(wanted)
    if kind == "text":
        return _of_text(text, run, where)
    return _of_symbol(text, facts, where) if kind == "symbol" else _of_line(text, number, where)


def _of_text(text: str, run: RunResult, where: _Where) -> Probe:
    mark = run.heard.get(text)
    if mark and mark.count:
        said = f"The probe {text!r} fired {times(mark.count)}: {_some(mark.places)}."
        return Probe(text, "text", "fired", said, mark.count, tuple(mark.places))
    found = _sum(
        search.text(where.paths, text),
        Answer(texts_with(where.scripts, text)),
        Answer(("the source of a kernel",) if any(text in source for source in where.kernels) else ()),
        search.in_sources(where.folders, text),
    )
    if found.places:
        said = f"The probe {text!r} is in {_names(found.places)} and was never written: it was not reached."
        return Probe(text, "text", "not reached", said, 0, found.places)
    return _missing(text, "text", f"the probe {text!r}", found, where)


def _of_symbol(name: str, facts: Sequence[Facts], where: _Where) -> Probe:
    launches = sum(len(one.launches.find(name)) for one in facts)
    if launches:
        return Probe(name, "symbol", "fired", f"The kernel {name} was launched {times(launches)}.", launches)
    source = Answer(("the source of a kernel",) if any(_word(name, text) for text in where.kernels) else ())
    found = _sum(
        search.symbol(where.paths, name, _own(where) or where.paths),
        source,
        search.in_sources(where.folders, f"def {name}("),
    )
    if found.places:
        return _present(name, "symbol", f"The symbol {name}", found.places)
    return _missing(name, "symbol", f"a symbol {name}", found, where)


def _of_line(file: str, number: int, where: _Where) -> Probe:
    text = f"{file}:{number}"
    own = _own(where)
    others = any(is_package(path) for path in where.paths)
    scripts = [path for path in where.scripts if path == file or path.endswith("/" + file)]
    found = _sum(search.line(own, file, number, others), Answer(tuple(p for p in scripts if _has_line(p, number))))
    if found.places:
        return _present(text, "line", f"Code for {text}", found.places)
    return _missing(text, "line", f"code for {text}", found, where)


def _own(where: _Where) -> tuple[str, ...]:
    """Debug information is read of the user's own objects only: that of a toolkit takes minutes."""
    own = {one.path for one in where.objects if one.own}
    return tuple(path for path in where.paths if path in own)


def _present(text: str, kind: ProbeKind, what: str, places: tuple[str, ...]) -> Probe:
    said = f"{what} is in {_names(places)}; it is not known whether it was reached."
    return Probe(text, kind, "present", said, 0, places)


def _missing(text: str, kind: ProbeKind, what: str, found: Answer, where: _Where) -> Probe:
    doubt = found.doubt or where.doubt
    if doubt:
        return Probe(text, kind, "unknown", f"It is not known whether {what} is in the program that ran: {doubt}.")
    searched = [f"{len(where.paths):,} loaded files", *(["Python sources"] if where.folders else [])]
    ran = next((os.path.basename(one.path) for one in where.objects if one.executable and one.own), "the program")
    said = f"Neither {ran} nor anything else that ran has {what} ({' and '.join(searched)} were searched)."
    return Probe(text, kind, "absent", said, sources=_in_sources(text, kind, where))


def _in_sources(text: str, kind: ProbeKind, where: _Where) -> tuple[str, ...]:
    """Where the mark stands in the sources that own objects were built from: then these are not what ran."""
    if kind == "line":
        return ()
    images = [image for path in _own(where) if (image := Image.open(path))]
    return texts_with(dict.fromkeys(file for image in images for file in source_files(image)), text)


def _sum(*parts: Answer) -> Answer:
    places = tuple(dict.fromkeys(place for part in parts for place in part.places))
    return Answer(places, "" if places else next((part.doubt for part in parts if part.doubt), ""))


def _word(name: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def _has_line(path: str, number: int) -> bool:
    try:
        with open(path, "rb") as file:
            return sum(1 for _ in file) >= number > 0
    except OSError:
        return False


def _some(places: Sequence[str]) -> str:
    more = [f"and {len(places) - MOST_SHOWN} more"] if len(places) > MOST_SHOWN else []
    return ", ".join([*places[:MOST_SHOWN], *more])


def _names(places: Sequence[str]) -> str:
    return _some([os.path.basename(place) if place.startswith("/") else place for place in places])
