"""Runs planted kernels: each with its fault, then each as it should be, whose results it prints.

    planted_host.py [right] FILE... [-- NAME...]

An entry of a file begins with "//== name | global/local+offset | arguments". {{fault|fix}} are the two variants of a place. Arguments:
f100 and i32*8, u8*9, d4 are global buffers of zeros (i32*3=1,2,3 has these values), F100 and h100 count up from 1 (h: halfs), S16 is a
sub-buffer of 16 such floats in a larger buffer, U16 is a buffer of floats that nothing wrote, P16 one of which the host wrote the
first half, i5 an int, l64 local memory of 64 bytes, =0 the buffer of argument 0. With "right", faulty kernels do not run.
"""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

VARIANT = re.compile(r"\{\{([^{}|]*)\|([^{}]*)\}\}")
KINDS = {"i32": "int32", "u8": "uint8"}


@dataclass(frozen=True)
class Planted:
    name: str
    file: str
    sizes: str
    arguments: tuple[str, ...]
    text: str
    first: int = 0  # lines of the file before the text

    def source(self, faulty: bool) -> str:
        return VARIANT.sub(lambda match: match[1 if faulty else 2], self.text).replace(
            "KERNEL(", f"__kernel void {self.kernel(faulty)}("
        )

    def kernel(self, faulty: bool) -> str:
        return f"{self.name}_{'faulty' if faulty else 'right'}"

    @property
    def lines(self) -> set[int]:
        """Where the fault may be reported: the lines of the file, or of the text where the file does not have it as it is."""
        found = {number for number, line in enumerate(self.text.splitlines(), 1) if "/*!*/" in line}
        return found | {number + self.first for number in found}


def read(path: Path) -> list[Planted]:
    parts = re.split(r"^//== (.*)\n", path.read_text(), flags=re.M)
    out, first = [], parts[0].count("\n")
    for head, text in zip(parts[1::2], parts[2::2], strict=True):
        name, sizes, arguments = (word.strip() for word in head.split("|"))
        out.append(Planted(name, path.stem, sizes, tuple(arguments.split()), text, first + 1))
        first += 1 + text.count("\n")
    return out


def main(words: list[str]) -> None:
    import pyopencl as cl

    names = set(words[words.index("--") + 1 :]) if "--" in words else set()
    files = words[: words.index("--")] if "--" in words else words
    variants = (False,) if files[:1] == ["right"] else (True, False)
    device = cl.get_platforms()[0].get_devices()[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    for path in files[2 - len(variants) :]:
        for one in read(Path(path)):
            if not names or one.name in names:
                for faulty in variants:
                    run(cl, context, queue, one, faulty)


def run(cl: object, context: object, queue: object, one: Planted, faulty: bool) -> None:
    program = cl.Program(context, one.source(faulty)).build()
    kernel = getattr(program, one.kernel(faulty))
    sizes, _, offset = one.sizes.partition("+")
    sizes, _, local = sizes.partition("/")
    values: list[object] = []
    for text in one.arguments:
        values.append(values[int(text[1:])] if text[0] == "=" else argument(cl, context, queue, text))
    kernel(queue, numbers(sizes), numbers(local), *values, global_offset=numbers(offset))
    queue.finish()
    if not faulty:
        for at, value in enumerate(values):
            if one.arguments[at][0] not in "il=UP" or one.arguments[at].startswith("i32"):
                out = np.empty(value.size, np.uint8)
                cl.enqueue_copy(queue, out, value)
                print(one.name, at, hashlib.sha1(out.tobytes()).hexdigest()[:12])


def numbers(text: str) -> tuple[int, ...] | None:
    return tuple(int(n) for n in text.split(",")) if text else None


def argument(cl: object, context: object, queue: object, text: str) -> object:
    if match := re.fullmatch(r"(i32|u8)\*(\d+)(?:=(.*))?", text):
        data = np.zeros(int(match[2]), KINDS[match[1]])
        if match[3]:
            data[:] = [int(n) for n in match[3].split(",")]
    elif text[0] in "fd":
        data = np.zeros(int(text[1:]), "float32" if text[0] == "f" else "float64")
    elif text[0] in "FhS":
        data = np.arange(1, int(text[1:]) + 1).astype("float16" if text[0] == "h" else "float32")
    elif text[0] == "i":
        return np.int32(int(text[1:]))
    elif text[0] == "l":
        return cl.LocalMemory(int(text[1:]))
    else:
        buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * int(text[1:]))
        if text[0] == "P":
            cl.enqueue_copy(queue, buffer, np.zeros(int(text[1:]) // 2, "float32"))
        return buffer
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    if text[0] == "S":
        return cl.Buffer(context, flags, hostbuf=np.pad(data, (0, 1024))).get_sub_region(0, data.nbytes)
    return cl.Buffer(context, flags, hostbuf=data)


if __name__ == "__main__":
    main(sys.argv[1:])
