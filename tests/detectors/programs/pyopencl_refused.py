"""Two threads launch; the last launch asks for work-groups that no device has. usage: pyopencl_refused.py"""

import threading

import numpy as np
import pyopencl as cl

SOURCE = "kernel void scale(global float *data, float factor) { data[get_global_id(0)] *= factor; }"
COUNT = 1024

context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
program = cl.Program(context, SOURCE).build()


def scale(group: int | None) -> None:
    queue = cl.CommandQueue(context)
    data = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * COUNT)
    cl.enqueue_fill_buffer(queue, data, np.float32(1), 0, 4 * COUNT)
    kernel = cl.Kernel(program, "scale")
    kernel(queue, (COUNT,), (group,) if group else None, data, np.float32(2))  # the launch
    queue.finish()


def many() -> None:
    for _ in range(20):
        scale(None)


threads = [threading.Thread(target=many) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("launched", flush=True)
scale(1 << 20)
