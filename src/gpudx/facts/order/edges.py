"""What each operation waits for besides its queue, and what the host waited for: one rule, one function.

Where the record cannot tell whether there is an order, it is taken to be there: an order that is not known is never a
reason to accuse. Three kinds of such doubt are kept apart:

    unknown   an operation waits for something that was not recorded (a value in memory, a semaphore, another process's
              event): it may come after anything
    learns    the host may come to know of an operation's end by its own means (a host function, a callback, a value
              written to memory): from then on it may act on it
    whole     the record has holes: nothing is said across them

Sources: CUDA driver API, "Event Management" (a wait takes the latest record made before the call; a wait for an event
that was never recorded does nothing), "Stream Management", "API synchronization behavior", "Execution Control"
(host functions); OpenCL 3.0 API specification, "Event Objects", "Markers, Barriers and Waiting for Events",
"Flush and Finish", and the blocking flags of the commands that have one.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts._backend import backend_module
from gpudx.facts.contexts import Contexts
from gpudx.facts.memory import Memory
from gpudx.facts.objects import FAMILIES, HOST_FAMILIES, Objects, counts_references
from gpudx.facts.operations import KINDS, Operations, done, field_of, has_field
from gpudx.facts.order.waits import is_queued
from gpudx.facts.ranges import Ranges
from gpudx.trace import CallInfo, Trace

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]
NOT_MADE, NOT_KNOWN, FIRST_SIGNAL = -1, -2, -3  # instead of an operation: no such event, a foreign one, the host's own
FOR_QUEUE, FOR_OPERATION, FOR_CONTEXT, FOR_ALL = range(4)
LIVES = np.uint64(1 << 63)  # marks events that are told apart by their lives, not by their handles
PLACE = 40  # bits of a position
NEVER = np.iinfo(np.int64).max
SYNCHRONISING = ("device", "pitched", "managed", "host", "registered")
HOSTS = [FAMILIES.index(f) for f in HOST_FAMILIES]
MANAGED = FAMILIES.index("managed")
LISTS = ("waits", "events")  # names of lists of events


class Edges:
    """Pairs of operations (rows of Operations) by events, and the waits of the host."""

    def __init__(
        self,
        trace: Trace,
        objects: Objects,
        memory: Memory,
        ranges: Ranges,
        operations: Operations,
        contexts: Contexts,
    ) -> None:
        self._trace, self._objects, self._memory, self._ranges = trace, objects, memory, ranges
        self._operations, self._contexts = operations, contexts

    @cached_property
    def blind(self) -> bool:
        """Calls may be missing anywhere."""
        return self._trace.misses_calls

    # ---- events ----

    def _keys(self, events: U64, positions: I64) -> U64:
        """A number for each event: its life where these are followed, else its handle."""
        counts = self._trace.schema.where(counts_references)[self._trace.call[positions]]
        rows = self._objects.at(events, positions)
        return np.where(counts | (rows < 0), events, rows.astype(np.uint64) | LIVES)

    def _hidden(self) -> tuple[I64, U64]:
        """(position, event) of marks that are put on events where it cannot be seen when: marks that went into graphs, nodes
        of graphs, and attributes of launches."""
        trace = self._trace
        marks = trace.select(trace.schema.doing("marker"))
        marks = marks[(trace.column("flags", marks) & trace.schema.flags.get("captured", 0)) != 0]
        nodes = [c for verb in ("create", "set_node") for c in trace.schema.doing(verb) if c.word("event") is not None]
        positions = np.concatenate([marks, trace.select(tuple(nodes))])
        launched = [self._attributes(c) for c in trace.schema.doing("launch") if "config" in c.arrays]
        return (
            np.concatenate([positions, *(p for p, _ in launched)]),
            np.concatenate([field_of(trace, "event", positions), *(e for _, e in launched)]),
        )

    def _attributes(self, info: CallInfo) -> tuple[I64, U64]:
        """(position, event) of the attributes of launches that put marks on events."""
        trace, rules = self._trace, backend_module(info.api, "order")
        positions = trace.select(info)
        begin, size = trace.part_of(positions, info.arrays["config"][0])
        counts = size // 8 // rules.ATTRIBUTE_WORDS if rules else size * 0
        owner = np.repeat(np.arange(len(positions)), counts)
        nth = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        at = begin[owner] + nth * (rules.ATTRIBUTE_WORDS if rules else 0)
        marks = np.isin(trace.words8[at] & np.uint64(0xFFFFFFFF), rules.EVENT_ATTRIBUTES if rules else ())
        return positions[owner[marks]], trace.words8[at[marks] + 1]

    @cached_property
    def _made(self) -> tuple[U64, I64, I64]:
        """What makes events: (key, position, operation), by key and position."""
        table, trace = self._operations.table, self._trace
        event = table["event"]
        rows = np.flatnonzero(event)
        makers = done(trace, trace.select(tuple(c for c in trace.schema.doing("create", "event") if counts_references(c))))
        own = np.array([self._signals.get(int(p), NOT_KNOWN) for p in makers], np.int64)
        hidden, marked = self._hidden()
        position = np.concatenate([table["position"][rows], hidden, makers])
        events = [event[rows], marked, field_of(trace, "result", makers)]
        target = np.concatenate([rows, np.full(len(hidden), NOT_KNOWN), own])
        key = self._keys(np.concatenate(events), position)
        order = np.lexsort((position, key))
        return key[order], position[order], target[order]

    def resolve(self, events: U64, positions: I64) -> I64:
        """The operation that each event stands for at a position, or NOT_MADE, NOT_KNOWN, or FIRST_SIGNAL - n for the n-th
        signal of the host."""
        key, position, target = self._made
        wanted = self._keys(events, positions)
        keys, numbers = np.unique(key, return_inverse=True)
        known = np.searchsorted(keys, wanted).clip(0, max(len(keys) - 1, 0))
        if not len(keys):
            return self._unmade(wanted, positions)
        at = np.searchsorted((numbers.reshape(-1) << PLACE) | position, (known << PLACE) | positions) - 1
        hit = (keys[known] == wanted) & (at >= 0) & (numbers.reshape(-1)[at.clip(0)] == known)
        return np.where(hit, target[at.clip(0)], self._unmade(wanted, positions))

    def _unmade(self, keys: U64, positions: I64) -> I64:
        """Events that nothing was seen to make. One that was never recorded is complete from the start; one of another
        process, or of calls that are lost, is not known."""
        table = self._objects.table
        rows = np.where(keys >= LIVES, (keys ^ LIVES).astype(np.int64), -1)
        born = np.append(table["born"], -1)[rows] if len(table) else np.full(len(rows), -1, np.int64)
        begun = self._trace.column("begin", born.clip(0))
        made_here = (born >= 0) & (self._trace.schema.words_of("flags") >= 0)[self._trace.call[born.clip(0)]]
        whole = self._trace.whole_since == 0
        return np.where(made_here & (whole | (begun > self._trace.whole_since)), NOT_MADE, NOT_KNOWN)

    # ---- signals of the host ----

    @cached_property
    def _signals(self) -> dict[int, int]:
        """Position of the making of each event that the host signals itself -> its number below FIRST_SIGNAL."""
        trace = self._trace
        calls = tuple(
            c for c in trace.schema.doing("create", "event") if counts_references(c) and [n for n, _ in c.fields] == OWN
        )
        return {int(p): FIRST_SIGNAL - n for n, p in enumerate(done(trace, trace.select(calls)))}

    @cached_property
    def signalled(self) -> I64:
        """When the host signalled each of its events: the time that the call began, NEVER if it did not."""
        trace = self._trace
        when = np.full(len(self._signals), NEVER, np.int64)
        calls = done(trace, trace.select(trace.schema.doing("signal")))
        found = self.resolve(field_of(trace, "event", calls), calls)
        mine = found <= FIRST_SIGNAL
        begin = trace.column("begin", calls[mine]).astype(np.int64)
        np.minimum.at(when, FIRST_SIGNAL - found[mine], begin)
        return when

    # ---- operations ----

    @cached_property
    def waits(self) -> tuple[I64, I64]:
        """(operation, what it waits for as of `resolve`): one row per event of each wait list, and graphs that run again."""
        table, trace = self._operations.table, self._trace
        rows = np.flatnonzero(table["kind"] == KINDS.index("queue_wait"))
        rows = rows[has_field(trace, "event", table["position"][rows])]
        owners, events = [rows], [field_of(trace, "event", table["position"][rows])]
        for info in self._operations.calls:
            for name in set(LISTS) & set(info.arrays):
                mine, listed = self._listed(info, name)
                owners.append(mine)
                events.append(listed)
        owner, event = np.concatenate(owners), np.concatenate(events)
        later, earlier = self._again()
        target = self.resolve(event, table["position"][owner])
        return np.concatenate([owner, later]), np.concatenate([target, earlier])

    def _again(self) -> tuple[I64, I64]:
        """Launches of one instantiated graph come one after the other, in whatever queues (CUDA driver API, cuGraphLaunch):
        (launch, the one before it in another queue)."""
        table = self._operations.table
        rows = np.flatnonzero(table["kind"] == KINDS.index("launch_graph"))
        position = table["position"][rows]
        made = self._objects.at(field_of(self._trace, "graph_exec", position), position)
        order = np.argsort(made, kind="stable")
        rows, made = rows[order], made[order]
        same = (made[1:] == made[:-1]) & (made[1:] >= 0) & (table["queue"][rows[1:]] != table["queue"][rows[:-1]])
        return rows[1:][same], rows[:-1][same]

    def _listed(self, info: CallInfo, name: str) -> tuple[I64, U64]:
        """The events in one list of all operations of one kind."""
        trace = self._trace
        positions = trace.select(info)
        rows = self._operations.at(positions)
        owner, events = listed(trace, info, name, positions[rows >= 0])
        return rows[rows >= 0][owner], events

    @cached_property
    def unknown(self) -> Bool:
        """Operations that may come after anything: waits for values in memory, for semaphores, for events not known."""
        table = self._operations.table
        found = self._named("WAIT_UNSEEN")
        waiting = table["kind"] == KINDS.index("queue_wait")
        found |= waiting & ~has_field(self._trace, "event", table["position"])
        owner, target = self.waits
        found[owner[target == NOT_KNOWN]] = True
        return found

    def _named(self, rule: str) -> Bool:
        """Operations whose calls the API's backend lists under a rule."""
        listed = [c.name in getattr(backend_module(c.api, "order"), rule, ()) for c in self._trace.schema.calls]
        return np.array(listed, bool)[self._trace.call[self._operations.table["position"]]]

    @cached_property
    def after_all(self) -> Bool:
        """Marks that stand for all queues of a context."""
        return ~has_field(self._trace, "queue", self._operations.table["position"])

    @cached_property
    def listing(self) -> Bool:
        """Operations that were given a list of events. Marks and barriers without one wait for all before them."""
        found = np.zeros(len(self._operations), bool)
        found[self.waits[0]] = True
        return found

    # ---- the host ----

    @cached_property
    def host(self) -> tuple[I64, I64, I64, I64]:
        """What the host waited for: (time at which the wait was over, kind, value, position), by time.

        FOR_QUEUE: a queue's number; FOR_OPERATION: an operation; FOR_CONTEXT: a context's number; FOR_ALL: 0.
        """
        parts = [*self._queue_waits(), *self._event_waits(), *self._blocking(), *self._learning(), *self._implied()]
        parts += self._gap()
        columns = [np.concatenate([p[i] for p in parts]) for i in range(4)]
        order = np.lexsort((columns[3], columns[0]))
        return columns[0][order], columns[1][order], columns[2][order], columns[3][order]

    def _entries(
        self, positions: I64, kind: int, values: NDArray[np.integer], time: str = "end"
    ) -> tuple[I64, I64, I64, I64]:
        when = self._trace.column(time, positions).astype(np.int64)
        return when, np.full(len(positions), kind), np.asarray(values, np.int64), positions

    def _queue_waits(self) -> list[tuple[I64, I64, I64, I64]]:
        """Waits for queues, and questions that were answered with yes; waits for contexts."""
        trace, operations = self._trace, self._operations
        bare = done(trace, trace.select(tuple(c for c in trace.schema.doing("wait") if not c.fields and not c.arrays)))
        given = done(trace, trace.select(tuple(c for c in trace.schema.doing("wait") if c.word("context") is not None)))
        number = self._contexts.named(field_of(trace, "context", given), given)
        return [
            self._entries(operations.waits, FOR_QUEUE, operations.waited),
            self._entries(bare, FOR_CONTEXT, trace.context[bare].astype(np.int64)),
            self._entries(given[number >= 0], FOR_CONTEXT, number[number >= 0]),
            self._entries(given[number < 0], FOR_ALL, np.zeros(int((number < 0).sum()), np.int64)),
        ]

    def _event_waits(self) -> list[tuple[I64, I64, I64, I64]]:
        """Waits for events, and questions that were answered with yes. A context that waits for one is taken as the host."""
        trace = self._trace
        verbs = [c for v in ("wait", "poll") for c in trace.schema.doing(v)]
        verbs += [c for c in trace.schema.doing("queue_wait") if c.word("queue") is None]
        single = done(trace, trace.select(tuple(c for c in verbs if c.word("event") is not None)))
        found = [(single, field_of(trace, "event", single))]
        for info in (c for c in verbs if "events" in c.arrays):
            positions = done(trace, trace.select(info))
            owner, events = listed(trace, info, "events", positions)
            found.append((positions[owner], events))
        return [self._for_events(positions, events) for positions, events in found]

    def _for_events(self, positions: I64, events: U64, time: str = "end") -> tuple[I64, I64, I64, I64]:
        target = self.resolve(events, positions)
        kind = np.where(target >= 0, FOR_OPERATION, FOR_ALL)
        keep = (target >= 0) | (target == NOT_KNOWN)
        entries = self._entries(positions, FOR_OPERATION, target, time)
        return entries[0][keep], kind[keep], entries[2][keep], positions[keep]

    def _blocking(self) -> list[tuple[I64, I64, I64, I64]]:
        """Operations that return when they are done: told by a flag, or by what a copy copies."""
        position = self._operations.table["position"]
        blocks = field_of(self._trace, "blocking", position) != 0
        rows = np.flatnonzero(blocks | self._synchronous)
        return [self._entries(position[rows], FOR_OPERATION, rows)]

    @cached_property
    def _synchronous(self) -> Bool:
        """Copies that return when they are done, or may ("API synchronization behavior"): all with host memory on one side,
        but not those in a queue from or to pinned memory. A copy between devices' memory is never one, a fill neither,
        except of host or managed memory."""
        table, ranges = self._operations.table, self._ranges
        host, pinned, managed = (np.zeros(len(self._trace), bool) for _ in range(3))
        family = (
            np.where(ranges.object >= 0, self._objects.table["family"][ranges.object], 0) if len(ranges) else HOSTLESS
        )
        at = ranges.table["position"]
        on_host = (ranges.object < 0) | np.isin(family, HOSTS)
        host[at[on_host]] = True
        pinned[at[np.isin(family, HOSTS)]] = True
        managed[at[family == MANAGED]] = True
        for info in self._trace.schema.doing("copy"):  # arrays have no addresses; their other side may be the host's
            if info.host:
                host[self._trace.select(info)] = True
        queued = self._trace.schema.where(is_queued) | (self._trace.schema.words_of("blocking") >= 0)
        position = table["position"]
        copy = table["kind"] == KINDS.index("copy")
        fill = (table["kind"] == KINDS.index("fill")) & ~queued[self._trace.call[position]]
        late = queued[self._trace.call[position]]
        plain = copy & ~late & (host | managed)[position]
        staged = copy & late & host[position] & ~pinned[position] & ~managed[position]
        flagged = has_field(self._trace, "blocking", position)
        return ~flagged & (plain | staged | (fill & (host | managed)[position]))

    def _learning(self) -> list[tuple[I64, I64, I64, I64]]:
        """Operations whose end the host may learn of by its own means: from their beginning on it is taken to know."""
        trace, table = self._trace, self._operations.table
        kinds = [KINDS.index(k) for k in ("native_kernel", "callback")]
        written = (table["kind"] == KINDS.index("fill")) & has_field(trace, "address", table["position"])
        rows = np.flatnonzero(np.isin(table["kind"], kinds) | written | self._named("TELL_UNSEEN"))
        calls = done(
            trace, trace.select(tuple(c for c in trace.schema.doing("callback") if c.word("event") is not None))
        )
        asked = self._asked()
        return [
            self._entries(table["position"][rows], FOR_OPERATION, rows, "begin"),
            self._for_events(calls, field_of(trace, "event", calls), "begin"),  # it may be called before this returns
            self._for_events(asked, field_of(trace, "event", asked)),
        ]

    def _asked(self) -> I64:
        """Questions about events that were answered, we do not know how."""
        trace = self._trace
        calls = tuple(c for c in trace.schema.doing("query") if [n for n, _ in c.fields][:2] == ["event", "what"])
        positions = done(trace, trace.select(calls))
        rules = [backend_module(c.api, "order") for c in calls]
        ends = {what for r in rules if r is not None for what in r.TELL_THE_END}
        return positions[np.isin(field_of(trace, "what", positions), list(ends))]

    def _implied(self) -> list[tuple[I64, I64, I64, I64]]:
        """Freeing memory and unloading code wait for the device in most cases: taken as if they always did. That of memory
        from a pool does not (CUDA programming guide, "Stream Ordered Memory Allocator"). A plain copy between contexts is
        serialised with all of their work."""
        trace = self._trace
        calls = [c for c in trace.schema.doing("release", "memory") if set(c.frees) & set(SYNCHRONISING)]
        calls += [c for c in trace.schema.doing("release", "program") if not counts_references(c)]
        positions = done(trace, trace.select(tuple(calls)))
        freed = self._objects.at(field_of(trace, "mem", positions), positions)
        family = np.append(self._objects.table["family"], 0)[freed]
        positions = positions[family != FAMILIES.index("async")]
        plain = tuple(c for c in trace.schema.doing("copy") if c.word("dst_context") is not None and not is_queued(c))
        peers = done(trace, trace.select(plain))
        return [
            self._entries(positions, FOR_CONTEXT, trace.context[positions].astype(np.int64)),
            self._entries(peers, FOR_ALL, peers * 0),
        ]

    def _gap(self) -> list[tuple[I64, I64, I64, I64]]:
        """What was done before the record is whole is taken to have ended."""
        when = np.array([self._trace.whole_since] if self._trace.whole_since else [], np.int64)
        return [(when, np.full(len(when), FOR_ALL), when * 0, when * 0)]


OWN = ["context", "result"]  # the fields of the call that makes an event which the host signals itself
HOSTLESS = np.zeros(0, np.uint8)


def listed(trace: Trace, info: CallInfo, name: str, positions: I64) -> tuple[I64, U64]:
    """A list of handles that calls were given: (which of `positions`, handle)."""
    begin, size = trace.part_of(positions, info.arrays[name][0])
    counts = size // 8
    owner = np.repeat(np.arange(len(positions)), counts)
    nth = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return owner, trace.words8[begin[owner] + nth]
