"""Which parameters of a kernel say where in memory it works, read from its PTX.

Values are followed from the parameters through registers and loads. A parameter says where a kernel works in the memory of another if
both are in one address, or if it is in any condition. One that is only stored does not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudx.ptx_checks.statements import REGISTER, Statement, statement_of, without_comment

ADDRESS = re.compile(r"\[([^\]]*)\]")
SETS_NOTHING = ("st", "red", "bra", "bar", "barrier", "membar", "fence", "ret", "exit", "trap", "prefetch")
MOST_LINES = 20_000
Taint = dict[str, frozenset[int]]


@dataclass(frozen=True)
class Roles:
    """Of a kernel's parameters, by their index."""

    steering: frozenset[int]  # in conditions
    addresses: tuple[frozenset[int], ...]  # the parameters of each address

    def says_where(self, parameter: int, shared: int) -> bool:
        """May this parameter say where in the memory of `shared` the kernel works?"""
        return parameter in self.steering or any({parameter, shared} <= one for one in self.addresses)


def roles(text: str, symbol: str) -> Roles | None:
    """None where the kernel is not there, calls functions, or has lines that are not understood."""
    body = re.search(rf"\.entry\s+{re.escape(symbol)}\s*\([^)]*\)[^{{;]*\{{(.*?)^\}}", text, re.S | re.M)
    lines = [without_comment(line).strip() for line in body[1].split("\n")] if body else []
    statements = [(line, statement_of(line)) for line in lines if line and not line.startswith(".") and not line.endswith(":")]
    if not lines or len(lines) > MOST_LINES or any(one is None or one.op == "call" for _, one in statements):
        return None
    known = [one for _, one in statements if one is not None]
    taint = _followed(known, symbol)
    steering = [_of(one.when, taint) for one in known if one.when]
    reached = [_of(" ".join(ADDRESS.findall(one.rest)), taint) for one in known if "param" not in one.parts and "[" in one.rest]
    return Roles(frozenset().union(*steering), tuple(set(reached)))


def _followed(statements: list[Statement], symbol: str) -> Taint:
    """The parameters that each register is computed from, wherever it is set."""
    taint: Taint = {}
    changed = True
    while changed:
        changed = False
        for one in statements:
            if one.op in SETS_NOTHING:
                continue
            target, _, rest = one.rest.partition(",")
            found = _of(rest + " " + one.when, taint)
            if one.op == "ld" and "param" in one.parts:
                found |= frozenset(int(n) for n in re.findall(rf"{re.escape(symbol)}_param_(\d+)", rest))
            for name in REGISTER.findall(target):
                if not found <= taint.get(name, frozenset()):
                    taint[name] = taint.get(name, frozenset()) | found
                    changed = True
    return taint


def _of(text: str, taint: Taint) -> frozenset[int]:
    return frozenset().union(*(taint.get(name, frozenset()) for name in REGISTER.findall(text)))
