"""Thousands of records become one fault per site, with ranges, and with the doubts that are known about the tool."""

from __future__ import annotations

from collections.abc import Iterable

from gpudx.evidence._sanitizer_records import Box, Dim, Fault, HostFrame, Range, Record

MOST_SITES = 10_000
STICKY = frozenset((4, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719))  # errors that all later calls return
HOST_KINDS = frozenset(("api-error", "leak", "unused-memory", "uninitialised-copy"))  # their site is on the host

# Calls that programs make to find out something, and for which this answer is no failure.
PROBES = {
    ("cuGetProcAddress", 500), ("cuGetProcAddress_v2", 500), ("cudaGetDriverEntryPoint", 500),
    ("cuModuleGetGlobal", 500), ("cuModuleGetGlobal_v2", 500), ("cuPointerGetAttribute", 1),
    ("cuPointerGetAttributes", 1), ("cudaPointerGetAttributes", 1), ("cuCtxGetDevice", 201),
    ("cudaDeviceCanAccessPeer", 101), ("cuDeviceGetP2PAttribute", 101),
}  # fmt: skip

Key = tuple[object, ...]


class Groups:
    """Add records in the order in which they were printed."""

    def __init__(self) -> None:
        self._groups: dict[Key, _Group] = {}
        self.records = 0
        self.left_out = 0
        self._device_failed = False
        self._api_failed: set[int | None] = set()

    def add(self, record: Record) -> None:
        self.records += 1
        key = key_of(record)
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= MOST_SITES:
                self.left_out += 1
                return
            group = self._groups[key] = _Group(record, self._follows(record))
        group.add(record)
        self._remember(record)

    def _follows(self, record: Record) -> bool:
        """An API error that repeats what went wrong before it."""
        if record.kind != "api-error":
            return False
        after_device = self._device_failed and record.code in STICKY
        return after_device or (record.code in self._api_failed and (record.api or "").endswith("LastError"))

    def _remember(self, record: Record) -> None:
        if record.kind == "api-error":
            self._api_failed.add(record.code)
            self._device_failed |= record.code in STICKY
        elif record.severity == "error" and record.kind not in HOST_KINDS:
            self._device_failed = True

    def faults(self) -> tuple[Fault, ...]:
        """In the order in which their first records were printed."""
        return tuple(group.fault() for group in self._groups.values())


def key_of(record: Record) -> Key:
    """What tells sites apart."""
    where = record.where
    site: object = where.source or where.pc
    if record.kind in HOST_KINDS:
        site = _host_site(record.host)
    other = (record.other.source or record.other.pc) if record.other else None
    said = (record.api, record.code, record.space, record.severity, _doubt(record))
    return (record.kind, where.function, site, other, *said)


def _host_site(frames: Iterable[HostFrame]) -> object:
    """The frames below the driver and the runtime: two mallocs in two lines are two sites."""
    return tuple((f.function, f.module, f.offset) for f in frames)


class _Group:
    def __init__(self, first: Record, follows: bool) -> None:
        self.first, self.follows = first, follows
        self.count = self.hazards = self.bytes = 0
        self.addresses: tuple[int, int] | None = None
        self.blocks: tuple[Dim, Dim] | None = None
        self.threads: tuple[Dim, Dim] | None = None

    def add(self, record: Record) -> None:
        self.count += 1
        self.hazards += record.hazards
        self.bytes += record.size or 0
        if record.address is not None:
            self.addresses = _span(self.addresses, record.address)
        if record.block:
            self.blocks = _box(self.blocks, record.block)
        if record.thread:
            self.threads = _box(self.threads, record.thread)

    def fault(self) -> Fault:
        first = self.first
        return Fault(
            kind=first.kind,
            first=first,
            count=self.count,
            hazards=self.hazards,
            addresses=Range(*self.addresses) if self.addresses else None,
            blocks=Box(*self.blocks) if self.blocks else None,
            threads=Box(*self.threads) if self.threads else None,
            bytes=self.bytes if first.kind in ("leak", "unused-memory") else 0,
            doubt=_doubt(first),
            follows=self.follows,
        )


def _span(known: tuple[int, int] | None, value: int) -> tuple[int, int]:
    if known is None:
        return value, value
    low, high = known
    return known if low <= value <= high else (min(low, value), max(high, value))


def _box(known: tuple[Dim, Dim] | None, value: Dim) -> tuple[Dim, Dim]:
    if known is None:
        return value, value
    (a, b, c), (d, e, f) = known
    x, y, z = value
    return (min(a, x), min(b, y), min(c, z)), (max(d, x), max(e, y), max(f, z))


def _doubt(record: Record) -> str | None:
    """Why a record may be a false alarm; None when nothing is known against it."""
    if record.kind == "api-error":
        return "programs make this call to query something; its result is not a failure" if _probe(record) else None
    nearest = record.nearest
    if not nearest or nearest.side != "inside" or "misaligned" in (record.reason or "") or record.address is None:
        return None
    past = record.address + (record.size or 1) - (nearest.address + nearest.size)
    if past <= 0:
        return "the access lies wholly inside the allocation that the tool itself names"
    return (
        "the access begins inside the nearest allocation and ends after it; if the next mapping adjoins, as in"
        " reserved address ranges that grow (expandable segments), this is a false alarm"
    )


def _probe(record: Record) -> bool:
    return (record.api, record.code) in PROBES
