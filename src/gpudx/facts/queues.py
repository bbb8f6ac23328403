"""The queues that work was put into: which one each call means, and how each is ordered with others.

A queue is a life of its handle. Small handles are default queues: each context has one that synchronises with the
context's other queues, and each thread may have one of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.backends import named
from gpudx.facts._backend import backend_module
from gpudx.facts.codes import mixed
from gpudx.facts.objects import Objects
from gpudx.trace import Trace
from gpudx.trace.slices import slices

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]
PER_THREAD = 2
NONE = np.zeros(0, np.uint64)
MADE, UNSEEN, DEFAULT, THREADS = range(4)


class Queues:
    """Numbers for the queues that some calls name. Columns are by number.

    handle, context, tid  as of the first call; `tid` is that of the owner of a thread's default queue
    row                   the queue object, -1 for default queues and for those whose making was not seen
    kind                  MADE, UNSEEN, DEFAULT (of a context) or THREADS (of a thread)
    in_order              each operation waits for the one before it
    grouped               orders itself with its context's default queue, both ways
    """

    def __init__(self, trace: Trace, objects: Objects, handles: U64, positions: I64) -> None:
        self._trace, self._objects = trace, objects
        self.number: NDArray[np.int32] = np.empty(len(handles), np.int32)  # of each call that was given
        at = self._tell_apart(handles, positions)
        self.handle = handles[at]
        self.row, self.kind, context, self.tid = self._told(self.handle, positions[at])
        made = objects.table["context"] if len(objects) else np.zeros(1, np.uint32)
        self.context: I64 = np.where(self.row >= 0, made[self.row].astype(np.int64), context)
        described = [self._describe(int(n), int(positions[i])) for n, i in enumerate(at)]
        self.in_order: Bool = np.array([d[0] for d in described], bool)
        self.grouped: Bool = np.array([d[1] for d in described], bool)

    def __len__(self) -> int:
        return len(self.handle)

    def _tell_apart(self, handles: U64, positions: I64) -> I64:
        """Numbers the queues, by a code for what tells them apart; gives the first call of each."""
        codes, calls = [NONE], [NONE.astype(np.int64)]
        for some in slices(len(handles)):
            code = self._codes(handles[some], positions[some])
            values, first, self.number[some] = np.unique(code, return_index=True, return_inverse=True)
            codes.append(values)
            calls.append(some.start + first)
        known, at = np.unique(np.concatenate(codes), return_index=True)
        for some, values in zip(slices(len(handles)), codes[1:], strict=True):
            self.number[some] = np.searchsorted(known, values)[self.number[some]]
        return np.concatenate(calls)[at]

    def _told(self, handles: U64, positions: I64) -> tuple[I64, I64, I64, I64]:
        """(row, kind, context, thread) of the queues that calls name."""
        small = handles <= PER_THREAD
        rows = np.where(small, -1, self._objects.at(handles, positions))
        kind = np.where(small, np.where(handles == PER_THREAD, THREADS, DEFAULT), np.where(rows >= 0, MADE, UNSEEN))
        tid = self._trace.column("tid", positions).astype(np.int64)
        return rows, kind, self._trace.context[positions].astype(np.int64), tid

    def _codes(self, handles: U64, positions: I64) -> U64:
        rows, kind, context, tid = self._told(handles, positions)
        first = np.choose(kind, [rows, handles.astype(np.int64), context, context])
        second = np.where(kind == THREADS, tid, 0)
        return mixed(len(kind), [c.astype(np.int64).view(np.uint64) for c in (kind, first, second)])

    def _describe(self, number: int, position: int) -> tuple[bool, bool]:
        """(in order, grouped). Of queues whose making was not seen, what leaves less to say."""
        api = self._trace.info(position).api
        counts = bool(getattr(named(api), "COUNTS_REFERENCES", False))
        row = int(self.row[number])
        born = int(self._objects.table["born"][row]) if row >= 0 else -1
        rules = backend_module(api, "order")
        if born < 0 or rules is None:
            return True, not counts and self.kind[number] != DEFAULT
        words = self._trace.record(born)
        in_order = not rules.out_of_order(words.get("properties", 0), self._trace.array(born, "properties"))
        return in_order, not counts and not rules.stands_alone(words.get("flags", 0))

    def group(self, default: int) -> I64:
        """The queues that a context's default queue synchronises with. A context that is not known may be any."""
        mine, context = int(self.context[default]), self.context
        same = (context == mine) | (context == 0) | (mine == 0)
        return np.flatnonzero(self.grouped & same)

    def of_context(self, number: int) -> I64:
        """All queues of a context; of one that is not known (0), all."""
        return np.flatnonzero((self.context == number) | (self.context == 0) | (number == 0))

    def label(self, number: int) -> str:
        """ "queue #3", "the default queue", "the default queue of thread 7"."""
        if self.row[number] >= 0:
            return self._objects.label(int(self.row[number]))
        kind = int(self.kind[number])
        if kind == UNSEEN:
            return f"queue {int(self.handle[number]):#x}"
        return "the default queue" + (f" of thread {int(self.tid[number])}" if kind == THREADS else "")
