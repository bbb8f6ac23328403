"""What the host threads of a program that was stopped were doing: the line of its own code at which each was, and the addresses it held."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from gpudx.facts import Facts
from gpudx.facts.once import once
from gpudx.facts.own_code import is_own
from gpudx.facts.symbols import Place, Symbols, pretty, symbols_of
from gpudx.facts.unwind import Frame, frames
from gpudx.text.places import is_installed
from gpudx.trace.host_threads import of_trace

SP = 7
# Functions that give the processor away for a while, or let some time pass: what calls them looks again and again.
PAUSES = re.compile(r"_*(?:GI_+)?(?:(?:clock_)?nanosleep|u?sleep|(?:sched|thrd|pthread)_yield)")


@dataclass(frozen=True)
class HostThread:
    """`source`: the innermost line of the program. `polls`: it runs there, or pauses there for a moment. `words`: what its registers and
    its stack held, as far as the function of that line; `registers`: the former alone."""

    tid: int
    source: str
    function: str
    stack: tuple[str, ...]
    polls: bool
    words: frozenset[int]
    registers: frozenset[int]


@once
def host_threads(facts: Facts) -> list[HostThread]:
    """The threads that were in code of the program; empty where threads were not looked at."""
    kept = of_trace(facts.trace.path, facts.trace.pid)
    symbols = symbols_of(kept.maps)
    found = []
    for words in kept.threads:
        walk = frames(words, symbols)
        chain = [symbols.places(one.inside) for one in walk]
        at = next((n for n, places in enumerate(chain) if any(map(is_own, places))), None)
        if at is None:
            continue
        own = next(place for place in chain[at] if is_own(place))
        above = [place for places in chain[:at] for place in places]
        until = walk[at + 1].registers[SP] if at + 1 < len(walk) else None
        held = _held(words.registers, words.stack, (until or words.sp) - words.sp)
        polls = all(map(_pauses, above))
        found.append(
            HostThread(words.tid, own.source, pretty(own.function), _lines(walk, symbols), polls, held, frozenset(words.registers))
        )
    return found


def _pauses(place: Place) -> bool:
    return PAUSES.fullmatch(place.function.partition("@")[0]) is not None or is_installed(place.source)


def _held(registers: tuple[int, ...], stack: bytes, size: int) -> frozenset[int]:
    part = stack[: max(0, size) // 8 * 8]
    return frozenset((*registers, *struct.unpack(f"<{len(part) // 8}Q", part)))


def _lines(walk: tuple[Frame, ...], symbols: Symbols) -> tuple[str, ...]:
    """For people, innermost first, down to main."""
    lines: list[str] = []
    for frame in walk:
        lines += symbols.describe_all(frame.address, not frame.exact)
        if any(line.startswith("main ") for line in lines[-1:]):
            break
    return tuple(lines)
