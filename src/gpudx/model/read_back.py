"""What a program read back from its devices in one run, and whether it speaks against a change with which the program passed."""

from __future__ import annotations

from dataclasses import dataclass

LOOP = 3  # launches of a kernel, of which one that is left says that a loop is gone; a loop that converges may need fewer


@dataclass(frozen=True)
class ReadBack:
    """Of all processes of one run together. `launches`: by kernel."""

    nan: int
    infinite: int
    large: int  # reads of some data
    varied: int  # of them those whose words differ
    launches: tuple[tuple[str, int], ...]

    def why_not(self, plain: ReadBack) -> str:
        """Why a run that passed says nothing about what was meant, beside a plain run; "" if nothing speaks against it."""
        mine = dict(self.launches)
        lost = [(name, count, mine.get(name, 0)) for name, count in plain.launches if mine.get(name, 0) <= (count >= LOOP)]
        if self.nan and not plain.nan:
            return "what the program reads back has a NaN with it"
        if self.infinite and not plain.infinite:
            return "what the program reads back has an infinite number with it"
        if plain.varied and self.large and not self.varied:
            return "all values that the program reads back are the same with it"
        return "{0} is launched {2} instead of {1} times with it".format(*lost[0]) if lost else ""
