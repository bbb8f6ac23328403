"""The blocks of a walk, made when they are asked for: from the state that was kept before them, or by going on."""

from __future__ import annotations

from gpudx.facts.order.walk import Block, State, Walk

MOST_RECENT = 4  # blocks whose clocks are at hand
MOST_STATES = 16  # that are kept; of a longer walk only those of every second, fourth, ... block


class Blocks:
    """Asking for blocks in their order walks through each once."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._states = {0: walk.begin()}  # by the block that it is the beginning of
        self._step = 1  # blocks between two states that are kept
        self._last = 0, self._states[0]  # the end of the last walk: where to go on without a detour
        self._recent: dict[int, Block] = {}
        self._reached = 0

    def at(self, number: int) -> Block:
        """The clocks of one block."""
        if number not in self._recent:
            self._go(number)
        block = self._recent[number] = self._recent.pop(number)
        return block

    def reach(self, number: int) -> None:
        """Walks so far that everything about a block is known but its clocks."""
        if self._reached <= number:
            self.at(number)

    def _go(self, number: int) -> None:
        known = [*self._states.items(), self._last]
        begin, state = max((one for one in known if one[0] <= number), key=lambda one: one[0])
        for one in range(begin, number + 1):
            block, state = self._walk.block(one, state)
            self._keep(one, block, state)

    def _keep(self, number: int, block: Block, state: State) -> None:
        self._recent[number] = block
        if len(self._recent) > MOST_RECENT:
            del self._recent[next(iter(self._recent))]
        self._last, self._reached = (number + 1, state), max(self._reached, number + 1)
        if (number + 1) % self._step == 0:
            self._states[number + 1] = state
        if len(self._states) > MOST_STATES:
            self._step *= 2
            self._states = {n: s for n, s in self._states.items() if n % self._step == 0}
