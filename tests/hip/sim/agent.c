/* What ROCm's debug agent prints of a wave that stopped, where HSA_TOOLS_LIB names it: to the file that its options name, or to
 * stderr. The user guide of the ROCR Debug Agent has the form; agents of ROCm 7 name the kernel in the headline, too. The one wave has
 * one lane: the thread that faulted. GPUDX_HIP_SIM_AGENT=new prints the newer form. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

enum { CODE = 0x7f00 };

static FILE *output(void)
{
    const char *options = getenv("ROCM_DEBUG_AGENT_OPTIONS"), *named = options ? strstr(options, "--output=") : NULL;
    char path[1024] = "";
    if (named)
        sscanf(named, "--output=%1023s", path);
    FILE *file = *path ? fopen(path, "w") : NULL;
    return file ? file : stderr;
}

static void registers(FILE *file, uintptr_t address, const struct sim_launch *launch)
{
    uint64_t base = launch->count ? sim_argument(launch, 0) : 0;
    fprintf(file, "system registers:\n            exec: 0000000000000001\n\nscalar registers:\n");
    fprintf(file, "            s4: %08x                 s5: %08x\n\nvector registers:\n", (unsigned)base, (unsigned)(base >> 32));
    fprintf(file, "            v2: [0] %08x\n            v3: [0] %08x\n\n", (unsigned)address, (unsigned)((uint64_t)address >> 32));
}

void sim_tell_wave(uintptr_t address, const struct sim_launch *launch)
{
    const char *agent = getenv("HSA_TOOLS_LIB"), *shape = getenv("GPUDX_HIP_SIM_AGENT");
    if (!agent || !strstr(agent, "librocm-debug-agent") || !launch || !launch->name)
        return;
    FILE *file = output();
    fprintf(file, "System event (HSA_AMD_GPU_MEMORY_FAULT_EVENT: page not present or supervisor privilege)\n");
    fprintf(file, "Faulting page: %p\n\n--------------------------------------------------------\n", (void *)(address & ~(uintptr_t)4095));
    if (shape && !strcmp(shape, "new"))
        fprintf(file, "wave_1: pc=%#x (kernel_code_entry=%#x <%s>, kernargs=0x7e00) (stopped, reason: MEMORY_VIOLATION)\n\n",
                CODE + 16, CODE, launch->name);
    else
        fprintf(file, "wave_1: pc=%#x (stopped, reason: MEMORY_VIOLATION)\n\n", CODE + 16);
    registers(file, address, launch);
    fprintf(file, "Disassembly for function %s:\n    code object: memory://%d#offset=%#x&size=64\n    loaded at: [%#x-%#x]\n", launch->name,
            getpid(), CODE, CODE, CODE + 64);
    fprintf(file, "    %#x <+8>:    global_store_dword v[2:3], v1, off\n => %#x <+16>:    s_endpgm\n\nEnd of disassembly.\n", CODE + 8, CODE + 16);
    if (file != stderr)
        fclose(file);
}
