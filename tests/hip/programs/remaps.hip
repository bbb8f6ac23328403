/* Threads that map and unmap what other threads pass as parameters of launches. The simulated runtime looks at none of them
 * (GPUDX_HIP_SIM_NOOP=1, or more threads than a block can have), so nothing of this is a fault. */
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <thread>

const void *address_of_add();
enum { BYTES = 4 * 4096, ROUNDS = 300 };
static char *room;
static std::atomic<bool> stop;

static void remap()
{
    for (unsigned i = 0; !stop; i++) {
        mmap(room, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (i % 3)  // not a hole, in which somebody else's memory could come to lie
            mmap(room + 4096 * (i % 3), 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        else
            mprotect(room, BYTES, PROT_NONE);
    }
}

static void pass()
{
    for (int i = 0; i < ROUNDS; i++) {
        char *at = room + i * 40 % (BYTES - 64);
        void *params[] = {at, at + 8, at + 16, at + 24};
        hipLaunchKernel(address_of_add(), dim3(1), dim3(64), params, 0, 0);
        hipLaunchKernel(address_of_add(), dim3(1), dim3(64), (void **)at, 0, 0);
        hipLaunchKernel(address_of_add(), dim3(1), dim3(4096), params, 0, 0);
        hipExtLaunchKernel(address_of_add(), dim3(1), dim3(64), params, 0, 0, nullptr, nullptr, 0);
        hipLaunchCooperativeKernel(address_of_add(), dim3(1), dim3(64), (void **)at, 0, 0);
    }
}

int main()
{
    room = (char *)mmap(nullptr, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::thread first(pass), second(pass), third(remap), fourth(remap);
    first.join();
    second.join();
    stop = true;
    third.join();
    fourth.join();
    puts("still here");
    return 0;
}
