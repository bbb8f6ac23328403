/* Launches in one queue, in order or not, one of which may not end.
 *
 *     crumbed LAUNCHES STUCK [unordered] [events]       STUCK: the launch that does not end, from 1; 0: all do
 *
 * `events`: the program wants an event for each launch, and prints the largest reference count that one of them has at the end. */
#include "common.h"

static int has(int argc, char **argv, const char *word)
{
    for (int i = 3; i < argc; i++)
        if (!strcmp(argv[i], word))
            return 1;
    return 0;
}

static cl_uint references(cl_event event)
{
    cl_uint count = 0;
    check(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof count, &count, NULL), "clGetEventInfo");
    check(clReleaseEvent(event), "clReleaseEvent");
    return count;
}

int main(int argc, char **argv)
{
    int launches = atoi(argv[1]), stuck = atoi(argv[2]), own = has(argc, argv, "events");
    size_t one = 1;
    cl_int status = CL_SUCCESS;
    cl_uint most = 0;
    static cl_event kept[4096];
    start(argc, argv);
    cl_kernel scale = make_kernel("scale"), spin = make_kernel("spin");
    cl_mem data = filled_buffer(BYTES), flag = make_buffer(BYTES);
    const cl_int zero = 0;
    check(clEnqueueWriteBuffer(queue, flag, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, NULL), "clEnqueueWriteBuffer");
    if (has(argc, argv, "unordered"))
        queue = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
    check(status, "clCreateCommandQueue");
    set_mem(scale, 0, data);
    set_int(scale, 2, COUNT);
    set_mem(spin, 0, flag);
    for (int i = 1; i <= launches; i++) {
        set_float(scale, 1, (float)i);
        status = clEnqueueNDRangeKernel(queue, i == stuck ? spin : scale, 1, NULL, &one, NULL, 0, NULL, own ? &kept[i] : NULL);
        check(status, "clEnqueueNDRangeKernel");
    }
    printf("finish: %d\n", clFinish(queue));
    for (int i = 1; own && i <= launches; i++) {
        cl_uint count = references(kept[i]);
        most = count > most ? count : most;
    }
    printf("references %u\n", most);
    return 0;
}
