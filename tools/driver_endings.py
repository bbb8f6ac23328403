"""What CUDA and HIP have in one shape beside their wrappers: words for streams, endings of calls, and waits of our own.

By hand, in native/NAME/hooks.h, is what differs: gdx_SHORT_end, gdx_SHORT_of_earlier_work, and how captures are known.
"""

from __future__ import annotations

from driver_header import per_thread
from driver_model import Api, DriverCall

HEADER = """\
/* Made by tools/generate.py. Included by hooks.h, behind what is by hand. */
#pragma once

/* The stream that is meant: 0 in entries for per-thread default streams is the thread's own. */
static inline uint64_t gdx_{short}_queue({queue} queue, bool own_thread)
{{
    return !queue && own_thread ? {own_queue} : (uint64_t)(uintptr_t)queue;
}}

static inline uint64_t gdx_{short}_location({location} location)
{{
    return (uint64_t)(uint32_t)location.type | (uint64_t)(uint32_t)location.id << 32;
}}

/* "Not ready" is an answer, not a failure. */
static inline bool gdx_{short}_worth_noting({result} status)
{{
    return status != {success} && status != {not_ready};
}}

/* For calls that put work into a stream. Asked afterwards, because only then is the stream known to be a good one. */
static inline void gdx_{short}_end_on(struct gdx_open *open, {queue} queue, bool own_thread, {result} status)
{{
    if (GDX_UNLIKELY(atomic_load_explicit(&gdx_{short}_captures, memory_order_relaxed) > 0) && status == {success}
        && gdx_still_open(open) && gdx_{short}_is_captured(queue, own_thread))
        open->slot->flags |= GDX_FLAG_captured;
    gdx_{short}_end(open, status);
}}

/* Failures of work that ran earlier are reported by whichever call comes next, queries included. */
static inline void gdx_{short}_end_query(struct gdx_open *open, {result} status)
{{
    if (gdx_{short}_of_earlier_work(status))
        gdx_{short}_end(open, status);
    else
        gdx_end_quiet(open, status);
}}

/* A wait at a launch (core/serialise.h), recorded like any other, so that a fault is reported by the wait right behind the launch
 * that made it. Was there one, and did it succeed? */
bool gdx_{short}_wait_at(enum gdx_waits side, const void *kernel, {queue} queue, bool own_thread);

/* A copy is complete when its call returns (core/transfers.h). This wait is not recorded: the record has the program's calls. */
void gdx_{short}_transfer_left({queue} queue, bool own_thread);
static inline void gdx_{short}_transfer_ends({queue} queue, bool own_thread, {result} status)
{{
    if (GDX_UNLIKELY(gdx_blocking_transfers()) && status == {success})
        gdx_{short}_transfer_left(queue, own_thread);
}}
"""

WAITS = """\
static {result} wait_for({queue} queue, bool own_thread)
{{
    return own_thread && gdx_{short}_next.{own_wait} ? gdx_{short}_next.{own_wait}(queue) : gdx_{short}_next.{wait}(queue);
}}

static const char *name_of(void *kernel, char room[GDX_WAITS_ROOM])
{{
    (void)room;
    return gdx_{short}_name_of(kernel);
}}

GDX_COLD bool gdx_{short}_wait_at(enum gdx_waits side, const void *kernel, {queue} queue, bool own_thread)
{{
    struct gdx_open open;
    if (!gdx_wait_here(side, (void *)(uintptr_t)kernel, name_of) || atomic_load(&gdx_{short}_captures) > 0)
        return false;  /* a wait would spoil a capture */
    if (gdx_{short}_begin(&open, GDX_CALL_{wait}, NULL)) {{
        open.slot->w[0] = gdx_{short}_queue(queue, own_thread);
        gdx_commit(&open);
    }}
    {result} status = wait_for(queue, own_thread);
    gdx_{short}_end(&open, status);
    return status == {success};
}}

GDX_COLD void gdx_{short}_transfer_left({queue} queue, bool own_thread)
{{
    int saved = errno;
    if (gdx_on() && gdx_transfer_here()) {{
        bool captured = atomic_load(&gdx_{short}_captures) > 0;  /* a wait would spoil a capture */
        bool failed = !captured && wait_for(queue, own_thread) != {success};
        gdx_sites_noted(GDX_AT_TRANSFER, captured ? "a stream was being captured" : failed ? "the stream reported an error" : NULL);
    }}
    errno = saved;
}}"""


def header(api: Api) -> str:
    location = next(name for name, function in api.words.items() if function.endswith("_location"))
    return HEADER.format(location=location, **vars(api))


def waits(api: Api, calls: list[DriverCall]) -> str:
    """The definitions, for the file of the wrappers."""
    call = next(c for c in calls if c.does == "wait" and [p.type for p in c.params] == [api.queue])
    own = next(name for name in call.names if per_thread(call, name))
    return WAITS.format(wait=call.name, own_wait=own, **vars(api))
