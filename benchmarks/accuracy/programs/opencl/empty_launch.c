//: class = "E1"
//: cause = ["launch-refused", "failed-call"]
//: kernel = "encode"
//: launch = 2
//: plain = "sometimes"
//: fault = "The second batch is empty; OpenCL before 2.1 refuses a global size of 0, later versions need the offset check."
#include "start.h"

static const char *source = "__kernel void encode(__global int *x) { int i = get_global_id(0); x[i] = i ^ (i >> 1); }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel encode = clCreateKernel(build(gpu, source), "encode", NULL);
    size_t batches[] = {512, 0, 100};
    cl_mem x = buffer(gpu, 512 * sizeof(int));
    must(clSetKernelArg(encode, 0, sizeof x, &x), "x");
    for (int b = 0; b < 3; ++b) {
#ifdef TWIN
        if (batches[b] == 0) continue;
#endif
        size_t local = batches[b] % 50 ? 64 : 50;
        cl_int status = clEnqueueNDRangeKernel(gpu.queue, encode, 1, NULL, &batches[b], &local, 0, NULL, NULL); // FAULT
        if (status != CL_SUCCESS) {
            fprintf(stderr, "batch %d: %d\n", b, status);
            return 1;
        }
    }
    must(clFinish(gpu.queue), "finish");
    puts("encoded");
    return 0;
}
