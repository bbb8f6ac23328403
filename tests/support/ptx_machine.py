"""Runs PTX on the CPU: a warp is 32 threads that run in step while they are at the same place, as on a GPU, and blocks take turns.

Only what nvcc writes for small kernels is known (PTX ISA 8, "Instruction Set"); anything else raises Unknown. Global memory is a
bytearray, so that tests can look at what kernels left there. It is no model of weak memory: every store is seen at once.
"""

from __future__ import annotations

import itertools
import math
import operator
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

SHARED_WINDOW, SHARED_BASE, SHARED_BYTES = 0x7F00_0000_0000, 0x400, 0x10000
TURN = 40  # instructions of a warp before the next one has its turn
MOST_STEPS = 4_000_000
COMPARE = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
TYPE = re.compile(r"([busf])(\d+)")
HALVES = {"f16": "e", "f32": "f", "f64": "d"}


class Unknown(Exception):
    """An instruction that this machine does not have."""


class Stuck(Exception):
    """No thread can go on."""


@dataclass
class Function:
    name: str
    params: list[tuple[str, int]]
    result: tuple[str, int] | None
    code: list[tuple[str, str, list[str]]]  # predicate, instruction, operands
    labels: dict[str, int]
    shared: dict[str, int]
    is_kernel: bool


@dataclass
class Frame:
    function: Function
    pc: int = 0
    regs: dict[str, Any] = field(default_factory=dict)
    params: dict[str, bytearray] = field(default_factory=dict)


@dataclass
class Thread:
    lane: int
    index: tuple[int, int, int]
    frames: list[Frame]
    waits: str = ""  # "", "block" or "warp"
    ended: bool = False


@dataclass
class Block:
    number: int
    size: int
    shared: bytearray
    warps: list[list[Thread]]
    window: dict[str, int] = field(default_factory=dict)


def _clean(text: str) -> str:
    text = re.sub(r"//.*", "", text)
    text = re.sub(r"^\s*\.(?:loc|file|section|version|target|address_size|pragma|maxntid|minnctapersm)\b.*$", "", text, flags=re.M)
    return re.sub(r"\{\s*(%[^{};]*)\}", lambda m: "<" + m[1].replace(",", "|") + ">", text)


def _bytes(type_: str, count: str | None) -> int:
    return int(re.sub(r"\D", "", type_)) // 8 * math.prod(map(int, re.findall(r"\d+", count or "")))


class Machine:
    """A module, with its variables in memory."""

    def __init__(self, text: str) -> None:
        self.memory = bytearray()
        self.names: dict[str, int] = {}
        self.functions: dict[str, Function] = {}
        self.shared_names: dict[str, int] = {}
        self._parse(_clean(text))
        self._next_grid = 1

    # ---- the module ----

    def _parse(self, text: str) -> None:
        pattern = re.compile(r"\.(entry|func)\s*(\([^)]*\))?\s*([\w$]+)\s*(?:\(([^)]*)\))?\s*(?:\.\w+[^{;]*)?(\{|;)", re.S)
        at, outside = 0, ""
        while found := pattern.search(text, at):
            outside += text[at : found.start()]
            at = found.end()
            if found[5] == ";":
                continue
            depth = 1
            while depth:
                depth += {"{": 1, "}": -1}.get(text[at], 0)
                at += 1
            body = text[found.end() : at - 1]
            self._function(found[1] == "entry", found[3], found[4] or "", found[2] or "", body)
        outside += text[at:]
        for type_, name, count in re.findall(r"\.global\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+([\w$]+)((?:\[\d+\])*)", outside):
            self.names[name] = self.alloc(_bytes(type_, count))
        for type_, name, count in re.findall(r"\.shared\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+([\w$]+)((?:\[\d*\])*)", outside):
            self.shared_names[name] = _bytes(type_, count)

    def _function(self, kernel: bool, name: str, params: str, result: str, body: str) -> None:
        declared = [(n, _bytes(t, c)) for t, n, c in re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+([\w$]+)(\[\d+\])?", params)]
        out = re.search(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+([\w$]+)(\[\d+\])?", result)
        code: list[tuple[str, str, list[str]]] = []
        labels: dict[str, int] = {}
        shared: dict[str, int] = {}
        scope: list[int] = [0]
        scopes = itertools.count(1)
        for piece in re.split(r"([{};])", body):
            if piece == "{":
                scope.append(next(scopes))
                continue
            if piece == "}":
                scope.pop()
                continue
            piece = piece.strip()
            while label := re.match(r"([$\w]+)\s*:\s*", piece):
                local = label[1].startswith("gdx_")  # labels of what is inserted are local to their braces
                labels[f"{label[1]}@{scope[-1]}" if local else label[1]] = len(code)
                piece = piece[label.end() :]
            if found := re.match(r"\.shared\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+([\w$]+)(\[\d+\])?", piece):
                shared[found[2]] = _bytes(found[1], found[3])
            if piece in ("", ";") or piece.startswith("."):
                continue
            found = re.match(r"(?:@(!?%?[\w$]+)\s+)?([a-z][\w.:]*)\s*(.*)", piece, re.S)
            assert found is not None, piece
            operands = self._operands(found[2], " ".join(found[3].split()))
            if found[2].startswith("bra") and operands[0].startswith("gdx_"):
                operands = [f"{operands[0]}@{scope[-1]}"]
            code.append((found[1] or "", found[2], operands))
        code.append(("", "ret", []))
        self.functions[name] = Function(name, declared, (out[2], _bytes(out[1], out[3])) if out else None, code, labels, shared, kernel)

    @staticmethod
    def _operands(op: str, rest: str) -> list[str]:
        if op.startswith("call"):
            found = re.fullmatch(r"(?:\(\s*([\w$]+)\s*\)\s*,\s*)?([\w$]+)\s*(?:,\s*\(([^)]*)\))?", rest)
            assert found is not None, rest
            return [found[1] or "", found[2], *(one.strip() for one in (found[3] or "").split(",") if one.strip())]
        return [one.strip() for one in rest.split(",")] if rest else []

    def alloc(self, size: int) -> int:
        at = -(-len(self.memory) // 256) * 256
        self.memory.extend(bytes(at + size - len(self.memory)))
        return at + 0x1000

    def read(self, name_or_at: str | int, size: int) -> bytes:
        at = (self.names[name_or_at] if isinstance(name_or_at, str) else name_or_at) - 0x1000
        return bytes(self.memory[at : at + size])

    def write(self, at: int, data: bytes) -> None:
        self.memory[at - 0x1000 : at - 0x1000 + len(data)] = data

    # ---- a launch ----

    def launch(
        self, kernel: str, grid: int, block: int, arguments: Sequence[int], dynamic: int = 0, most: int = MOST_STEPS
    ) -> None:
        function = self.functions[kernel]
        self.grid, self.block_size, self.dynamic, self.gridid = grid, block, dynamic, self._next_grid
        self._next_grid += 1
        params = {
            name: bytearray(int(value & ((1 << 8 * size) - 1)).to_bytes(size, "little"))
            for (name, size), value in zip(function.params, arguments, strict=True)
        }
        blocks = [self._block(function, number, block, params) for number in range(grid)]
        steps = 0
        while any(not thread.ended for one in blocks for warp in one.warps for thread in warp):
            moved = 0
            for one in blocks:
                for warp in one.warps:
                    for _ in range(TURN):
                        if not self._step(one, warp):
                            break
                        moved += 1
                moved += self._release_barrier(one)
            if not moved and not any(self._give_up(warp) for one in blocks for warp in one.warps):
                raise Stuck(kernel)
            steps += moved
            if steps > most:
                raise Stuck(f"{kernel} takes too long")

    def _block(self, function: Function, number: int, size: int, params: dict[str, bytearray]) -> Block:
        window, at = {}, SHARED_BASE
        for name, width in {**self.shared_names, **function.shared}.items():
            window[name], at = at, at + -(-width // 16) * 16
        threads = [Thread(i % 32, (i, 0, 0), [Frame(function, params=dict(params))]) for i in range(size)]
        warps = [threads[i : i + 32] for i in range(0, size, 32)]
        return Block(number, size, bytearray(b"\xcd" * SHARED_BYTES), warps, window)

    @staticmethod
    def _release_barrier(block: Block) -> int:
        threads = [thread for warp in block.warps for thread in warp if not thread.ended]
        if not threads or not all(thread.waits == "block" for thread in threads):
            return 0
        for thread in threads:
            thread.waits = ""
            thread.frames[-1].pc += 1
        return len(threads)

    def _give_up(self, warp: list[Thread]) -> bool:
        """Nobody can go on, so what waits for lanes that do not come goes on without them."""
        waiting = [thread for thread in warp if thread.waits == "warp"]
        for thread in waiting:
            thread.waits = "alone"
        return bool(waiting)

    def _step(self, block: Block, warp: list[Thread]) -> bool:
        ready = [thread for thread in warp if not thread.ended and thread.waits in ("", "alone")]
        if not ready:
            return False
        first = min(ready, key=lambda t: (-len(t.frames), t.frames[-1].pc))
        here = [t for t in ready if len(t.frames) == len(first.frames) and t.frames[-1].pc == first.frames[-1].pc]
        here = [t for t in here if t.frames[-1].function is first.frames[-1].function]
        when, op, operands = first.frames[-1].function.code[first.frames[-1].pc]
        self._execute(block, warp, here, when, op, operands)
        return True

    def _execute(self, block: Block, warp: list[Thread], here: list[Thread], when: str, op: str, operands: list[str]) -> None:
        chosen = [t for t in here if not when or bool(t.frames[-1].regs.get(when.lstrip("!"), False)) != when.startswith("!")]
        parts = re.split(r"[.:]+", op)
        if parts[:2] == ["bar", "sync"] or parts[:2] == ["barrier", "sync"]:
            for thread in chosen:
                thread.waits = "block"
            here = [t for t in here if t not in chosen]
        elif "sync" in parts:
            if not self._together(warp, chosen, operands):
                return
            self._warp_wide(block, chosen, parts, operands)
        elif parts[0] == "activemask":
            mask = sum(1 << t.lane for t in chosen)
            for thread in chosen:
                thread.frames[-1].regs[operands[0]] = mask
        else:
            for thread in chosen:
                if self._one(block, thread, parts, operands):
                    here = [t for t in here if t is not thread]
        for thread in here:
            thread.frames[-1].pc += 1

    def _together(self, warp: list[Thread], chosen: list[Thread], operands: list[str]) -> bool:
        """Are all lanes of the mask that have not ended here? Else those that are wait."""
        mask = self._value(chosen[0], operands[-1], 32) if chosen else 0
        wanted = [t for t in warp if mask >> t.lane & 1 and not t.ended]
        if all(t in chosen or t.waits == "alone" for t in wanted) or any(t.waits == "alone" for t in chosen):
            for thread in chosen:
                thread.waits = ""
            return True
        for thread in chosen:
            thread.waits = "warp"
        arrived = [t for t in wanted if t.waits == "warp" and t.frames[-1].pc == chosen[0].frames[-1].pc]
        if len(arrived) == len(wanted):
            for thread in arrived:
                thread.waits = ""
        return False

    def _warp_wide(self, block: Block, chosen: list[Thread], parts: list[str], operands: list[str]) -> None:
        if parts[0] == "bar":
            return
        if parts[0] == "vote":
            given = {t.lane: bool(self._pred(t, operands[1])) for t in chosen}
            ballot = sum(1 << lane for lane, yes in given.items() if yes)
            answers = {"ballot": ballot, "any": ballot != 0, "all": all(given.values())}
            for thread in chosen:
                thread.frames[-1].regs[operands[0]] = answers[parts[2]]
            return
        if parts[0] != "shfl":
            raise Unknown(".".join(parts))
        values = {t.lane: self._value(t, operands[1], 32) for t in chosen}
        for thread in chosen:
            by = self._value(thread, operands[2], 32)
            source = {"idx": by & 31, "down": thread.lane + by, "up": thread.lane - by, "bfly": thread.lane ^ by}[parts[2]]
            target, _, pred = operands[0].partition("|")
            fits = 0 <= source < 32
            thread.frames[-1].regs[target] = values.get(source if fits else thread.lane, values[thread.lane])
            if pred:
                thread.frames[-1].regs[pred] = fits

    # ---- one thread ----

    def _pred(self, thread: Thread, name: str) -> bool:
        if name in ("0", "1", "-1"):
            return name != "0"
        return bool(thread.frames[-1].regs.get(name.lstrip("!"), False)) != name.startswith("!")

    def _value(self, thread: Thread, name: str, bits: int = 64) -> Any:
        regs = thread.frames[-1].regs
        if name in regs:
            return regs[name]
        if name.startswith("%"):
            return self._special(thread, name)
        if re.fullmatch(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?", name):
            return int(name.rstrip("U"), 0) & ((1 << bits) - 1)
        if found := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", name):
            return int(found[1], 16)
        if name in self._window:
            return self._window[name]
        if name in self.names:
            return self.names[name]
        raise Unknown(f"operand {name}")

    def _special(self, thread: Thread, name: str) -> int:
        known = {
            "%tid.x": thread.index[0], "%tid.y": 0, "%tid.z": 0, "%ntid.x": self.block_size, "%ntid.y": 1, "%ntid.z": 1,
            "%ctaid.x": self._number, "%ctaid.y": 0, "%ctaid.z": 0, "%nctaid.x": self.grid, "%nctaid.y": 1, "%nctaid.z": 1,
            "%gridid": self.gridid, "%laneid": thread.lane, "%dynamic_smem_size": self.dynamic,
        }  # fmt: skip
        if name not in known:
            raise Unknown(f"register {name}")
        return known[name]

    def _one(self, block: Block, thread: Thread, parts: list[str], operands: list[str]) -> bool:
        """Executes it; True where the place of the thread is set already."""
        self._window, self._number = block.window, block.number
        frame, op = thread.frames[-1], parts[0]
        if op == "bra":
            frame.pc = frame.function.labels[operands[0]]
            return True
        if op in ("ret", "exit"):
            return self._return(thread)
        if op == "call":
            return self._call(thread, operands)
        if op in ("ld", "st", "atom", "red"):
            self._access(block, thread, parts, operands)
        elif op in ("membar", "fence"):
            pass
        else:
            frame.regs[operands[0]] = self._compute(thread, parts, operands[1:])
        return False

    def _return(self, thread: Thread) -> bool:
        done = thread.frames.pop()
        if not thread.frames:
            thread.ended = True
            return True
        caller = thread.frames[-1]
        operands = caller.function.code[caller.pc][2]
        if operands[0] and done.function.result:
            caller.params[operands[0]] = done.params[done.function.result[0]]
        caller.pc += 1
        return True

    def _call(self, thread: Thread, operands: list[str]) -> bool:
        function = self.functions[operands[1]]
        given = thread.frames[-1].params
        params = {name: bytearray(given[one]) for (name, _), one in zip(function.params, operands[2:], strict=True)}
        thread.frames.append(Frame(function, params=params))
        return True

    def _access(self, block: Block, thread: Thread, parts: list[str], operands: list[str]) -> None:
        op = parts[0]
        kind = next(part for part in reversed(parts) if TYPE.fullmatch(part) or part == "pred")
        width = int(kind[1:]) // 8
        text = operands[0] if op in ("st", "red") else operands[1]
        found = re.fullmatch(r"\[\s*([%\w$]+)\s*(?:\+\s*(-?\w+))?\s*\]", text)
        assert found is not None, text
        offset = int(found[2], 0) if found[2] else 0
        if "param" in parts:
            room = thread.frames[-1].params.setdefault(found[1], bytearray(16))
        else:
            base = self._value(thread, found[1]) + offset
            room, offset = self._place(block, parts, base & ((1 << 64) - 1))
        if op == "ld":
            for number, name in enumerate(operands[0].strip("<>").split("|")):
                value = int.from_bytes(room[offset + number * width : offset + (number + 1) * width], "little")
                if kind.startswith("s") and value >> (8 * width - 1):
                    value -= 1 << 8 * width
                thread.frames[-1].regs[name.strip()] = value & ((1 << 64) - 1) if width == 8 else value & 0xFFFFFFFF
            return
        given = operands[1] if op in ("st", "red") else operands[2]
        old = int.from_bytes(room[offset : offset + width], "little")
        for number, name in enumerate(given.strip("<>").split("|")):
            value = self._value(thread, name.strip()) & ((1 << 8 * width) - 1)
            if op in ("atom", "red"):
                value = self._atomic(thread, parts, old, value, operands)
            room[offset + number * width : offset + (number + 1) * width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        if op == "atom":
            thread.frames[-1].regs[operands[0]] = old

    def _atomic(self, thread: Thread, parts: list[str], old: int, value: int, operands: list[str]) -> int:
        if "exch" in parts:
            return value
        if "cas" in parts:
            return self._value(thread, operands[3]) if old == value else old
        known: dict[str, Callable[[int, int], int]] = {"add": operator.add, "max": max, "min": min, "or": operator.or_}
        for name, do in known.items():
            if name in parts:
                return do(old, value)
        raise Unknown(".".join(parts))

    def _place(self, block: Block, parts: list[str], at: int) -> tuple[bytearray, int]:
        if "shared" in parts:
            return block.shared, at & 0xFFFFFFFF
        if at >= SHARED_WINDOW:
            return block.shared, at - SHARED_WINDOW
        if not 0x1000 <= at < len(self.memory) + 0x1000:
            raise IndexError(f"global access at {at:#x}")
        return self.memory, at - 0x1000

    # ---- arithmetic ----

    def _compute(self, thread: Thread, parts: list[str], given: list[str]) -> Any:
        op, kind = parts[0], parts[-1]
        if op == "isspacep":
            at = self._value(thread, given[0])
            return (at >= SHARED_WINDOW) if kind == "shared" else at < SHARED_WINDOW
        if kind == "pred":
            return self._predicates(thread, op, given)
        if op == "setp":
            return self._compared(thread, parts, given)
        if op == "selp":
            return self._value(thread, given[0] if self._pred(thread, given[2]) else given[1])
        if op == "cvta":
            at = self._value(thread, given[0])
            if "shared" in parts:
                return at - SHARED_WINDOW if "to" in parts else at + SHARED_WINDOW
            return at
        if op == "cvt":
            return self._converted(thread, parts, given)
        bits = int(kind[1:])
        numbers = [self._number_of(self._value(thread, one, bits), kind) for one in given]
        return self._result(op, parts, numbers, kind)

    @staticmethod
    def _number_of(value: Any, kind: str) -> Any:
        bits = int(kind[1:])
        value &= (1 << bits) - 1
        if kind[0] == "f":
            return struct.unpack("<" + HALVES[kind], value.to_bytes(bits // 8, "little"))[0]
        return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value

    def _predicates(self, thread: Thread, op: str, given: list[str]) -> bool:
        first = self._pred(thread, given[0])
        if op in ("mov", "not"):
            return first if op == "mov" else not first
        second = self._pred(thread, given[1])
        return {"and": first and second, "or": first or second, "xor": first != second}[op]

    def _compared(self, thread: Thread, parts: list[str], given: list[str]) -> bool:
        kind = parts[-1]
        a, b = (self._number_of(self._value(thread, one, int(kind[1:])), kind) for one in given[:2])
        return bool(COMPARE[parts[1].removesuffix("u")](a, b))

    def _converted(self, thread: Thread, parts: list[str], given: list[str]) -> int:
        to, source = [part for part in parts if TYPE.fullmatch(part)]
        value = self._number_of(self._value(thread, given[0], int(source[1:])), source)
        if to[0] == "f":
            return int.from_bytes(struct.pack("<" + HALVES[to], value), "little")
        return int(value) & ((1 << int(to[1:])) - 1)

    def _result(self, op: str, parts: list[str], n: list[Any], kind: str) -> Any:
        bits = int(kind[1:])
        two: dict[str, Callable[[Any, Any], Any]] = {
            "add": operator.add, "sub": operator.sub, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
            "max": max, "min": min, "shl": lambda a, b: a << min(b, 64), "shr": lambda a, b: a >> min(b, 64),
        }  # fmt: skip
        if op == "mov":
            value = n[0]
        elif op in two:
            value = two[op](n[0], n[1])
        elif op in ("mul", "mad", "fma"):
            value = n[0] * n[1]
            bits = 2 * bits if "wide" in parts else bits
            value = value >> bits if "hi" in parts else value
            value = value + n[2] if op != "mul" else value
        elif op in ("not", "neg", "abs"):
            value = {"not": lambda a: ~a, "neg": operator.neg, "abs": abs}[op](n[0])
        elif op in ("div", "rem"):
            value = n[0] / n[1] if kind[0] == "f" else int(n[0] / n[1]) if op == "div" else n[0] - n[1] * int(n[0] / n[1])
        elif op in ("brev", "clz"):
            value = int(f"{n[0]:0{bits}b}"[::-1], 2) if op == "brev" else bits - n[0].bit_length()
        elif op == "bfind":
            place = n[0].bit_length() - 1
            value = bits - 1 - place if "shiftamt" in parts and place >= 0 else place
        elif op == "bfi":
            mask = ((1 << n[3]) - 1) << n[2]
            value = (n[1] & ~mask) | (n[0] << n[2] & mask)
        else:
            raise Unknown(".".join(parts))
        if kind[0] == "f":
            return int.from_bytes(struct.pack("<" + HALVES[kind], value), "little")
        return value & ((1 << bits) - 1)


def reports(machine: Machine) -> Iterator[tuple[int, ...]]:
    """The records that kernels with checks left: kind, site, how, width, offset, more, thread, block."""
    head = struct.unpack("<I", machine.read("gdx_report", 4))[0]
    for number in range(min(head, 64)):
        w = struct.unpack("<24I", machine.read(machine.names["gdx_report"] + 32 + number * 96, 96))
        yield w[0], w[1], w[3], w[4], w[6] | w[7] << 32, w[22] | w[23] << 32, w[16], w[19]
