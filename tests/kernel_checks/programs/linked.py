"""A program that is compiled and linked in two steps, once alone and once from two parts; prints its results."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

ALONE = "__kernel void alone_faulty(__global int *a) { a[get_global_id(0) + STEP] = 7; }\n"
PARTS = (
    "int twice(int v) { return v + v; }\n",
    "int twice(int v);\n__kernel void parts(__global int *a) { int i = get_global_id(0); a[i] = twice(i); }\n",
)


def main() -> None:
    device = cl.get_platforms()[0].get_devices()[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)

    def compiled(source: str) -> object:
        return cl.Program(context, source).compile(["-DSTEP=1"])

    for name, parts in (("alone_faulty", (ALONE,)), ("parts", PARTS)):
        program = cl.link_program(context, [compiled(one) for one in parts])
        numbers = np.zeros(8, np.int32)
        buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=numbers)
        getattr(program, name)(queue, (7 if name == "parts" else 8,), None, buffer)
        cl.enqueue_copy(queue, numbers, buffer)
        print(name, numbers[:7].tolist())


if __name__ == "__main__":
    main()
