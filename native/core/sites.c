/* See sites.h. */
#define _GNU_SOURCE
#include "core/sites.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "core/clock.h"
#include "core/gave_up.h"

enum { NAME_ROOM = 2048, LONGEST_MS = 60000, LOOK_AGAIN_NS = 1000 * 1000, MOST_TRIES = 40000 /* about two seconds */ };
enum { HELD, FIRST, SECOND, SITES };
static const uint64_t EVERY = UINT64_MAX;  /* in place of a number */

struct site { char name[NAME_ROOM]; uint64_t number; _Atomic uint64_t came; };

_Atomic int gdx_sites_setting GDX_HOT_DATA;
static struct site sites[SITES];  /* one without a number is nowhere */
static uint64_t hold_ms;
static _Atomic bool over;

/* ---- the variables ---- */

/* The number behind the last colon of a text, which ends there then, or EVERY; 0: there is none. */
static uint64_t take_number(char *text)
{
    char *colon = strrchr(text, ':');
    if (colon && !strcmp(colon, ":*")) {
        *colon = 0;
        return EVERY;
    }
    if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return 0;
    *colon = 0;
    return strtoull(colon + 1, NULL, 10);
}

static bool read_site(struct site *site, const char *text, size_t bytes)
{
    if (bytes >= sizeof site->name)
        return false;
    memcpy(site->name, text, bytes);
    site->name[bytes] = 0;
    site->number = take_number(site->name);
    return site->number && site->name[0];
}

static bool read_hold(const char *text)
{
    const char *colon = strrchr(text, ':');
    char *end;
    uint64_t ms = colon && colon[1] >= '0' && colon[1] <= '9' ? strtoull(colon + 1, &end, 10) : 0;
    hold_ms = ms > LONGEST_MS ? LONGEST_MS : ms;
    return ms && !*end && read_site(&sites[HELD], text, (size_t)(colon - text)) && sites[HELD].number != EVERY;
}

static bool read_edge(const char *text)
{
    const char *arrow = strchr(text, '>');
    return arrow && read_site(&sites[FIRST], text, (size_t)(arrow - text))
        && read_site(&sites[SECOND], arrow + 1, strlen(arrow + 1))
        && (sites[FIRST].number == EVERY) == (sites[SECOND].number == EVERY);
}

static bool refused(unsigned at, const char *why)
{
    for (int i = 0; i < SITES; i++)
        if (at >> i & 1)
            sites[i].number = 0;
    gdx_site_noted(at, why);
    return false;
}

static int read_both(void)
{
    const char *hold = getenv("GPUDX_HOLD"), *edge = getenv("GPUDX_EDGE");
    bool held = hold && *hold && (read_hold(hold) || refused(GDX_AT_HELD, "GPUDX_HOLD is not NAME:NUMBER:MILLISECONDS"));
    bool edged = edge && *edge
              && (read_edge(edge) || refused(GDX_AT_FIRST | GDX_AT_SECOND, "GPUDX_EDGE is not NAME:NUMBER>NAME:NUMBER"));
    return held || edged ? 2 : 1;
}

/* Once in a process. Another thread waits a moment for it: its call may be one that counts. */
int gdx_read_sites(void)
{
    static _Atomic bool reading;
    int saved = errno, state;
    if (!atomic_exchange(&reading, true))
        atomic_store(&gdx_sites_setting, read_both());
    for (unsigned tries = 1; !(state = atomic_load(&gdx_sites_setting)) && tries < MOST_TRIES; tries++)
        gdx_wait(tries);
    if (!state)
        gdx_gave_up("A call was not compared with GPUDX_HOLD and GPUDX_EDGE, because another thread was still reading them");
    errno = saved;
    return state;
}

/* ---- calls ---- */

static bool is_here(struct site *site, const char *name)
{
    if (!site->number || strcmp(site->name, name))
        return false;
    return site->number == EVERY || atomic_fetch_add(&site->came, 1) + 1 == site->number;
}

unsigned gdx_sites_here(const char *name)
{
    unsigned at = 0;
    for (int i = 0; name && i < SITES; i++)
        if (is_here(&sites[i], name))
            at |= 1u << i;
    return at;
}

bool gdx_edge_everywhere(void)
{
    return sites[FIRST].number == EVERY;
}

void gdx_sites_noted(unsigned at, const char *why_not)
{
    static _Atomic uint64_t counts[16][2];
    uint64_t count = atomic_fetch_add(&counts[at & 15][!why_not], 1) + 1;
    if (!(count & (count - 1)))  /* the first, the second, the fourth and so on */
        gdx_site_noted(at, why_not);
}

void gdx_site_noted(unsigned at, const char *why_not)
{
    const uint64_t words[] = { at, why_not == NULL };
    gdx_note(GDX_CALL_note_at_site, words, 2, (struct gdx_text){ why_not, why_not ? strlen(why_not) : 0 },
             (struct gdx_text){ 0 }, NULL, 0);
}

/* ---- holding ---- */

void gdx_hold_sleep(void)
{
    const struct timespec pause = { .tv_nsec = LOOK_AGAIN_NS };
    uint64_t until = gdx_clock_ns(CLOCK_MONOTONIC) + hold_ms * 1000000;
    while (!atomic_load(&over) && gdx_clock_ns(CLOCK_MONOTONIC) < until)
        nanosleep(&pause, NULL);
}

void gdx_hold_ends(void)
{
    atomic_store(&over, true);
}
