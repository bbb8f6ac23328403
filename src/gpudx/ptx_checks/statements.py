"""Statements of PTX that stand on one line, which is how compilers write them (PTX ISA, "Instruction Statements")."""

from __future__ import annotations

import re
from dataclasses import dataclass

STATEMENT = re.compile(
    r"^\s*(?P<open>\{\s*)?(?:@(?P<when>!?%[\w$]+)\s+)?(?P<op>[a-z]\w*(?:[.:]+\w+)*)\s*(?P<rest>[^;]*);\s*(?P<close>\}\s*)?$"
)
LABEL = re.compile(r"^\s*([\w$]+)\s*:(?!:)")
REGISTER = re.compile(r"%[\w$]+")


@dataclass(frozen=True)
class Statement:
    """One instruction: its name, the parts behind it, operands."""

    op: str
    parts: tuple[str, ...]
    rest: str
    when: str
    line: str

    @property
    def width(self) -> int:
        bits = next((int(part[1:]) for part in reversed(self.parts) if re.fullmatch(r"[busf]\d+", part)), 0)
        lanes = next((int(part[1:]) for part in self.parts if re.fullmatch(r"v\d", part)), 1)
        return bits // 8 * lanes

    @property
    def step(self) -> int:
        lanes = next((int(part[1:]) for part in self.parts if re.fullmatch(r"v\d", part)), 1)
        return self.width // lanes


def statement_of(bare: str) -> Statement | None:
    """The statement of a line without its comment; None where it is none, or several."""
    found = STATEMENT.match(bare)
    if found is None:
        return None
    op, *parts = re.split(r"[.:]+", found["op"])
    return Statement(op, tuple(parts), found["rest"].strip(), found["when"] or "", bare)


def without_comment(line: str) -> str:
    return line.split("//", 1)[0]
