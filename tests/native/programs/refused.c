/* The driver refuses the queue, without looking at the pointers for results, which point nowhere. */
#include "gpu.h"

static cl_event *const nowhere = (cl_event *)(size_t)0x10;

int fake_status(void);
int fake_status(void)
{
    return CL_INVALID_COMMAND_QUEUE;
}

int main(void)
{
    size_t one = 1;
    int refused = 0;
    cl_int status = 0;
    refused += clEnqueueNDRangeKernel(NULL, NULL, 1, NULL, &one, NULL, 0, NULL, nowhere) != 0;
    refused += clEnqueueTask(NULL, NULL, 0, NULL, nowhere) != 0;
    refused += clEnqueueMarker(NULL, nowhere) != 0;
    refused += clEnqueueReadBuffer(NULL, NULL, 0, 0, 4, NULL, 0, NULL, nowhere) != 0;
    refused += clEnqueueMapBuffer(NULL, NULL, 0, 0, 0, 4, 0, NULL, nowhere, &status) == NULL;
    puts(refused == 5 && status ? "refused" : "accepted");
    return 0;
}
