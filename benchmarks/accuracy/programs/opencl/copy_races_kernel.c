//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = ["update"]
//: call = ["clEnqueueCopyBuffer"]
//: other = ["clEnqueueCopyBuffer", "update"]
//: plain = "exit"
//: fault = "The snapshot copy goes to a second queue and does not wait for the update."
#include "start.h"

static const char *source =
    "__kernel void update(__global int *state, int rounds)\n"
    "{ uint v = get_global_id(0); for (int r = 0; r < rounds; ++r) v = v * 134775813u + 1u;\n"
    "  state[get_global_id(0)] = v == 4 ? 0 : 5; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_int status;
    cl_command_queue copies = clCreateCommandQueue(gpu.context, gpu.device, 0, &status);
    must(status, "copies");
    cl_kernel update = clCreateKernel(build(gpu, source), "update", NULL);
    int zero = 0, rounds = 8000000, host[24], wrong = 0;
    size_t n = 24;
    cl_mem state = buffer(gpu, sizeof host), snapshot = buffer(gpu, sizeof host);
    cl_event updated;
    must(clEnqueueFillBuffer(gpu.queue, state, &zero, sizeof zero, 0, sizeof host, 0, NULL, NULL), "fill");
    must(clFinish(gpu.queue), "finish");
    must(clSetKernelArg(update, 0, sizeof state, &state), "state");
    must(clSetKernelArg(update, 1, sizeof rounds, &rounds), "rounds");
    must(clEnqueueNDRangeKernel(gpu.queue, update, 1, NULL, &n, &n, 0, NULL, &updated), "update");
    must(clFlush(gpu.queue), "flush");
#ifdef TWIN
    must(clEnqueueCopyBuffer(copies, state, snapshot, 0, 0, sizeof host, 1, &updated, NULL), "snapshot");
#else
    must(clEnqueueCopyBuffer(copies, state, snapshot, 0, 0, sizeof host, 0, NULL, NULL), "snapshot"); // FAULT
#endif
    must(clEnqueueReadBuffer(copies, snapshot, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
    must(clFinish(gpu.queue), "finish");
    for (int i = 0; i < 24; ++i) wrong += host[i] != 5;
    puts(wrong ? "stale snapshot" : "snapshot ok");
    return wrong ? 1 : 0;
}
