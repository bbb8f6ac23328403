/* See captures.h. */
#define _GNU_SOURCE
#include "driver/captures.h"

static void one_less(struct gdx_captures *captures)
{
    int now = atomic_load(captures->count);
    while (now > 0 && !atomic_compare_exchange_weak(captures->count, &now, now - 1))
        ;
}

void gdx_capture_begun(struct gdx_captures *captures, uint64_t stream, uint64_t home)
{
    atomic_fetch_add(captures->count, 1);
    for (int i = 0; i < GDX_CAPTURES; i++) {
        uint64_t nobody = 0;
        if (!atomic_compare_exchange_strong(&captures->all[i].stream, &nobody, stream + 1))
            continue;
        atomic_store(&captures->all[i].home, home);
        return;
    }
}

void gdx_capture_over(struct gdx_captures *captures, uint64_t stream, int known_to_end)
{
    for (int i = 0; i < GDX_CAPTURES; i++) {
        uint64_t own = stream + 1;
        if (atomic_compare_exchange_strong(&captures->all[i].stream, &own, 0)) {
            one_less(captures);
            return;
        }
    }
    if (known_to_end)
        one_less(captures);
}

void gdx_captures_forget(struct gdx_captures *captures, uint64_t home)
{
    for (int i = 0; home && i < GDX_CAPTURES; i++)
        if (atomic_load(&captures->all[i].home) == home && atomic_exchange(&captures->all[i].stream, 0))
            one_less(captures);
}
