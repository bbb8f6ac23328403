"""Allocations and failing calls as rows that an expression can be held against."""

from __future__ import annotations

import numpy as np

from gpudx.contracts.columns import Column, column, unknown
from gpudx.contracts.language import nearest
from gpudx.facts import Facts
from gpudx.facts.objects import FAMILIES, HOST_FAMILIES, MEMORY, NEVER
from gpudx.model import Evidence


class _Rows:
    """Neither has shapes or arguments: the language refuses them before they get here."""

    def shape(self, name: str, axis: str) -> Column:
        raise AssertionError(f"{name}.{axis} passed the check of the language")

    def memory(self, function: str, name: str, operands: list[Column]) -> Column:
        raise AssertionError(f"{function}({name}) passed the check of the language")


class Allocations(_Rows):
    """Every allocation whose making was recorded."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        rows = facts.objects.rows_of(*MEMORY, "svm", "memory")
        self._rows = rows[facts.objects.table["born"][rows] >= 0]
        self._table = facts.objects.table[self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def number(self, name: str) -> Column:
        table = self._table
        host = np.isin(table["family"], [FAMILIES.index(family) for family in HOST_FAMILIES])
        values = {
            "size": table["size"],
            "number": table["number"],
            "made": table["born"] + 1,
            "freed": table["died"] < NEVER,
            "host": host,
        }
        return column(values[name], np.ones(len(self), bool))

    def told(self, place: int) -> Evidence:
        made = int(self._table["born"][place]) + 1
        return Evidence(f"{self._facts.memory.describe(int(self._rows[place]))}, made by call {made:,}", (made,))


class Errors(_Rows):
    """Every failing call."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._positions = facts.errors.position

    def __len__(self) -> int:
        return len(self._positions)

    def number(self, name: str) -> Column:
        trace, errors, every = self._facts.trace, self._facts.errors, np.ones(len(self), bool)
        values = {
            "status": trace.column("status", self._positions),
            "call": trace.call[self._positions],
            "number": self._positions + 1,
            "reported": np.isin(self._positions, errors.reports),
            "loading": np.isin(self._positions, errors.of_images),
        }
        return column(values[name], every) if name in values else self._named(name)

    def _named(self, name: str) -> Column:
        """A status or a call by the name that its API has for it."""
        schema = self._facts.trace.schema
        known = {text: number for names in schema.errors.values() for number, text in names.items()}
        known |= {call.name: call.number for call in schema.calls}
        if name not in known:
            return unknown(len(self), f"there is no status or call {name}{nearest(name, known)}")
        return column(np.full(len(self), known[name], np.int64), np.ones(len(self), bool))

    def told(self, place: int) -> Evidence:
        position = int(self._positions[place])
        call, status = self._facts.trace.info(position).name, self._facts.errors.status_name(position)
        return Evidence(f"call {position + 1:,}, {call}, gave {status}", (position + 1,))
