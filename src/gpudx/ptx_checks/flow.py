"""How control flows through a function of PTX: which branches decide whether a warp-wide instruction is reached, and which loads wait
for another thread.

A branch of a warp-wide instruction is of interest where lanes that go the other way meet the others again, in code that does something.
Lanes that leave the kernel need not take part (PTX ISA, "shfl.sync": it waits for all non-exited threads of its mask).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gpudx.ptx_checks.statements import LABEL, REGISTER, Statement, statement_of, without_comment

WARP_WIDE = ("shfl", "vote", "match", "redux", "elect")
ENDS = ("ret", "exit", "trap")
BRANCHES = re.compile(r"\b(?:bra|brx|ret|exit)\b")
MOST_BLOCKS = 1500
ORDERED = ("volatile", "relaxed", "acquire")


@dataclass
class Block:
    """Lines without a branch between them; -1 among `next` is the end of the function."""

    first: int
    lines: list[tuple[int, Statement]] = field(default_factory=list)
    next: tuple[int, ...] = ()

    @property
    def branch(self) -> tuple[int, Statement] | None:
        """The branch that some threads take, at its end."""
        number, last = self.lines[-1] if self.lines else (-1, None)
        return (number, last) if last is not None and last.op == "bra" and last.when else None

    @property
    def only_ends(self) -> bool:
        return all(one.op in ENDS for _, one in self.lines)


@dataclass(frozen=True)
class Divide:
    """A branch at which lanes part, by its line: the warp-wide instructions that only one way leads to, and where the ways meet."""

    line: int
    taken: bool  # do those that take the branch come to the instructions?
    sites: tuple[int, ...]
    meets: int  # the line in front of which all lanes are together again


def is_warp_wide(statement: Statement) -> bool:
    """Does it wait for the lanes of a mask?"""
    if statement.op in WARP_WIDE:
        return "sync" in statement.parts
    return statement.op in ("bar", "barrier") and statement.parts[:2] == ("warp", "sync")


class Flow:
    """Of the lines of a module, one function's: from the line that opens its body to the one that closes it."""

    def __init__(self, lines: Sequence[str], start: int) -> None:
        self.blocks, self.end = _blocks(lines, start)
        self.known = bool(self.blocks) and len(self.blocks) <= MOST_BLOCKS

    def divides(self) -> list[Divide]:
        """The branches that decide whether a warp-wide instruction is reached."""
        wide = {at: [n for n, one in block.lines if is_warp_wide(one)] for at, block in enumerate(self.blocks)}
        wide = {at: found for at, found in wide.items() if found}
        if not self.known or not wide:
            return []
        meeting = _meetings(self.blocks)
        return [one for at in range(len(self.blocks)) for one in self._divide(at, meeting[at], wide)]

    def _divide(self, at: int, meets: int, wide: dict[int, list[int]]) -> Iterator[Divide]:
        branch = self.blocks[at].branch
        if branch is None or meets < 0 or self.blocks[meets].only_ends or len(set(self.blocks[at].next)) < 2:
            return
        taken, passed = (_reached(self.blocks, one, meets) for one in self.blocks[at].next)
        with_taken, with_passed = (sorted(wide.keys() & way) for way in (taken - passed, passed - taken))
        if bool(with_taken) == bool(with_passed):  # the same instruction may stand in both ways
            return
        sites = tuple(number for one in (*with_taken, *with_passed) for number in wide[one])
        yield Divide(branch[0], bool(with_taken), sites, _first_line(self.blocks[meets]))

    def together(self) -> frozenset[int]:
        """Lines of warp-wide instructions that all lanes reach which have not left the kernel: no branch leads around them."""
        wide = {at: [n for n, one in block.lines if is_warp_wide(one)] for at, block in enumerate(self.blocks)}
        if not self.known or not any(wide.values()):
            return frozenset()
        apart: set[int] = set()
        for at, meets in enumerate(_meetings(self.blocks)):
            block = self.blocks[at]
            if block.branch is not None and meets >= 0 and not self.blocks[meets].only_ends:
                apart |= set().union(*(_reached(self.blocks, one, meets) for one in set(block.next)))
        return frozenset(number for at, lines in wide.items() if at not in apart for number in lines)

    def waits(self) -> frozenset[int]:
        """Lines of loads in loops of one block that go on until the value changes."""
        return frozenset(number for block in self.blocks for number in _awaited(self.blocks, block))

    def decides(self) -> frozenset[str]:
        """Registers from which a branch is computed."""
        return frozenset(_sources([one for block in self.blocks for _, one in block.lines]))


def _sources(statements: Sequence[Statement]) -> set[str]:
    """Registers that the branches among some statements are computed from."""
    made: dict[str, set[str]] = defaultdict(set)
    wanted: list[str] = []
    for one in statements:
        if one.when and one.op == "bra":
            wanted.append(one.when.lstrip("!"))
        if one.op in ("st", "red", "bra"):  # they set no register
            continue
        target, _, rest = one.rest.partition(",")
        for name in REGISTER.findall(target):
            made[name].update(REGISTER.findall(rest))
    seen: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in seen:
            seen.add(name)
            wanted += made[name]
    return seen


def _first_line(block: Block) -> int:
    return block.lines[0][0] if block.lines else block.first


def _awaited(blocks: Sequence[Block], block: Block) -> list[int]:
    branch = block.branch
    if branch is None or blocks.index(block) not in block.next or any(one.op in ("st", "red") for _, one in block.lines):
        return []
    until = _sources([one for _, one in block.lines])
    loads = [(n, one) for n, one in block.lines if one.op == "atom" or (one.op == "ld" and any(part in ORDERED for part in one.parts))]
    return [n for n, one in loads if until & set(REGISTER.findall(one.rest.partition(",")[0]))]


def _blocks(lines: Sequence[str], start: int) -> tuple[list[Block], int]:
    """The blocks of a function, and its last line; no blocks where a branch leads somewhere unknown, or a label is there twice, as in
    pieces of assembly that have names of their own."""
    blocks, labels, depth, end, is_clear = [Block(start)], {}, 0, len(lines), True
    for number in range(start, len(lines)):
        bare = without_comment(lines[number])
        depth += bare.count("{") - bare.count("}")
        if label := LABEL.match(bare):
            if blocks[-1].lines:
                blocks.append(Block(number))
            is_clear = is_clear and label[1] not in labels
            labels[label[1]] = len(blocks) - 1
            bare = bare[label.end() :]
        one = statement_of(bare)
        is_clear = is_clear and (one is not None or not BRANCHES.search(bare))
        if one is not None and number > start:
            blocks[-1].lines.append((number, one))
            if one.op in ("bra", "brx", *ENDS):
                blocks.append(Block(number + 1))
        if depth == 0:
            end = number
            break
    return (blocks if is_clear and _joined(blocks, labels) else []), end


def _joined(blocks: list[Block], labels: dict[str, int]) -> bool:
    for at, block in enumerate(blocks):
        following = at + 1 if at + 1 < len(blocks) else -1
        last = block.lines[-1][1] if block.lines else None
        if last is not None and last.op == "bra":
            target = labels.get(last.rest.strip())
            if target is None:
                return False
            block.next = (target, following) if last.when else (target,)
        elif last is not None and last.op in ENDS:
            block.next = (-1, following) if last.when else (-1,)
        elif last is not None and last.op == "brx":
            return False
        else:
            block.next = (following,)
    return True


def _reached(blocks: Sequence[Block], start: int, until: int) -> set[int]:
    seen: set[int] = set()
    wanted = [start]
    while wanted:
        one = wanted.pop()
        if one not in (-1, until) and one not in seen:
            seen.add(one)
            wanted += blocks[one].next
    return seen


def _meetings(blocks: Sequence[Block]) -> list[int]:
    """For each block the next one that every way to the end goes through; -1: only the end itself."""
    everything = (1 << len(blocks)) - 1
    behind = [everything] * len(blocks)
    changed = True
    while changed:
        changed = False
        for at in reversed(range(len(blocks))):
            common = everything
            for one in blocks[at].next:
                common &= behind[one] if one >= 0 else 0
            now = common | 1 << at
            changed |= now != behind[at]
            behind[at] = now
    return [_nearest(at, behind) for at in range(len(blocks))]


def _nearest(at: int, behind: Sequence[int]) -> int:
    """Of all that lie behind it the one behind which all others lie."""
    rest = behind[at] & ~(1 << at)
    found, most = -1, -1
    while rest:
        one = (rest & -rest).bit_length() - 1
        rest &= rest - 1
        if behind[one].bit_count() > most:
            found, most = one, behind[one].bit_count()
    return found
