"""The collectives that one rank of a job issued: native/nccl/collectives.c records them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gpudx.trace import Trace

KINDS = {1: "all-reduce", 2: "broadcast", 3: "reduce", 4: "all-gather", 5: "reduce-scatter", 6: "send", 7: "receive"}
# ncclDataType_t and ncclRedOp_t (NCCL user guide, "Types"; nccl.h).
TYPES = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bfloat16", "float8_e4m3", "float8_e5m2")
OPERATIONS = ("sum", "product", "maximum", "minimum", "average")
NONE = (1 << 64) - 1
JOINING, JOINED = 1, 2


@dataclass(frozen=True)
class Collective:
    """One call. What all ranks must agree on is `what`."""

    position: int
    communicator: int  # the same number in all ranks
    sequence: int
    kind: int
    count: int
    type: int
    operation: int
    root: int

    @property
    def what(self) -> tuple[int, ...]:
        return (self.kind, self.count, self.type, self.operation, self.root)

    @property
    def text(self) -> str:
        """ "all-reduce (sum) of 4,096 float32", "broadcast of 12 int64 from rank 0"."""
        operation = f" ({_name(OPERATIONS, self.operation)})" if self.operation != NONE else ""
        root = f" {'to' if self.kind == 3 else 'from'} rank {self.root}" if self.root != NONE else ""
        return f"{KINDS.get(self.kind, 'collective')}{operation} of {self.count:,} {_name(TYPES, self.type)}{root}"


def _name(names: tuple[str, ...], number: int) -> str:
    return names[number] if number < len(names) else f"number {number}"


def rank_of(trace: Trace) -> str:
    """The number of this process in its job: that of its launcher, else that in its largest communicator; "" if it has none."""
    given = [trace.record(at)["rank"] for at in trace.named("note_rank").tolist()]
    if given:
        return str(given[-1])
    known = [(ranks, rank) for rank, ranks in Collectives(trace).ranks.values() if ranks]
    return str(max(known)[1]) if known else ""


class Collectives:
    """Of one process, by communicator."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def ranks(self) -> dict[int, tuple[int, int]]:
        """Communicator -> (this process's rank in it, how many ranks it has, 0: not known), also of those it is still joining."""
        found = {}
        for at in self._trace.named("note_communicator").tolist():
            words = self._trace.record(at)
            if words["id"] and words["state"] in (JOINING, JOINED):
                found[words["id"]] = (words["rank"], words["ranks"])
        return found

    @cached_property
    def by_communicator(self) -> dict[int, dict[int, Collective]]:
        """Communicator -> number -> collective, of those that the record still has."""
        found: dict[int, dict[int, Collective]] = {}
        for at in self._trace.named("note_collective").tolist():
            one = self._read(at)
            if one.communicator and one.sequence:
                found.setdefault(one.communicator, {})[one.sequence] = one
        return found

    def _read(self, at: int) -> Collective:
        words = self._trace.record(at)
        names = ("id", "sequence", "kind", "count", "type", "op", "root")
        return Collective(at, *(words[name] & NONE for name in names))
