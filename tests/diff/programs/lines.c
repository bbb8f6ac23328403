/* Threads with work of their own, or (POOL) a pool of threads that take pieces of work as they come; each piece has its own
 * queue. Pauses of random length mix the threads differently in every run. PLANT names the one thing that is done otherwise. */
#include "common.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { PIECES = 4, ROUNDS = 12, AT = 5 };

static const char *plant = "";
static atomic_int next;

static int planted(const char *name, long piece, int round)
{
    return strcmp(plant, name) == 0 && piece == 2 && round == AT;
}

static void pause_a_little(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    usleep((useconds_t)(now.tv_nsec / 100 % 700));
}

static void start_kernel(cl_command_queue own, cl_kernel kernel, size_t count)
{
    check(clEnqueueNDRangeKernel(own, kernel, 1, NULL, &count, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
}

static void round_of(cl_command_queue own, cl_kernel copy, cl_kernel scale, cl_mem *data, long piece, int round)
{
    cl_mem in = data[planted("pointer", piece, round) ? 2 : 0];
    set_mem(copy, 0, in);
    set_mem(copy, 1, data[1]);
    set_int(copy, 2, planted("argument", piece, round) ? 48 : 64);
    if (!planted("missing", piece, round))
        start_kernel(own, planted("kernel", piece, round) ? scale : copy, planted("geometry", piece, round) ? 128 : 64);
    if (planted("error", piece, round))
        clSetKernelArg(copy, 77, sizeof(int), &round);
    set_mem(scale, 0, data[1]);
    set_float(scale, 1, 0.5f);
    set_int(scale, 2, 64 + round);
    start_kernel(own, scale, 64);
}

static void work(long piece)
{
    cl_int status;
    cl_command_queue own = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    cl_kernel copy = make_kernel("copy"), scale = make_kernel("scale");
    cl_mem data[3];
    for (int i = 0; i < 3; i++) {
        size_t bytes = BYTES * (size_t)(piece + 1) + (i == 1 && planted("allocation", piece, AT) ? 256 : 0);
        data[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
        check(status, "clCreateBuffer");
        float zero = 0;
        check(clEnqueueFillBuffer(own, data[i], &zero, sizeof zero, 0, BYTES, 0, NULL, NULL), "clEnqueueFillBuffer");
        pause_a_little();
    }
    set_mem(scale, 0, data[1]);
    set_float(scale, 1, 0.5f);
    set_int(scale, 2, 64);
    for (int round = 0; round < ROUNDS + piece; round++) {
        round_of(own, copy, scale, data, piece, round);
        pause_a_little();
    }
    check(clFinish(own), "clFinish");
    for (int i = 0; i < 3; i++)
        clReleaseMemObject(data[i]);
    clReleaseKernel(copy);
    clReleaseKernel(scale);
    clReleaseCommandQueue(own);
}

static void *own_work(void *piece)
{
    work((long)piece);
    return NULL;
}

static void *any_work(void *unused)
{
    for (int piece; (piece = next++) < PIECES * 3;)
        work(piece % PIECES);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[PIECES];
    plant = getenv("PLANT") ? getenv("PLANT") : "";
    start(argc, argv);
    for (long i = 0; i < PIECES; i++)
        pthread_create(&threads[i], NULL, getenv("POOL") ? any_work : own_work, (void *)i);
    for (int i = 0; i < PIECES; i++)
        pthread_join(threads[i], NULL);
    return finish();
}
