"""What instantiated graphs do: the nodes of each, as they were at each of its launches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.declared import Declared
from gpudx.facts.errors import Errors
from gpudx.facts.kernels import Kernels
from gpudx.facts.memory import Memory
from gpudx.facts.objects import Objects
from gpudx.facts.pointers import Pointers, find_pointers
from gpudx.trace import Trace

I64 = NDArray[np.int64]
KINDS = {"note_graph_kernel": "kernel", "note_graph_copy": "copy", "note_graph_fill": "fill"}


@dataclass(frozen=True)
class Node:
    """One node. `position` is the record that describes it: a note, or the call that changed it."""

    kind: str  # kernel, copy, fill
    handle: int
    position: int
    kernel_row: int = -1


@dataclass(frozen=True)
class Version:
    """What an instantiated graph does from `position` on, until it is changed again."""

    position: int
    nodes: tuple[Node, ...]


class Graphs:
    """Launches of graphs, oldest first, and what is in the graphs."""

    def __init__(
        self, trace: Trace, objects: Objects, kernels: Kernels, memory: Memory, declared: Declared, errors: Errors
    ) -> None:
        self._trace, self._objects, self._kernels, self._memory = trace, objects, kernels, memory
        self._declared, self._errors = declared, errors
        self.position: I64 = trace.select(trace.schema.doing("launch_graph"))
        self.exec = self._field("graph_exec")
        self.queue = self._field("queue")
        self.status = trace.column("status", self.position)

    def _field(self, name: str) -> NDArray[np.uint64]:
        found = np.zeros(len(self.position), np.uint64)
        for info in self._trace.schema.doing("launch_graph"):
            mine = self._trace.call[self.position] == info.number
            found[mine] = self._trace.field(info, name, self.position[mine])
        return found

    @cached_property
    def started(self) -> NDArray[np.bool_]:
        """Which of them can have run: those that were accepted, and the first report of a fault, if that may be its own."""
        reports = self._errors.reports[:1]
        own = [int(p) for p in reports if self._errors.may_be_own(int(p))]
        return (self.status == 0) | np.isin(self.position, own)

    def __len__(self) -> int:
        return len(self.position)

    @cached_property
    def versions(self) -> dict[int, list[Version]]:
        """Graph handle -> what it did, oldest first."""
        found: dict[int, list[Version]] = {}
        if not len(self.position):
            return found
        waiting: dict[int, list[Node]] = {}
        for position in map(int, self._records):
            name, words = self._trace.info(position).name, self._trace.record(position)
            exec_ = words["graph_exec"]
            if name in KINDS:
                waiting.setdefault(exec_, []).append(self._node(KINDS[name], position, words))
            elif name == "note_graph":
                found.setdefault(exec_, []).append(Version(position, tuple(waiting.pop(exec_, ()))))
            elif exec_ in found and "node" in words:
                found[exec_].append(self._changed(found[exec_][-1], position, words))
        return found

    @cached_property
    def _records(self) -> I64:
        schema = self._trace.schema
        notes = tuple(c for c in schema.calls if c.name in KINDS or c.name == "note_graph")
        changes = tuple(c for c in schema.doing("set_node") if c.word("graph_exec") is not None)
        return self._trace.select((*notes, *changes))

    def _node(self, kind: str, position: int, words: dict[str, int]) -> Node:
        row = -1
        if kind == "kernel":
            handle = np.array([words["kernel"]], np.uint64)
            row = int(self._objects.at(handle, np.array([position], np.int64))[0])
        return Node(kind, words["node"], position, row)

    def _changed(self, before: Version, position: int, words: dict[str, int]) -> Version:
        """A changed kernel node is known again; of other changes only that there was one, so the node is left out."""
        if int(self._trace.column("status", np.array([position]))[0]) or words.get("enabled"):
            return before
        nodes = [n for n in before.nodes if n.handle != words["node"]]
        if words.get("kernel"):
            nodes.append(self._node("kernel", position, words))
        return Version(position, tuple(nodes))

    def version(self, launch: int) -> Version | None:
        """What a launch (a row here) started; None when the graph was not described."""
        position = int(self.position[launch])
        known = [v for v in self.versions.get(int(self.exec[launch]), ()) if v.position < position]
        return known[-1] if known else None

    def by_version(self) -> list[tuple[Version, I64]]:
        """Each version that was launched, with its launches."""
        found: dict[int, tuple[Version, list[int]]] = {}
        for launch in range(len(self)):
            version = self.version(launch)
            if version and self.started[launch]:
                found.setdefault(version.position, (version, []))[1].append(launch)
        return [(version, np.array(launches, np.int64)) for version, launches in found.values()]

    def pointers(self, version: Version) -> Pointers:
        """The pointers of the kernels of a version; `launch` is the place of the node in `version.nodes`."""
        positions = np.array([n.position for n in version.nodes], np.int64)
        rows = np.array([n.kernel_row for n in version.nodes], np.int64)
        kernels = np.flatnonzero([n.kind == "kernel" for n in version.nodes])
        return find_pointers(self._trace, self._memory, self._declared, positions, rows, kernels)

    def name(self, node: Node) -> str:
        """ "kernel scale", "a copy", "a fill"."""
        return f"kernel {self._kernels.name(node.kernel_row)}" if node.kind == "kernel" else f"a {node.kind}"

    def addresses(self, version: Version) -> list[tuple[Node, str, int]]:
        """(node, what it is there, address) of everything that the nodes are given by address."""
        found = []
        pointers = self.pointers(version)
        for row in range(len(pointers)):
            if not pointers.inside[row]:
                node = version.nodes[int(pointers.launch[row])]
                found.append((node, f"argument {int(pointers.index[row])}", int(pointers.value[row])))
        for node in version.nodes:
            words = self._trace.record(node.position) if node.kind != "kernel" else {}
            found += [(node, side, words[side]) for side in ("src", "dst") if words.get(side)]
        return found

    @cached_property
    def _own(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Where the memory begins and ends that graphs allocate for themselves."""
        note = self._trace.schema.by_name("note_graph_memory")
        positions = self._trace.select(note) if note else np.zeros(0, np.int64)
        if note is None or not len(positions):
            return np.zeros(0, np.uint64), np.zeros(0, np.uint64)
        begin, size = (self._trace.field(note, name, positions) for name in ("address", "size"))
        return begin, begin + size

    def allocates(self, address: int) -> bool:
        """Does the address belong to memory that graphs allocate for themselves?"""
        begin, end = self._own
        return bool(((begin <= address) & (address < end)).any())
