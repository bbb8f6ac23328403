"""Programs that are compiled and linked in two steps: one alone, one from two parts, one with a header; prints their results."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

ALONE = "__kernel void alone_faulty(__global int *a) { a[get_global_id(0) + STEP] = 7; }\n"
PARTS = (
    "#define N 2\nint twice(int v) { return N * v; }\nvoid put(__global int *a, int i, int v) {\n  a[i] = v;\n}\n",
    "int twice(int v);\nvoid put(__global int *a, int i, int v);\n"
    "__kernel void parts_faulty(__global int *a) { int i = get_global_id(0); put(a, i + STEP, twice(i)); }\n",
)
HEADER = "int more(int v) { return v + STEP; }\n"
WITH_HEADER = '#include "more.h"\n__kernel void header(__global int *a) { int i = get_global_id(0); if (i < 8) a[i] = more(a[i]); }\n'


def main() -> None:
    device = cl.get_platforms()[0].get_devices()[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)

    def compiled(source: str) -> object:
        headers = [("more.h", cl.Program(context, HEADER))] if "more.h" in source else []
        return cl.Program(context, source).compile(["-DSTEP=1"], headers=headers)

    for name, parts in (("alone_faulty", (ALONE,)), ("parts_faulty", PARTS), ("header", (WITH_HEADER,))):
        program = cl.link_program(context, [compiled(one) for one in parts])
        numbers = np.zeros(8, np.int32)
        buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=numbers)
        getattr(program, name)(queue, (8,), None, buffer)
        cl.enqueue_copy(queue, numbers, buffer)
        print(name, numbers[:7].tolist())


if __name__ == "__main__":
    main()
