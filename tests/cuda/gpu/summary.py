"""One line about the traces in a folder. Standard library only: a GPU machine may have no numpy.

usage: summary.py FOLDER [--calls]
"""

from __future__ import annotations

import json
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HEAD = struct.Struct("<8sIIQQQQ")
FORMATS = {"u16": "H", "u32": "I", "u64": "Q", "i32": "i", "char": "s"}
CAPTURED = 8


class Layout:
    """Fields of one structure, as the trace describes it."""

    def __init__(self, described: dict[str, Any]) -> None:
        self.size = int(described["size"])
        self.fields = {name: (FORMATS[base], int(count), int(at)) for name, base, count, at in described["fields"]}

    def get(self, data: bytes, at: int, name: str, index: int = 0) -> int:
        code, _, offset = self.fields[name]
        size = struct.calcsize("<" + code)
        return int(struct.unpack_from("<" + code, data, at + offset + index * size)[0])


class File:
    """A trace, slot by slot."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        _, _, _, offset, size, self.unit, self.first = HEAD.unpack_from(self.data)
        schema = json.loads(self.data[offset : offset + size])
        self.calls, self.parts, self.magic = schema["calls"], schema["parts"], schema["chunk_magic"]
        self.slot, self.chunk = Layout(schema["layout"]["slot"]), Layout(schema["layout"]["chunk"])
        self.errors = {value: name for name, value in schema["errors"]["cuda"].items()}

    def slots(self) -> Iterator[int]:
        """Where committed slots lie."""
        for at in range(self.first, len(self.data) - self.chunk.size, self.unit):
            if self.chunk.get(self.data, at, "magic") != self.magic or self.chunk.get(self.data, at, "kind") > 2:
                continue
            expected = self.chunk.get(self.data, at, "first_seq")
            for number, place in enumerate(range(at + self.chunk.size, at + self.unit, self.slot.size)):
                if self.slot.get(self.data, place, "seq") == expected + number:
                    yield place

    def field(self, place: int, name: str) -> int:
        return self.slot.get(self.data, place, name)

    def word(self, place: int, index: int) -> int:
        return self.slot.get(self.data, place, "w", index)

    def part(self, place: int, number: int) -> bytes:
        """One part of a slot's blob, b"" if it has none."""
        at, left = self.field(place, "blob") * 8, self.field(place, "blob_bytes")
        while left >= 8:
            field, size = struct.unpack_from("<II", self.data, at)
            if field == number:
                return self.data[at + 8 : at + 8 + size]
            step = 8 + (size + 7) // 8 * 8
            at, left = at + step, left - step
        return b""


def lines(file: File) -> tuple[str, list[str]]:
    """The line about a trace, and its calls in order of time."""
    counts: Counter[str] = Counter()
    told: list[tuple[int, str]] = []
    unknown: list[str] = []
    failures: list[tuple[int, str]] = []
    for place in file.slots():
        call = file.calls[file.field(place, "call")]
        name, status, begin = call["name"], file.field(place, "status"), file.field(place, "begin")
        if call["api"] != "note":
            counts["calls"] += 1
        if call.get("does") == "launch":
            counts["launches"] += 1
            counts["arguments"] += bool(file.part(place, file.parts["arguments"]))
            counts["captured"] += bool(file.field(place, "flags") & CAPTURED)
        if name == "note_unknown_entry":
            unknown.append(file.part(place, file.parts["text"]).decode(errors="replace"))
        counts[name] += name.startswith("note_")
        counts["open"] += file.field(place, "end") == 0
        if status and call["api"] != "note":
            failures.append((begin, f"{name} {file.errors.get(status, status)}"))
        words = ", ".join(f"{field}={file.word(place, i):#x}" for i, (field, _) in enumerate(call["fields"]))
        told.append((begin, f"{name}({words}) -> {status} context {file.field(place, 'context')}"))
    first = min(failures)[1] if failures else "-"
    line = (
        f"{counts['calls']} calls, {counts['launches']} launches ({counts['arguments']} with arguments, "
        f"{counts['captured']} captured), {counts['note_kernel']} kernels, {counts['note_graph_kernel']} graph nodes, "
        f"{counts['note_stack']} stacks, {counts['open']} in flight, "
        f"{len(unknown)} unknown entries{' (' + ' '.join(unknown[:5]) + ')' if unknown else ''}, first failure: {first}"
    )
    return line, [text for _, text in sorted(told)]


def main() -> int:
    traces = sorted(Path(sys.argv[1]).glob("*.gdx"))
    if not traces:
        print("NO TRACE")
    for path in traces:
        line, calls = lines(File(path))
        print(line)
        if "--calls" in sys.argv:
            print("\n".join(calls))
    return 0


if __name__ == "__main__":
    sys.exit(main())
