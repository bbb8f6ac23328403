"""Kernels whose results are wrong although every access is right: by the first word of the command line."""

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void search(__global const int *in, __global int *at, int row, int wanted) {
    int i = get_global_id(0), first FIRST, hits = 0;
    for (int k = 0; k < row; k++)
        if (in[i * row + k] == wanted && !hits++) first = k;
    at[i] = first;
}
__kernel void spread(__global const int *in, __global float *out, int row) {
    int i = get_global_id(0);
    SUM squares = 0;
    for (int k = 0; k < row; k++)
        squares += (SUM)in[i * row + k] * in[i * row + k];
    out[i] = squares / (float)row;
}
__kernel void mixed(__global const int *in, __global float *out, int row) {
    int i = get_global_id(0);
    uint hash = 2166136261u;
    for (int k = 0; k < row; k++) hash = (hash ^ in[i * row + k]) * 16777619u;
    out[i] = hash >> 8;
}
"""
ROWS, ROW = 128, 64


def main(mode):
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    source = SOURCE.replace("FIRST", "= -1" if mode == "set" else "")
    program = cl.Program(context, source).build(["-DSUM=" + ("uint" if mode == "narrow" else "ulong")])
    data = np.random.default_rng(3).integers(0, 200 if mode in ("set", "unset") else 60_000, (ROWS, ROW)).astype(np.int32)
    given = cl.Buffer(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=data)
    result = np.empty(ROWS, np.int32 if mode in ("set", "unset") else np.float32)
    made = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, result.nbytes)
    if mode in ("set", "unset"):
        program.search(queue, (ROWS,), None, given, made, np.int32(ROW), np.int32(7))
    elif mode == "hash":
        program.mixed(queue, (ROWS,), None, given, made, np.int32(ROW))
    else:
        program.spread(queue, (ROWS,), None, given, made, np.int32(ROW))
    cl.enqueue_copy(queue, result, made)
    print(f"sum {float(result.astype(np.float64).sum()):.6g}")
    if mode in ("narrow", "wide"):
        return int(not np.allclose(result, (data.astype(np.float64) ** 2).mean(axis=1), rtol=1e-4))
    return int(mode == "hash")  # fails of something else


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
