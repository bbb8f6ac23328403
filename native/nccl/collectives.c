/* NCCL's collectives: which one each rank of a job issued, in order, so that ranks can be compared (src/gpudx/diagnose/ranks.py).
 *
 * NCCL is linked with whoever uses it (libtorch_cuda, CuPy's module), so its names are exported here and found first; the caller's
 * own library is looked up by gdx_beyond. Calls through dlsym or ctypes are not seen. Prototypes: NCCL user guide, "NCCL API". A note is
 * written before the call: the call may never come back. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdint.h>

#include "core/recorder.h"
#include "core/stacks.h"
#include "driver/driver.h"

typedef int result;  /* ncclResult_t */
typedef struct { char bytes[128]; } unique_id;
enum { FAILED = 3 /* ncclInternalError: NCCL cannot be found, though somebody calls it */, MOST = 256, NO_COLOUR = -1 };
enum kind { ALL_REDUCE = 1, BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, SEND, RECEIVE };
enum state { JOINING = 1, MADE = 2, ENDED = 3 };

/* ---- communicators ---- */

static struct communicator {
    _Atomic(void *) handle;
    _Atomic uint64_t id;        /* the same in all its ranks; 0: not known */
    _Atomic uint64_t sequence;  /* of its last collective */
    _Atomic uint64_t splits;
} known[MOST];

static struct communicator *find(void *handle)
{
    for (int i = 0; handle && i < MOST; i++)
        if (atomic_load_explicit(&known[i].handle, memory_order_acquire) == handle)
            return &known[i];
    return NULL;
}

/* NULL: there are too many. */
static struct communicator *add(void *handle, uint64_t id)
{
    for (int i = 0; handle && i < MOST; i++) {
        void *nobody = NULL;
        if (atomic_load(&known[i].handle) == NULL && atomic_compare_exchange_strong(&known[i].handle, &nobody, handle)) {
            atomic_store(&known[i].id, id);
            atomic_store(&known[i].sequence, 0);
            atomic_store(&known[i].splits, 0);
            return &known[i];
        }
    }
    return NULL;
}

/* FNV-1a, never 0. */
static uint64_t digest(const void *data, size_t bytes)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
    return sum ? sum : 1;
}

static void note_communicator(void *handle, uint64_t id, int rank, int ranks, enum state state)
{
    uint64_t words[] = { (uintptr_t)handle, id, (uint64_t)rank, (uint64_t)ranks, state };
    if (gdx_on())
        gdx_note(GDX_CALL_note_communicator, words, 5, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, NULL, 0);
}

static void joined(void **handle, uint64_t id, int rank, int ranks, result status)
{
    if (status == 0 && handle && *handle) {
        add(*handle, id);
        note_communicator(*handle, id, rank, ranks, MADE);
    }
}

static void left(void *handle)
{
    struct communicator *one = find(handle);
    if (!one)
        return;
    note_communicator(handle, atomic_load(&one->id), 0, 0, ENDED);
    atomic_store(&one->handle, NULL);
}

/* ---- collectives ---- */

static void note(enum kind kind, void *handle, size_t count, int type, int op, int root, void *queue)
{
    struct communicator *one;
    struct gdx_open open;
    if (!gdx_on())
        return;
    one = find(handle);
    if (!one)
        one = add(handle, 0);
    uint64_t sequence = one && kind < SEND ? atomic_fetch_add(&one->sequence, 1) + 1 : 0;
    if (!gdx_begin(&open, GDX_CALL_note_collective, NULL))
        return;
    uint64_t words[] = { (uintptr_t)handle, one ? atomic_load(&one->id) : 0, sequence, kind, count, (uint64_t)type,
                         (uint64_t)op, (uint64_t)root, (uintptr_t)queue };
    memcpy(open.slot->w, words, sizeof words);
    gdx_commit(&open);
    gdx_stack_of_work(&open);
    gdx_end_quiet(&open, 0);
}

/* ---- what is exported ---- */

#define NEXT(name, parameters)                                                                 \
    static result (*_Atomic next_##name) parameters;                                            \
    static result (*get_##name(const void *caller)) parameters                                  \
    {                                                                                           \
        result (*found) parameters = atomic_load_explicit(&next_##name, memory_order_acquire);  \
        if (!found) {                                                                           \
            *(void **)&found = gdx_beyond(#name, caller);                                       \
            atomic_store_explicit(&next_##name, found, memory_order_release);                   \
        }                                                                                       \
        return found;                                                                           \
    }
#define WRAP(name, parameters, arguments, record)                                 \
    NEXT(name, parameters)                                                        \
    GDX_EXPORT result name parameters;                                            \
    GDX_EXPORT result name parameters                                             \
    {                                                                             \
        result (*next) parameters = get_##name(__builtin_return_address(0));      \
        if (!next)                                                                \
            return FAILED;                                                        \
        record;                                                                   \
        return next arguments;                                                    \
    }

WRAP(ncclAllReduce, (const void *from, void *to, size_t count, int type, int op, void *comm, void *queue),
     (from, to, count, type, op, comm, queue), note(ALL_REDUCE, comm, count, type, op, -1, queue))
WRAP(ncclBroadcast, (const void *from, void *to, size_t count, int type, int root, void *comm, void *queue),
     (from, to, count, type, root, comm, queue), note(BROADCAST, comm, count, type, -1, root, queue))
WRAP(ncclBcast, (void *data, size_t count, int type, int root, void *comm, void *queue),
     (data, count, type, root, comm, queue), note(BROADCAST, comm, count, type, -1, root, queue))
WRAP(ncclReduce, (const void *from, void *to, size_t count, int type, int op, int root, void *comm, void *queue),
     (from, to, count, type, op, root, comm, queue), note(REDUCE, comm, count, type, op, root, queue))
WRAP(ncclAllGather, (const void *from, void *to, size_t count, int type, void *comm, void *queue),
     (from, to, count, type, comm, queue), note(ALL_GATHER, comm, count, type, -1, -1, queue))
WRAP(ncclReduceScatter, (const void *from, void *to, size_t count, int type, int op, void *comm, void *queue),
     (from, to, count, type, op, comm, queue), note(REDUCE_SCATTER, comm, count, type, op, -1, queue))
WRAP(ncclSend, (const void *data, size_t count, int type, int peer, void *comm, void *queue),
     (data, count, type, peer, comm, queue), note(SEND, comm, count, type, -1, peer, queue))
WRAP(ncclRecv, (void *data, size_t count, int type, int peer, void *comm, void *queue),
     (data, count, type, peer, comm, queue), note(RECEIVE, comm, count, type, -1, peer, queue))
WRAP(ncclCommDestroy, (void *comm), (comm), left(comm))
WRAP(ncclCommAbort, (void *comm), (comm), left(comm))

NEXT(ncclCommInitRank, (void **comm, int ranks, unique_id id, int rank))
NEXT(ncclCommInitRankConfig, (void **comm, int ranks, unique_id id, int rank, void *config))
NEXT(ncclCommSplit, (void *comm, int colour, int key, void **made, void *config))
GDX_EXPORT result ncclCommInitRank(void **comm, int ranks, unique_id id, int rank);
GDX_EXPORT result ncclCommInitRankConfig(void **comm, int ranks, unique_id id, int rank, void *config);
GDX_EXPORT result ncclCommSplit(void *comm, int colour, int key, void **made, void *config);

GDX_EXPORT result ncclCommInitRank(void **comm, int ranks, unique_id id, int rank)
{
    result (*next)(void **, int, unique_id, int) = get_ncclCommInitRank(__builtin_return_address(0));
    uint64_t number = digest(&id, sizeof id);
    if (!next)
        return FAILED;
    note_communicator(NULL, number, rank, ranks, JOINING);
    result status = next(comm, ranks, id, rank);
    joined(comm, number, rank, ranks, status);
    return status;
}

GDX_EXPORT result ncclCommInitRankConfig(void **comm, int ranks, unique_id id, int rank, void *config)
{
    result (*next)(void **, int, unique_id, int, void *) = get_ncclCommInitRankConfig(__builtin_return_address(0));
    uint64_t number = digest(&id, sizeof id);
    if (!next)
        return FAILED;
    note_communicator(NULL, number, rank, ranks, JOINING);
    result status = next(comm, ranks, id, rank, config);
    joined(comm, number, rank, ranks, status);
    return status;
}

/* All ranks split in the same order, so the parent, the number of the split and the colour make the same name everywhere. Who is in
 * it is asked of NCCL's answer to nobody: the ranks that use it are seen in their collectives. */
GDX_EXPORT result ncclCommSplit(void *comm, int colour, int key, void **made, void *config)
{
    result (*next)(void *, int, int, void **, void *) = get_ncclCommSplit(__builtin_return_address(0));
    struct communicator *parent = find(comm);
    uint64_t from = parent ? atomic_load(&parent->id) : 0, turn = parent ? atomic_fetch_add(&parent->splits, 1) : 0;
    uint64_t words[] = { from, turn, (uint64_t)colour };
    if (!next)
        return FAILED;
    result status = next(comm, colour, key, made, config);
    if (colour != NO_COLOUR)
        joined(made, from ? digest(words, sizeof words) : 0, key, 0, status);
    return status;
}
