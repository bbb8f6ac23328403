"""Is one name probably another one, misspelled?"""

from __future__ import annotations

import re

WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
SIZES = ("SIZE", "LEN", "LENGTH", "COUNT", "NUM")  # a last word that people leave out
LETTERS, FOR_ANOTHER = 4, 6  # of a word that may be misspelled; of one in which one letter may be another


def are_near(one: str, other: str) -> bool:
    """Names that differ in a number, or in a short word like X or MIN, are two names."""
    first, second = ([word.upper() for word in WORDS.findall(name)] for name in (one, other))
    whole, other_whole = "".join(first), "".join(second)
    if whole == other_whole or whole in _with_sizes(other_whole) or other_whole in _with_sizes(whole):
        return True
    if len(first) != len(second):
        return _misspelled(whole, other_whole)  # as it is where an underscore is missing, too
    different = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    return len(different) == 1 and _misspelled(*different[0])


def _with_sizes(name: str) -> list[str]:
    return [name + size for size in SIZES]


def _misspelled(one: str, other: str) -> bool:
    """Two neighbours exchanged, one letter too few or too many, or another letter in a long word that is not its last."""
    if min(len(one), len(other)) < LETTERS or not (one.isalpha() and other.isalpha()):
        return False
    if len(one) != len(other):
        short, long = sorted((one, other), key=len)
        return len(long) - len(short) == 1 and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))
    wrong = [at for at in range(len(one)) if one[at] != other[at]]
    if len(wrong) == 2:
        return wrong[1] == wrong[0] + 1 and one[wrong[0]] == other[wrong[1]] and one[wrong[1]] == other[wrong[0]]
    return len(wrong) == 1 and len(one) >= FOR_ANOTHER and 0 < wrong[0] < len(one) - 1
