/* A simulated HIP runtime, for machines without an AMD GPU: a libamdhip64 with the entries, types and symbol versions of the
 * real one, compiled against the vendor's header. Programs are built by the real hipcc; only execution is simulated:
 *
 *   memory     an address range of its own; between allocations, and where memory was freed, nothing is mapped
 *   streams    a thread each, in order; the default stream and blocking streams wait for each other
 *   kernels    the program's own source, compiled a second time for the processor (include/hip/hip_runtime.h), found by
 *              name in the libraries that GPUDX_HIP_SIM_KERNELS lists. A kernel that is not there does nothing
 *   faults     an access outside of memory is a real SIGSEGV, turned into an error that every later call reports; with
 *              GPUDX_HIP_SIM_FAULT=abort into what the runtime prints before it aborts the process
 *
 *   graphs     nodes are done in the order in which they were added or captured
 *
 * Not simulated: __syncthreads, shared memory, textures, other processes. A kernel that its file never launches with hipLaunchKernelGGL
 * does nothing if it is passed a structure. A host pointer in a structure faults when the kernel starts, whether it is used or not.
 *
 *   GPUDX_HIP_SIM_DEVICES=N      how many devices there are (1)
 *   GPUDX_HIP_SIM_ARCH=TARGET    what they are (gfx90a:sramecc+:xnack-); code without an entry for that processor is refused
 *   GPUDX_HIP_SIM_DELAY_MS=N     a stream that was idle begins so much later (0)
 *   GPUDX_HIP_SIM_GAP=N          bytes between two allocations where nothing is mapped (65536); 0: a write past the end of one
 *                                reaches the next
 *   GPUDX_HIP_SIM_NOOP=1         launches return at once and do nothing, for measurements
 *   GPUDX_HIP_SIM_MAPPINGS=1     virtual memory management, with the version and structures of HIP 6; 0: none, in the shape of HIP 7 too
 *   GPUDX_HIP_SIM_FAULT=HOW      what a fault does: "abort" and its like, see faults.c; else it is an error of later calls
 *   GPUDX_HIP_SIM_POOL=keep      pools keep what is freed and give it out again (pools.c)
 *   HSA_XNACK=1                  devices may access any host memory, as with the real one; else only what was allocated with HIP or
 *                                registered. So it is, too, where the architecture ends in "xnack+"
 *   HSA_ENABLE_SDMA=0            copies run on their streams; else those of a device share one copy engine
 *   HIP_LAUNCH_BLOCKING=1        launches wait for their end, as with the real one
 *   AMD_SERIALIZE_KERNEL=N, AMD_SERIALIZE_COPY=N   1: launches or copies wait for all work before them, 2: for their end */
#pragma once

#ifndef SIM_HIP
#define SIM_HIP 5  /* 7: with the entries, numbers and structures of HIP 7 (later.c) */
#endif
#include <hip/hip_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#define API __attribute__((visibility("default")))
enum { SIM_DEVICES = 8, SIM_ARGUMENTS = 32, SIM_PACKED = 1024, SIM_GRANULE = 64 << 10 };

/* ---- state.c ---- */
int sim_devices(void);
bool sim_mappings(void);                           /* is there virtual memory management? */
bool sim_xnack(void);                              /* may devices access any memory of the host? */
bool sim_engine(void);                             /* do copies run on an engine of their own? */
extern _Thread_local int sim_device;               /* of the calling thread */
hipError_t sim_return(hipError_t status);          /* what every entry ends with: keeps the error, tells an earlier fault */
hipError_t sim_peek(void);
void sim_forget_error(void);
bool sim_number(const char *variable, long *value);
enum { SIM_BEFORE = 1, SIM_AFTER = 2 };
int sim_serial(const char *variable);              /* of these, what is asked for */

/* ---- memory.c ---- */
void *sim_allocate(size_t bytes, int device);      /* NULL: no room */
bool sim_release(const void *address);             /* false: not the start of live memory */
bool sim_retire(const void *address);              /* what will be released; false: not the start of live memory, or retired before */
void sim_revive(const void *address);              /* memory that was freed or retired is there again */
bool sim_register(const void *host, size_t bytes); /* host memory that devices may access from now on; false: some of it may already */
bool sim_unregister(const void *host);
bool sim_find(const void *address, uintptr_t *base, size_t *size, int *device);
void *sim_reserve(size_t bytes, void *wanted);     /* addresses without memory, these if they are free; NULL: no room */
bool sim_map(void *address, size_t bytes, int device);  /* memory, which nobody may access yet */
bool sim_grant(void *address, size_t bytes, int device);
bool sim_unmap(void *address, size_t bytes);
bool sim_allow_peer(int device, int peer);         /* false: it was allowed before */
bool sim_may_access(int device, const void *address);

/* ---- faults.c ---- */
extern _Atomic int sim_fault;                      /* the error that all calls report from now on; 0: none */
bool sim_guarded(void (*work)(void *), void *data); /* false: it faulted */
void sim_fault_at(uintptr_t address);

/* ---- streams.c ---- */
struct sim_op;
typedef void sim_work(void *data);
hipStream_t sim_stream(hipStream_t given, bool own_thread);    /* NULL: the default stream of the thread's device */
hipStream_t sim_new_stream(unsigned flags);
bool sim_is_stream(hipStream_t stream);
int sim_stream_device(hipStream_t stream);
uint64_t sim_submit(hipStream_t stream, sim_work *work, const void *data, size_t bytes);
void sim_submit_after(hipStream_t stream, hipStream_t other, uint64_t number);  /* what comes next waits for that */
void sim_wait(hipStream_t stream, uint64_t number);
void sim_wait_all(int device);
bool sim_done(hipStream_t stream, uint64_t number);
uint64_t sim_last(hipStream_t stream);
void sim_end_stream(hipStream_t stream);
enum { SIM_MASK = 4 };
struct sim_traits { int priority; uint32_t mask[SIM_MASK]; };  /* the compute units it may use; all zero: any */
struct sim_traits *sim_traits(hipStream_t stream);

/* ---- api_graphs.c ---- */
enum sim_node { SIM_KERNEL = 1, SIM_COPY, SIM_FILL, SIM_GRAPH = 5, SIM_EMPTY, SIM_ALLOCATION = 11, SIM_FREE };  /* hipGraphNodeType of HIP 5.2 */
hipError_t sim_add_node(hipGraphNode_t *node, hipGraph_t graph, enum sim_node type, sim_work *work, const void *data, size_t bytes);
hipError_t sim_node_data(hipGraphNode_t node, enum sim_node type, void *data, size_t bytes);
/* A stream that is being captured gets a node instead of work; false: it is not. */
bool sim_capture(hipStream_t stream, enum sim_node type, sim_work *work, const void *data, size_t bytes);

/* ---- api_device.c ---- */
const char *sim_name_of(const void *host);         /* of a kernel; NULL: none */

/* ---- code.c ---- */
const char *sim_architecture(void);
bool sim_has_code(const void *image);              /* for the devices, in a fat binary or a code object */
unsigned sim_most_threads(const void *image, const char *name);  /* in a block of that kernel of a fat binary; 0: not known */

/* ---- kernels.c ---- */
void *sim_variable(const char *name, size_t *size); /* of the device; NULL: none */
struct sim_argument { uint16_t at, size; bool floating, pointer; };
struct sim_kernel {                                /* include/hip/hip_runtime.h has the same */
    void *code;
    const struct sim_argument *arguments;
    int count;
    void (*call)(void *code, const unsigned char *packed);
    struct sim_kernel *next;
};
struct sim_launch {
    const void *function;
    const char *name;                              /* mangled */
    dim3 grid, block;
    int device, count;
    void *code;                                    /* NULL: no such kernel */
    void *(*index)(void);                          /* where the kernel looks for its place in the grid */
    void (*call)(void *code, const unsigned char *packed);  /* NULL: as the symbol says */
    struct sim_argument arguments[SIM_ARGUMENTS];
    _Alignas(16) unsigned char packed[SIM_PACKED]; /* arguments as devices get them */
};
/* Arguments as a list of pointers, or packed, as the key words HIP_LAUNCH_PARAM_... give them. */
bool sim_prepare(struct sim_launch *launch, const char *name, void **params, void **extra);
uint64_t sim_argument(const struct sim_launch *launch, int number);  /* its first eight bytes */
void sim_run(void *launch);
extern _Thread_local const struct sim_launch *sim_running;  /* NULL: a copy */
void sim_tell_wave(uintptr_t address, const struct sim_launch *launch);
