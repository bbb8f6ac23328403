"""The part of a rewritten source that is ours: OpenCL C 1.1, names that begin with gdx_.

The report is a buffer of 32-bit words (native/opencl/checks_launch.c reads it):
    0 records asked for, 1 room for records, 2 sites, 3 steps that a work-item may take in loops (in units of 1024)
    8..71 a scratch place for accesses that must not happen
    72.. how often each site was seen to fail, from site 1 on, with the highest bit set if one of its records is of an access outside
    memory, and the next one if one is of a value that was stored over another work-item's; behind them the records, 24 words each
"""

from __future__ import annotations

import re

HEAD, RECORD = 72, 24
KINDS = ("", "bounds", "alignment", "uninitialized", "race", "barrier", "loop", "overflow", "division", "nan", "image")

# PoCL inlines every function, noinline or not (FlattenAll.cc). A kernel of 47 accesses grew to 212,000 lines of LLVM's code in that way
# and took 135 s to compile. LLVM cannot inline a function that stores the address of a label (isInlineViable), so the large ones do,
# and take the ids of the work-item from gdx_ctx: PoCL knows them in the kernel only.
FLAT = "#define GDX_FLAT 1\n"

COMMON = """
typedef struct { ulong lo; ulong n; uint id;
#ifdef GDX_TRACK
  __global uint *w; __global uchar *u; __local uint *l; uint shift;
#endif
} gdx_obj;
#ifdef GDX_RACES
/* A write that met another one, until it is known whether it changed anything. */
typedef struct {
  uint site; uint id; uint how; uint width; uint is_local; uint sum; ulong off; ulong n; ulong more; ulong at; ulong end;
} gdx_held;
#endif
/* What the functions out of line need. It is apart from gdx_ctx, whose address stays in the kernel: then compilers see that work-items
   did not part where they cannot, and no barrier depends on it. */
typedef struct {
  __global uint *r; uint item; uint epoch; uint passed; uint missed; ulong hint;
#ifdef GDX_RACES
  gdx_held held;
#endif
#ifdef GDX_FLAT
  uint dims; uint team; uint local_id[3]; uint group_id[3]; ulong global_id[3]; ulong place;
#endif
} gdx_who;
typedef struct {
  __private gdx_who *f; uint apart; uint said; uint odd; ulong steps; __local uint *v; uint turn; uint yes; uint voters; ulong at;
#ifdef GDX_LATE
  uint site; uint id; uint how; ulong off; ulong n; ulong hint;
#endif
#ifdef GDX_LOOPS
  uint rank; uint looped; ulong seen[3];
#endif
#ifdef GDX_OPERANDS
  ulong operands[16]; uint made[2]; uint many[2]; ulong held[4];
#endif
} gdx_ctx;
#ifdef GDX_FLAT
#define GDX_GLOBAL_ID(d) f->global_id[d]
#define GDX_LOCAL_ID(d) f->local_id[d]
#define GDX_GROUP_ID(d) f->group_id[d]
#define GDX_DIMS f->dims
#define GDX_TEAM f->team
#define GDX_APART f->place = (ulong)&&gdx_place; gdx_place:;
#else
#define GDX_GLOBAL_ID(d) get_global_id(d)
#define GDX_LOCAL_ID(d) (uint)get_local_id(d)
#define GDX_GROUP_ID(d) (uint)get_group_id(d)
#define GDX_DIMS (uint)get_work_dim()
#define GDX_TEAM gdx_team()
#define GDX_APART
#endif
static uint gdx_item(void)
{
  return (uint)((get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0));
}
static uint gdx_team(void)
{
  ulong group = (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);
  return (uint)(group % 8190u) + 1u;
}
static void gdx_put(__global uint *o, ulong v) { o[0] = (uint)v; o[1] = (uint)(v >> 32); }
static GDX_COLD void gdx_tell(__private gdx_who *f, uint kind, uint site, uint id, uint how, uint width, ulong off, ulong n, ulong more)
{
  GDX_APART
  __global uint *r = f->r;
  volatile __global uint *seen = (volatile __global uint *)(r + 72 + site - 1);
  uint before = atomic_inc(seen);
  /* Races at a site do not hide that it goes outside, or that values were lost: of these there is always one record. */
  uint mark = kind == 1u ? 1u << 31 : kind == 4u && (how & 3u) == 2u && (more >> 32 & 3u) == 2u ? 1u << 30 : 0u;
  uint marked = mark ? atomic_or(seen, mark) & mark : ~0u;
  if ((before & ~(3u << 30)) >= 4u && marked) return;
  uint at = atomic_inc((volatile __global uint *)r);
  if (at >= r[1]) return;
  __global uint *o = r + 72 + r[2] + at * 24u;
  o[1] = site; o[2] = id; o[3] = how; o[4] = width; o[5] = GDX_DIMS;
  gdx_put(o + 6, off); gdx_put(o + 8, n);
  gdx_put(o + 10, GDX_GLOBAL_ID(0)); gdx_put(o + 12, GDX_GLOBAL_ID(1)); gdx_put(o + 14, GDX_GLOBAL_ID(2));
  o[16] = GDX_LOCAL_ID(0); o[17] = GDX_LOCAL_ID(1); o[18] = GDX_LOCAL_ID(2);
  o[19] = GDX_GROUP_ID(0); o[20] = GDX_GROUP_ID(1); o[21] = GDX_GROUP_ID(2);
  gdx_put(o + 22, more);
  o[0] = kind;
}
static void gdx_say(__private gdx_ctx *c, uint kind, uint site, uint id, uint how, uint width, ulong off, ulong n, ulong more)
{
  gdx_tell(c->f, kind, site, id, how, width, off, n, more);
}
static void gdx_begin(__private gdx_ctx *c, __private gdx_who *f, __global uint *r)
{
  c->f = f; c->apart = 0; c->said = 0; c->odd = 0; c->steps = 0; c->v = 0; c->turn = 0; c->yes = 0; c->voters = 0;
#ifdef GDX_LATE
  c->site = 0; c->id = 0; c->how = 0; c->off = 0; c->n = 0; c->hint = 0;
#endif
#ifdef GDX_LOOPS
  c->rank = ~0u; c->looped = 0; c->seen[0] = 0; c->seen[1] = 0; c->seen[2] = 0;
#endif
#ifdef GDX_OPERANDS
  c->made[0] = 0; c->made[1] = 0;
#endif
  f->r = r; f->item = gdx_item(); f->epoch = 0; f->passed = 0; f->missed = 0; f->hint = 0;
#ifdef GDX_RACES
  f->held.site = 0;
#endif
#ifdef GDX_FLAT
  f->global_id[0] = get_global_id(0); f->global_id[1] = get_global_id(1); f->global_id[2] = get_global_id(2);
  f->local_id[0] = (uint)get_local_id(0); f->local_id[1] = (uint)get_local_id(1); f->local_id[2] = (uint)get_local_id(2);
  f->group_id[0] = (uint)get_group_id(0); f->group_id[1] = (uint)get_group_id(1); f->group_id[2] = (uint)get_group_id(2);
  f->dims = (uint)get_work_dim(); f->team = gdx_team();
#endif
}
static void gdx_end(__private gdx_ctx *c)
{
#ifdef GDX_LATE
  if (c->site) gdx_say(c, 1u, c->site, c->id, c->how & 255u, c->how >> 8, c->off, c->n, c->hint);
#endif
}
/* A number that the next access depends on, for its report. */
static void gdx_hint(__private gdx_ctx *c, long value) { c->f->hint = (ulong)value; }
static void gdx_clear(__local uint *at, uint count)
{
  uint step = (uint)(get_local_size(0) * get_local_size(1) * get_local_size(2));
  for (uint i = gdx_item(); i < count; i += step) at[i] = 0;
}
static gdx_obj gdx_arr(ulong lo, ulong n, uint id)
{
  gdx_obj o; o.lo = n == ~0UL ? 0 : lo; o.n = n; o.id = id;
#ifdef GDX_TRACK
  o.w = 0; o.u = 0; o.l = 0; o.shift = 0;
#endif
  return o;
}
static gdx_obj gdx_any(void) { return gdx_arr(0, ~0UL, ~0u); }
static ulong gdx_far(ulong a, gdx_obj o) { return a < o.lo ? o.lo - a : a - o.lo - o.n; }
/* The one of two objects that an address is in, else the nearer one. */
static gdx_obj gdx_pick(ulong a, gdx_obj x, gdx_obj y)
{
  return a - x.lo < x.n ? x : a - y.lo < y.n ? y : gdx_far(a, x) <= gdx_far(a, y) ? x : y;
}
"""

BOUNDS = """
static void gdx_miss(__private gdx_ctx *c, uint s, uint id, uint how, ulong w, ulong off, ulong n)
{
  c->f->missed++;
#ifdef GDX_LATE
  int first = c->site == 0;
  c->site = first ? s : c->site; c->id = first ? id : c->id; c->how = first ? how | (uint)w << 8 : c->how;
  c->off = first ? off : c->off; c->n = first ? n : c->n; c->hint = first ? c->f->hint : c->hint;
#else
  gdx_say(c, 1u, s, id, how, (uint)w, off, n, c->f->hint);
#endif
}
#ifdef GDX_TRACK
static GDX_COLD int gdx_check(__private gdx_who *f, ulong a, ulong w, gdx_obj o, uint s, uint how)
{
  GDX_APART
  ulong off = a - o.lo;
  int ok = (off <= o.n - w) & (o.n >= w);
  if (!ok) { f->missed++; gdx_tell(f, 1u, s, o.id, how, (uint)w, off, o.n, f->hint); }
  else if (o.l) gdx_track_local(f, off, gdx_used(w, how), o, s, how);
  else if (o.w || o.u) gdx_track_global(f, off, gdx_used(w, how), o, s, how);
  return ok;
}
static int gdx_at(__private gdx_ctx *c, ulong a, ulong w, gdx_obj o, uint s, uint how) { return gdx_check(c->f, a, w, o, s, how); }
/* Where work-items cannot race. Nothing here is out of line, so that compilers can still vectorize the kernel. */
static int gdx_light_in(__private gdx_ctx *c, ulong a, ulong w, gdx_obj o, uint s, uint how)
{
#ifdef GDX_UNINIT
  if (o.u) gdx_track_written(c->f, a - o.lo, gdx_used(w, how), o, s, how);
#endif
  return 1;
}
static int gdx_light_at(__private gdx_ctx *c, ulong a, ulong w, gdx_obj o, uint s, uint how)
{
  ulong off = a - o.lo;
  int ok = (off <= o.n - w) & (o.n >= w);
  if (!ok) gdx_miss(c, s, o.id, how, w, off, o.n);
  return ok && gdx_light_in(c, a, w, o, s, how);
}
#else
static int gdx_at(__private gdx_ctx *c, ulong a, ulong w, gdx_obj o, uint s, uint how)
{
  ulong off = a - o.lo;
  int ok = (off <= o.n - w) & (o.n >= w);
  if (!ok) gdx_miss(c, s, o.id, how, w, off, o.n);
  return ok;
}
#endif
static int gdx_odd(__private gdx_ctx *c, ulong a, ulong w, gdx_obj o, uint s, uint how)
{
  ulong need = w <= 1 ? 1 : w <= 2 ? 2 : w <= 4 ? 4 : w <= 8 ? 8 : w <= 16 ? 16 : w <= 32 ? 32 : w <= 64 ? 64 : 128;
  if (!(a & (need - 1)) || w != need) return 0;
  gdx_say(c, 2u, s, o.id, how, (uint)w, a - o.lo, o.n, need);
  return 1;
}
static int gdx_at_a(__private gdx_ctx *c, ulong a, ulong w, gdx_obj o, uint s, uint how)
{
  return !gdx_odd(c, a, w, o, s, how) && gdx_at(c, a, w, o, s, how);
}
/* A read that is left out gives 0, and a loop that waits for another value would never end. */
static int gdx_goes_on(__private gdx_ctx *c) { return c->f->missed < 100000u; }
static int gdx_ix(__private gdx_ctx *c, long i, uint total, uint each, uint id, uint s, uint how)
{
  int ok = (ulong)i < (ulong)total;
  if (!ok) gdx_miss(c, s, id, how, each, (ulong)i * each, (ulong)total * each);
  return ok;
}
static int gdx_span(__private gdx_ctx *c, ulong a, ulong w, gdx_obj o, uint s, uint how)
{
  ulong off = a - o.lo;
  int ok = ((off <= o.n - w) & (o.n >= w)) | (w == 0);
  if (!ok) gdx_say(c, 1u, s, o.id, how, (uint)w, off, o.n, 0);
#ifdef GDX_TRACK
  else gdx_track_span(off, w, o, how);
#endif
  return ok;
}
"""

# The address of an access, or of a place that it does no harm to.
POINTERS = """
static __global void *PREFIX_pg(__private gdx_ctx *c, __global void *p, ulong w, gdx_obj o, uint s, uint how)
{
  return PREFIX_at(c, (ulong)p, w, o, s, how) || w > 256 ? p : (__global void *)(c->f->r + 8);
}
static __local void *PREFIX_pl(__private gdx_ctx *c, __local void *p, ulong w, gdx_obj o, uint s, uint how)
{
  return PREFIX_at(c, (ulong)p, w, o, s, how) || w > o.n ? p : (__local void *)(size_t)o.lo;
}
static __constant void *PREFIX_pc(__private gdx_ctx *c, __constant void *p, ulong w, gdx_obj o, uint s, uint how)
{
  return PREFIX_at(c, (ulong)p, w, o, s, how) || w > o.n ? p : (__constant void *)(size_t)o.lo;
}
static __private void *PREFIX_pp(__private gdx_ctx *c, __private void *p, ulong w, gdx_obj o, uint s, uint how)
{
  return PREFIX_at(c, (ulong)p, w, o, s, how) || w > o.n ? p : (__private void *)(size_t)o.lo;
}
"""
LIGHT = """
static int gdx_light_at_a(__private gdx_ctx *c, ulong a, ulong w, gdx_obj o, uint s, uint how)
{
  return !gdx_odd(c, a, w, o, s, how) && gdx_light_at(c, a, w, o, s, how);
}
"""

# The epoch of local memory counts the barriers that order it; that of global memory counts every barrier.
# A word per element says who wrote last, a second one who read last. Local memory: bit 31 set, 30 a constant was written, 2 bits
# of the constant, 16 bits of work-item, 12 of epoch. Global memory: 13 bits of group (never 0), a bit for constants, 2 bits of the
# constant, 10 of item, 6 of epoch.
TRACK = """
#define GDX_FREE 0xffffffffu   /* written by an atomic or a copy: in order with everything */
#define GDX_MANY 0xfffffffeu   /* read by several groups */
static gdx_obj gdx_loc(ulong lo, ulong n, uint id, __local uint *l, uint grain)
{
  gdx_obj o = gdx_arr(lo, n, id); o.l = l; o.shift = grain < 2 ? 0 : grain < 4 ? 1 : grain < 8 ? 2 : 3; return o;
}
/* A read of a vector of three: its padding does not matter. */
static ulong gdx_used(ulong w, uint how) { return (how & 129u) == 129u ? w - (w >> 2) : w; }
static gdx_obj gdx_glo(ulong lo, ulong n, uint id, __global uint *w, __global uchar *u)
{
  gdx_obj o = gdx_arr(lo, n, id); o.w = w; o.u = u; return o;
}
#ifdef GDX_RACES
static uint gdx_sum(ulong at, ulong end, uint is_local)
{
  uint sum = 0;
  for (; at < end; at++)
    sum = sum * 31u + (is_local ? *(volatile __local uchar *)(size_t)at : *(volatile __global uchar *)(size_t)at);
  return sum;
}
/* Two work-items wrote the bytes from `first` to `last`. Equal values do not disturb each other: gdx_settle compares what is there before
   and after the second write. */
static void gdx_met(__private gdx_who *f, uint s, gdx_obj o, uint how, ulong w, ulong off, ulong more, ulong first, ulong last)
{
  ulong at = o.lo + max(first, off), end = o.lo + min(last, off + w);
  gdx_held held = {s, o.id, how & 255u, (uint)w, o.l != 0, 0, off, o.n, more, at, end};
  if (!(how & 256u) || f->held.site) { gdx_tell(f, 4u, s, o.id, how & 255u, (uint)w, off, o.n, more); return; }
  held.sum = gdx_sum(at, end, held.is_local);
  f->held = held;
}
static GDX_COLD void gdx_compare(__private gdx_who *f)
{
  GDX_APART
  gdx_held h = f->held;
  f->held.site = 0;
  if (gdx_sum(h.at, h.end, h.is_local) != h.sum) gdx_tell(f, 4u, h.site, h.id, h.how, h.width, h.off, h.n, h.more);
}
#endif
static void gdx_settle(__private gdx_ctx *c)
{
#ifdef GDX_RACES
  if (c->f->held.site) gdx_compare(c->f);
#endif
}
static void gdx_track_local(__private gdx_who *f, ulong off, ulong w, gdx_obj o, uint s, uint how)
{
  uint item = f->item & 0xffffu, epoch = min(f->epoch, 0xfffu);
  uint me = 0x80000000u | item << 12 | epoch, fixed = how & 8u ? 0x40000000u | (how >> 5 & 3u) << 28 : 0u;
  uint first = (uint)(off >> o.shift), last = (uint)((off + w - 1) >> o.shift), said = 0; /* once per access, however fine the words are */
  ulong met = 0, from = 0, to = 0;
  for (uint g = first; g <= last; g++) {
    __local volatile uint *cell = o.l + 2u * g;
    /* Exchanged, because work-items that run in step would all see what was there before them. */
    uint old = how & 2u ? atomic_xchg(cell, how & 4u ? GDX_FREE : me | fixed) : cell[0], seen = cell[1];
    uint by = old >> 12 & 0xffffu, reader = seen >> 12 & 0xffffu;
    int together = old != 0 && old != GDX_FREE && by != item && (old & 0xfffu) == epoch && epoch < 0xfffu;
    int read_too = seen != 0 && (reader != item || (seen & 0x40000000u)) && (seen & 0xfffu) == epoch && epoch < 0xfffu;
    if ((how & 1u) && !(how & 16u) && old == 0) {
#ifdef GDX_UNINIT
      if (!(said & 1u)) gdx_tell(f, 3u, s, o.id, how & 255u, (uint)w, off, o.n, 0);
      said |= 1u;
#endif
    }
#ifdef GDX_RACES
    if (said & 2u) ;
    else if (together && (how & 3u) == 2u && !(fixed && (old & 0x70000000u) == fixed)) {
      from = met ? from : (ulong)g << o.shift; to = (ulong)(g + 1) << o.shift;
      met = met ? met : by | (ulong)2 << 32;
    } else if (together && (how & 1u))
      said |= 2u, gdx_tell(f, 4u, s, o.id, how & 255u, (uint)w, off, o.n, by | (ulong)2 << 32);
    else if ((how & 2u) && !(how & 4u) && read_too)
      said |= 2u, gdx_tell(f, 4u, s, o.id, how & 255u, (uint)w, off, o.n, reader | (ulong)(seen & 0x40000000u ? 3 : 1) << 32);
#endif
    if ((how & 1u) && !(how & 4u) && !(read_too && (seen & 0x40000000u))) cell[1] = read_too ? me | 0x40000000u : me;
  }
#ifdef GDX_RACES
  if (met && !(said & 2u)) gdx_met(f, s, o, how, w, off, met, from, to);
#endif
}
#ifdef GDX_UNINIT
static void gdx_track_written(__private gdx_who *f, ulong off, ulong w, gdx_obj o, uint s, uint how)
{
  int unset = 0, reads = (how & 1u) && !(how & 16u);
  if (w == 4 && !(off & 3u)) {
    __global uint *word = (__global uint *)(o.u + off);
    unset = reads && *word != 0x01010101u;
    if ((how & 2u) && *word != 0x01010101u) *word = 0x01010101u;
  } else
    for (ulong i = off; i < off + w; i++) {
      if (reads) unset |= !o.u[i];
      if (how & 2u) o.u[i] = 1;
    }
  if (unset) gdx_tell(f, 3u, s, o.id, how & 255u, (uint)w, off, o.n, 0);
}
#endif
static void gdx_track_global(__private gdx_who *f, ulong off, ulong w, gdx_obj o, uint s, uint how)
{
#ifdef GDX_UNINIT
  if (o.u) gdx_track_written(f, off, w, o, s, how);
#endif
#ifdef GDX_RACES
  if (!o.w) return;
  uint team = GDX_TEAM, item = f->item % 1023u, epoch = min(f->passed, 63u);
  uint me = team << 19 | item << 6 | epoch, fixed = how & 8u ? 0x40000u | (how >> 5 & 3u) << 16 : 0u, said = 0;
  ulong met = 0, from = 0, to = 0;
  for (ulong g = off >> GDX_SHIFT; g <= (off + w - 1) >> GDX_SHIFT; g++) {
    __global volatile uint *cell = o.w + 2u * g;
    if (how & 4u) { cell[0] = GDX_FREE; continue; }
    uint old = how & 2u ? atomic_xchg(cell, me | fixed) : cell[0], seen = cell[1];
    int other = old != 0 && old != GDX_FREE && (old & ~0x7003fu) != (me & ~0x3fu);
    if (other && old >> 19 == team) other = (old & 63u) == epoch && epoch < 63u;
    int reader = seen != 0 && (seen == GDX_MANY || (seen & ~0x3fu) != (me & ~0x3fu));
    if (reader && seen != GDX_MANY && seen >> 19 == team) reader = (seen & 63u) == epoch && epoch < 63u;
    if (said) ;
    else if (other && (how & 3u) == 2u && !(fixed && (old & 0x70000u) == fixed)) {
      from = met ? from : g << GDX_SHIFT; to = (g + 1) << GDX_SHIFT;
      met = met ? met : (old >> 6 & 1023u) | (ulong)(old >> 19 == team ? 2 : 6) << 32;
    } else if (other && (how & 1u))
      said = 1, gdx_tell(f, 4u, s, o.id, how & 255u, (uint)w, off, o.n, (old >> 6 & 1023u) | (ulong)(old >> 19 == team ? 2 : 6) << 32);
    else if ((how & 2u) && reader)
      said = 1, gdx_tell(f, 4u, s, o.id, how & 255u, (uint)w, off, o.n, (seen >> 6 & 1023u) | (ulong)(seen >> 19 == team ? 1 : 5) << 32);
    /* Stored only where it changes: what all work-items read would be passed from processor to processor. */
    uint next = !reader ? me : seen >> 19 == team && seen != GDX_MANY ? (me | 0x3ffu << 6) : GDX_MANY;
    if ((how & 1u) && next != seen) cell[1] = next;
  }
  if (met && !said) gdx_met(f, s, o, how, w, off, met, from, to);
#endif
}
static void gdx_track_span(ulong off, ulong w, gdx_obj o, uint how)
{
  if (gdx_item() || !(how & 2u) || !w) return;
  if (o.l) for (ulong g = off >> o.shift; g <= (off + w - 1) >> o.shift; g++) o.l[2u * g] = GDX_FREE;
  if (o.w) for (ulong g = off >> GDX_SHIFT; g <= (off + w - 1) >> GDX_SHIFT; g++) o.w[2u * g] = GDX_FREE;
  if (o.u) for (ulong i = off; i < off + w; i++) o.u[i] = 1;
}
"""

# All work-items of a group come to a condition together; they tell each other which way they go. Those who went apart must
# meet no barrier until they are together again. The votes have three places that take turns: the next one is cleared while this
# one is in use, and the last one may still be read. So a vote needs one barrier; PoCL repeats the code behind each of them that depends
# on a condition, and lets the first work-item decide conditions behind it (3.1). It never waits at a barrier, so there no barrier
# is left out.
BARRIERS = """
static int gdx_agree(__private gdx_ctx *c, int yes, uint s)
{
#ifndef GDX_FLAT
  if (c->apart) return yes;
#endif
  __local uint *now = c->v + 2u * c->turn;
  c->turn = c->turn == 2u ? 0u : c->turn + 1u;
  if (gdx_item() == 0) { c->v[2u * c->turn] = 0; c->v[2u * c->turn + 1u] = 0; }
  atomic_inc((volatile __local uint *)(yes ? now : now + 1));
  barrier(CLK_LOCAL_MEM_FENCE);
  if (c->apart) return yes;
  c->yes = now[0]; c->voters = now[0] + now[1];
  if (now[0] && now[1]) c->apart = s;
  return yes;
}
/* The same where a barrier is sure to come on one of the ways: reported at once, and then all go the same way, because some
   compilers for CPUs follow the first work-item wherever a barrier depends on a condition. */
static int gdx_split(__private gdx_ctx *c, int yes, uint s, uint bar)
{
  int before = c->apart != 0;
  yes = gdx_agree(c, yes, s);
  if (before || !c->apart) return yes;
  gdx_say(c, 5u, bar, ~0u, 0u, 0u, c->yes, c->voters, s);
  c->said |= 2;
  return 0;
}
static int gdx_lost(__private gdx_ctx *c, uint s)
{
  if (!c->apart) return 0;
  if (c->said < 2) gdx_say(c, 5u, s, ~0u, 0u, 0u, c->yes, c->voters, c->apart);
  return 1;
}
"""

ARITHMETIC = """
static int gdx_divi(__private gdx_ctx *c, int d, uint s) { if (d) return d; gdx_say(c, 8u, s, ~0u, 0u, 0u, 0, 0, 0); return 1; }
static uint gdx_divu(__private gdx_ctx *c, uint d, uint s) { if (d) return d; gdx_say(c, 8u, s, ~0u, 0u, 0u, 0, 0, 0); return 1; }
static long gdx_divl(__private gdx_ctx *c, long d, uint s) { if (d) return d; gdx_say(c, 8u, s, ~0u, 0u, 0u, 0, 0, 0); return 1; }
static ulong gdx_divm(__private gdx_ctx *c, ulong d, uint s) { if (d) return d; gdx_say(c, 8u, s, ~0u, 0u, 0u, 0, 0, 0); return 1; }
static int gdx_wide(__private gdx_ctx *c, int narrow, long wide, uint s)
{
  /* Not by comparing the two: a compiler may take for granted that signed arithmetic does not overflow. */
  if (wide > 2147483647L || wide < -2147483647L - 1L) gdx_say(c, 7u, s, ~0u, 0u, 4u, (ulong)wide, (ulong)(long)(int)wide, 0);
  return narrow;
}
static long gdx_cut(__private gdx_ctx *c, long value, long low, long high, uint s)
{
  if (value >= low && value <= high) return value;
  ulong kept = (ulong)value & (ulong)(high - low);
  gdx_say(c, 7u, s, ~0u, 0u, high - low > 255L ? 2u : 1u, (ulong)value, kept > (ulong)high ? kept | ~(ulong)(high - low) : kept, 0);
  return value;
}
"""

# Coordinates in images. A pixel in the far half of an image is no place that a normalized coordinate without repetition is meant for;
# whether the sampler is a normalized one, the host knows. Four reports of a place are enough.
IMAGES = """
static int gdx_image_has(__private gdx_ctx *c, int2 p, int w, int h, uint id, uint s)
{
  if (p.x >= 0 && p.y >= 0 && p.x < w && p.y < h) return 1;
  gdx_say(c, 10u, s, id, 2u, 4u, (uint)p.x | (ulong)(uint)p.y << 32, (uint)w | (ulong)(uint)h << 32, 1);
  return 0;
}
static int gdx_far_in(float x, int w) { return w >= 8 && x >= (float)(w / 2) && x <= (float)w; }
static void gdx_pixel(__private gdx_ctx *c, float x, float y, int w, int h, uint id, uint s)
{
  if (x < 0 || y < 0 || x > (float)w || y > (float)h || (c->f->r[72 + s - 1] & ~(3u << 30)) >= 4u) return;
  if (!gdx_far_in(x, w) && !gdx_far_in(y, h)) return;
  gdx_say(c, 10u, s, id, 1u, 4u, as_uint(x) | (ulong)as_uint(y) << 32, (uint)w | (ulong)(uint)h << 32, 0);
}
static float2 gdx_pixel_float2(__private gdx_ctx *c, float2 p, int w, int h, uint id, uint s)
{
  gdx_pixel(c, p.x, p.y, w, h, id, s);
  return p;
}
static int2 gdx_pixel_int2(__private gdx_ctx *c, int2 p, int w, int h, uint id, uint s)
{
  gdx_pixel(c, (float)p.x, (float)p.y, w, h, id, s);
  return p;
}
"""

# The loop that does not end is the outermost one that still turns at the end of what a work-item may take; loops in it may end each
# time. With it goes what its condition depends on, and which of these numbers the last turn left alone.
LOOPS = """
static int gdx_step(__private gdx_ctx *c, uint s, uint rank, ulong a, ulong b, ulong d)
{
  ulong most = c->f->r[3], done = ++c->steps >> 10;
  if (most == 1u) return done < 1;
  if (done < most - most / 4) return 1;
  if (rank < c->rank) { c->rank = rank; c->looped = 0; }
  if (rank != c->rank && done < most + most / 4) return 1;
  uint same = c->looped != s ? 0u : 256u | (c->seen[0] == a ? 512u : 0u) | (c->seen[1] == b ? 1024u : 0u) | (c->seen[2] == d ? 2048u : 0u);
  c->looped = s; c->seen[0] = a; c->seen[1] = b; c->seen[2] = d;
  if (done < most) return 1;
  gdx_say(c, 6u, s, ~0u, same, (uint)c->steps, a, b, d);
  c->f->r[3] = 1u;  /* the other work-items need not take as long */
  return 0;
}
"""


def _nan(name: str) -> str:
    """The first NaN of a work-item, and the first infinity if that comes before it."""
    width = "".join(char for char in name if char.isdigit())
    nan, inf = ("any(isnan(v))", "any(isinf(v))") if width else ("isnan(v)", "isinf(v)")
    return (
        f"static {name} gdx_nan_{name}(__private gdx_ctx *c, {name} v, uint s)\n"
        f"{{ if (!(c->odd & 1) && {nan}) {{ c->odd |= 3; gdx_say(c, 9u, s, ~0u, 0u, sizeof(v), 0, 0, 1); }}\n"
        f"  else if (!c->odd && {inf}) {{ c->odd |= 2; gdx_say(c, 9u, s, ~0u, 0u, sizeof(v), 0, 0, 0); }}\n"
        f"  return v; }}\n"
    )


def _made(name: str) -> str:
    """The same for a statement with operations that keep their operands: [0] of those that made a NaN, [1] of those that made an infinity.
    What an operation makes counts only if the statement has it as its result: fmax(sqrt(x), 0) is a number."""
    bits, back = ("as_uint", "as_float((uint)") if name == "float" else ("as_ulong", "as_double(")
    other = f"(count < 2u || !odd({back}c->operands[at + 1])))"
    keep = "c->made[k] = s; c->many[k] = count; c->held[2 * k] = c->operands[at]; c->held[2 * k + 1] = c->operands[at + 1];"
    say = "gdx_say(c, 9u, c->made[k], ~0u, c->many[k] << 8, sizeof(v), c->held[2 * k], c->held[2 * k + 1], 1u - k)"
    return (
        f"static {name} gdx_op_{name}(__private gdx_ctx *c, uint at, {name} v) {{ c->operands[at] = {bits}(v); return v; }}\n"
        f"static {name} gdx_made_{name}(__private gdx_ctx *c, {name} v, uint s, uint at, uint count)\n"
        f"{{ uint k = isnan(v) ? 0u : 1u;\n"
        f"  if (isnan(v) && !isnan({back}c->operands[at])) && {other.replace('odd', 'isnan')}) {{ {keep} }}\n"
        f"  if (isinf(v) && !isinf({back}c->operands[at])) && {other.replace('odd', 'isinf')}) {{ {keep} }}\n"
        f"  return v; }}\n"
        f"static {name} gdx_from_{name}(__private gdx_ctx *c, {name} v, uint s, uint first, uint last)\n"
        f"{{ uint k = isnan(v) ? 0u : 1u;\n"
        f"  int fresh = k ? !c->odd && isinf(v) : !(c->odd & 1);\n"
        f"  if (fresh) {{ c->odd |= k ? 2 : 3;\n"
        f"    if (c->made[k] >= first && c->made[k] <= last) {say};\n"
        f"    else gdx_say(c, 9u, s, ~0u, 0u, sizeof(v), 0, 0, 1u - k); }}\n"
        f"  c->made[0] = 0; c->made[1] = 0; return v; }}\n"
    )


def _came_in(name: str) -> str:
    """One that was in memory: this work-item makes none after it."""
    width = "".join(char for char in name if char.isdigit())
    nan, inf = ("any(isnan(v))", "any(isinf(v))") if width else ("isnan(v)", "isinf(v)")
    return (
        f"static {name} gdx_in_{name}(__private gdx_ctx *c, {name} v)\n"
        f"{{ c->odd |= {nan} ? 3u : {inf} ? 2u : 0u; return v; }}\n"
    )


def text(
    checks: frozenset[str],
    body: str,
    late: bool = False,
    blind: bool = False,
    fences: bool = False,
    grain: int = 4,
    local_grain: int = 8,
    flat: bool = False,
) -> str:
    """What `body` needs. `blind`: some writes are not seen; `fences`: the kernels order accesses themselves; `grain` and
    `local_grain`: the smallest pieces of memory that are followed; `flat`: the driver inlines every function it can."""
    tracks = bool({"races", "uninit"} & checks)
    races = "races" in checks and not fences
    uninit = "uninit" in checks and not blind
    parts = [
        "#define GDX_COLD __attribute__((noinline))\n",
        FLAT * flat,
        f"#define GDX_SHIFT {grain.bit_length() - 1}\n",
    ]
    parts.append(f"#define GDX_GRAIN(n) ((n) < {local_grain} ? (n) : {local_grain})\n")
    parts += ["#define GDX_LATE 1\n"] * (late and not tracks)
    parts += (
        ["#define GDX_RACES 1\n"] * races + ["#define GDX_UNINIT 1\n"] * uninit + ["#define GDX_TRACK 1\n"] * tracks
    )
    parts += ["#define GDX_LOOPS 1\n"] * ("gdx_step" in body)
    parts += ["#define GDX_OPERANDS 1\n"] * ("gdx_made_" in body)
    parts.append(COMMON)
    if tracks:
        parts.append(TRACK)
    parts += [BOUNDS, POINTERS.replace("PREFIX", "gdx")]
    parts += [LIGHT, POINTERS.replace("PREFIX", "gdx_light")] * tracks
    parts += [BARRIERS] * any(name in body for name in ("gdx_agree", "gdx_split", "gdx_lost"))
    parts += [ARITHMETIC] * any(name in body for name in ("gdx_div", "gdx_wide", "gdx_cut"))
    parts += [LOOPS] * ("gdx_step" in body)
    parts += [IMAGES] * any(name in body for name in ("gdx_image_has", "gdx_pixel"))
    parts += [_nan(name) for name in sorted(set(re.findall(r"gdx_nan_(\w+)\(", body)))]
    parts += [_made(name) for name in sorted(set(re.findall(r"gdx_(?:made|from)_(\w+)\(", body)))]
    parts += [_came_in(name) for name in sorted(set(re.findall(r"gdx_in_(\w+)\(", body)))]
    return "".join(parts)
