"""One process of a run as columns of codes that are equal where the two runs did the same."""

from __future__ import annotations

import hashlib
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.codes import mixed
from gpudx.facts.objects import MEMORY, POINTED

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
WORD = 8
# Where Linux puts the user's half of memory on 64-bit machines: such a number is an address, and those differ in every run.
LOWEST_ADDRESS, HIGHEST_ADDRESS = 1 << 40, 1 << 47
ADDRESS = np.uint64(0xADD7E55)  # stands for all of them


def code_of(text: str) -> int:
    """A number for a name, the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")


class Side:
    """One process. Labels of objects are given from outside, because only both sides together know them."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.trace, self.launches, self.objects = facts.trace, facts.launches, facts.objects

    # ---- launches ----

    @cached_property
    def kernel(self) -> U64:
        """A code for the name of each launch's kernel."""
        names = {row: self.facts.kernels.name(row) for row in np.unique(self.launches.kernel_row).tolist()}
        rows = np.array(list(names), np.int64)
        codes = np.array([code_of(name) for name in names.values()], np.uint64)
        return codes[np.searchsorted(rows, self.launches.kernel_row)] if len(rows) else np.zeros(0, np.uint64)

    @cached_property
    def geometry(self) -> U64:
        rows = np.arange(len(self.launches))
        shared = self.launches.shared(rows).astype(np.uint64)
        return mixed(len(rows), [*self.launches.sizes(rows), shared])

    @cached_property
    def queue(self) -> I64:
        """A number for the queue of each launch: the object, or one for all that were not recorded."""
        return self.objects.at(self.launches.queue, self.launches.position)

    @cached_property
    def offset(self) -> U64:
        """Where in its memory each argument points."""
        args, table = self.launches.arguments, self.objects.table
        if not len(table):
            return np.zeros(len(args.launch), np.uint64)
        inside = (args.object >= 0) & self.launches.by_address[args.launch]
        return np.where(inside, args.value - table["handle"][np.maximum(args.object, 0)], np.uint64(0))

    def arguments(self, labels: U64) -> U64:
        """A code for each argument; `labels` has one for each object."""
        args = self.launches.arguments
        local = (args.flags & self.trace.schema.argument_flags["local"]) != 0
        label = np.append(labels, np.uint64(0))[args.object]
        value = np.where(args.object >= 0, mixed(len(label), [label, self.offset]), self._plain)
        value = np.where(args.size > WORD, self._long(labels), np.where(local, np.uint64(0), value))
        return mixed(len(value), [args.index.astype(np.uint64), args.size.astype(np.uint64), value])

    @cached_property
    def _plain(self) -> U64:
        """Values of one word, as far as they were given; addresses that name no recorded object count as alike."""
        args = self.launches.arguments
        bits = np.minimum(args.size, WORD).astype(np.uint64) * np.uint64(8)
        mask = np.where(bits >= 64, ~np.uint64(0), (np.uint64(1) << (bits & np.uint64(63))) - np.uint64(1))
        return _without_addresses(args.value & mask)

    def _long(self, labels: U64) -> U64:
        """A code for the content of each argument that is longer than a word, 0 for the others."""
        args, codes = self.launches.arguments, np.zeros(len(self.launches.arguments.launch), np.uint64)
        long = np.flatnonzero(args.size > WORD)
        if not len(long):
            return codes
        begin, size = self.trace.tails(self.launches.position)
        tail, bytes_ = args.tail[long].astype(np.int64), args.size[long].astype(np.int64)
        fits = (tail % WORD == 0) & (tail + bytes_ <= size[args.launch[long]])
        long, tail, counts = long[fits], tail[fits], bytes_[fits] // WORD
        which = np.repeat(np.arange(len(long)), counts)
        nth = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        if not len(which):
            return codes
        words = self.trace.words8[begin[args.launch[long[which]]] + tail[which] // WORD + nth]
        value = mixed(len(words), [self._named(words, args.launch[long[which]], labels), nth.astype(np.uint64)])
        codes[long[counts > 0]] = np.add.reduceat(value, (np.cumsum(counts) - counts)[counts > 0])
        return codes

    def _named(self, words: U64, launch: I64, labels: U64) -> U64:
        """Words of structures, with addresses of recorded memory as its label and the offset."""
        plain = _without_addresses(words)
        maybe = np.flatnonzero(self.facts.memory.maybe(words))
        if not len(maybe):
            return plain
        rows = self.facts.memory.at(words[maybe], self.launches.position[launch[maybe]])
        offset = words[maybe] - self.objects.table["handle"][rows]
        plain[maybe] = np.where(
            rows >= 0, mixed(len(rows), [np.append(labels, np.uint64(0))[rows], offset]), plain[maybe]
        )
        return plain

    def per_launch(self, codes: U64) -> U64:
        """The sum of the codes of each launch's arguments: they carry their places, so the order does not matter."""
        owner = self.launches.arguments.launch
        total = np.zeros(len(self.launches), np.uint64)
        if len(owner):
            first = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
            total[owner[first]] = np.add.reduceat(codes, first)
        return total

    # ---- memory ----

    @cached_property
    def memory(self) -> I64:
        """Rows of Objects that are memory whose making was recorded, oldest first."""
        rows = self.objects.rows_of(*MEMORY, *POINTED)
        rows = rows[self.objects.table["born"][rows] >= 0]
        return rows[np.argsort(self.objects.table["born"][rows], kind="stable")]

    @cached_property
    def memory_kind(self) -> U64:
        table = self.objects.table
        rows = self.memory
        return mixed(len(rows), [table["kind"][rows].astype(np.uint64), table["family"][rows].astype(np.uint64)])

    @cached_property
    def memory_like(self) -> U64:
        """Kind, family and size."""
        return mixed(len(self.memory), [self.memory_kind, self.objects.table["size"][self.memory]])

    @cached_property
    def memory_thread(self) -> NDArray[np.uint32]:
        return self.trace.column("tid", self.objects.table["born"][self.memory])

    def kinds(self) -> U64:
        """Labels for objects that nothing is known of but what they are."""
        return mixed(len(self.objects), [self.objects.table["kind"].astype(np.uint64)])

    def likes(self) -> U64:
        """Labels by kind, family and size."""
        labels = self.kinds()
        labels[self.memory] = self.memory_like
        return labels


def _without_addresses(values: U64) -> U64:
    """Addresses as one number. A structure's padding may hold half of one: such words are not compared either."""
    return np.where((values >= LOWEST_ADDRESS) & (values < HIGHEST_ADDRESS), ADDRESS, values)
