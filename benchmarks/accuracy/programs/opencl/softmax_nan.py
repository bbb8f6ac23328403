#: class = "H2"
#: cause = ["not-a-number"]
#: kernel = "softmax"
#: launch = 1
#: plain = "exit"
#: fault = "The fully masked row has the maximum -inf, and -inf minus -inf is NaN."
import sys

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(
    context,
    """
    __kernel void softmax(__global float *rows, int cols)
    {
        __global float *row = rows + get_global_id(0) * cols;
        float most = -INFINITY, sum = 0;
        for (int c = 0; c < cols; ++c) most = fmax(most, row[c]);
        GUARD
        for (int c = 0; c < cols; ++c) { row[c] = exp(row[c] - most); sum += row[c]; }
        for (int c = 0; c < cols; ++c) row[c] = sum == 0 ? 0.0f : row[c] / sum;
    }
    """.replace("GUARD", "if (isinf(most)) most = 0;" if twin else ""),  # FAULT
).build()
scores = np.random.default_rng(1).normal(size=(32, 40)).astype(np.float32)
scores[11] = -np.inf
device = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=scores)
program.softmax(queue, (32,), None, device, np.int32(40))
cl.enqueue_copy(queue, scores, device)
print("rows sum to", np.round(scores.sum(), 2))
sys.exit(0 if np.isfinite(scores).all() else 1)
