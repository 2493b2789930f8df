/* observe.c - joins what the barrel and the memory of a tile say to issues. */
#include "emu/step/observe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "emu/bsp/barrel_trace.h"
#include "emu/job/case_run.h"

struct observed {
    struct machine *machine; /* borrowed */
    uint32_t tile;
    struct observer_calls calls;
    struct issue last;
    int is_pending; /* last executes, or has */
};

static void end_issue(struct observed *o)
{
    if (o->is_pending && o->calls.issued)
        o->calls.issued(o->calls.ctx, machine_tile(o->machine, o->tile), &o->last);
    o->is_pending = 0;
}

static void see_issue(void *ctx, const struct tile *t, unsigned lane, uint64_t cycle,
                      const struct insn *main, const struct insn *aux)
{
    struct observed *o = ctx;

    end_issue(o);
    o->last = (struct issue){ .cycle = cycle,
                              .tile = o->tile,
                              .pc = t->pc[lane],
                              .lane = lane,
                              .main = *main,
                              .is_bundle = aux != NULL };
    if (aux)
        o->last.aux = *aux;
    o->is_pending = 1;
    if (o->calls.issues)
        o->calls.issues(o->calls.ctx, t, &o->last);
}

static void see_access(void *ctx, const struct tile *t, unsigned lane, uint32_t addr,
                       uint32_t bytes, int is_store)
{
    struct observed *o = ctx;

    (void)t;
    if (o->is_pending && o->last.lane == lane && o->last.accesses < ISSUE_ACCESSES)
        o->last.access[o->last.accesses++] = (struct issue_access){ addr, bytes, is_store };
}

static void see_arrival(void *ctx, const struct tile *t, const struct tile_arrival *a)
{
    const struct observed *o = ctx;

    if (o->calls.arrived)
        o->calls.arrived(o->calls.ctx, t, a);
}

enum emu_status observe_begin(struct machine *m, uint32_t tile, const struct observer_calls *calls,
                              struct observed **out)
{
    struct observed *o = emu_alloc(1, sizeof(*o));
    const struct tile_observer memory = { o, see_access, see_arrival };

    *out = NULL;
    if (!o)
        return FAIL(NO_MEMORY, "an observer of tile %u", tile);
    o->machine = m;
    o->tile = tile;
    o->calls = *calls;
    if (tile_observe(machine_tile(m, tile), &memory) != EMU_OK) {
        ss_free(o);
        return EMU_NO_MEMORY;
    }
    barrel_trace(machine_barrel(m, tile), machine_tile(m, tile), see_issue, o);
    *out = o;
    return EMU_OK;
}

void observe_flush(struct observed *o)
{
    end_issue(o);
}

void observe_end(struct observed *o)
{
    if (!o)
        return;
    barrel_trace(machine_barrel(o->machine, o->tile), machine_tile(o->machine, o->tile), NULL,
                 NULL);
    EMU_ASSERT(tile_observe(machine_tile(o->machine, o->tile), NULL) == EMU_OK);
    ss_free(o);
}

/* ---- text ---- */

void issue_text(const struct insn *main, const struct insn *aux, const char *label, char *out,
                size_t bytes)
{
    char text[2][160];

    isa_print(main, label, text[0], sizeof(text[0]));
    if (!aux) {
        snprintf(out, bytes, "%s", text[0]);
        return;
    }
    isa_print(aux, NULL, text[1], sizeof(text[1]));
    snprintf(out, bytes, "{ %s ; %s }", text[0], text[1]);
}

/* A list that is cut where there is no room. */
struct cut_line {
    char *out;
    size_t bytes, at;
};

static void add(struct cut_line *l, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(l->out + l->at, l->bytes - l->at, format, args);
    va_end(args);
    l->at = n < 0 || (size_t)n >= l->bytes - l->at ? l->bytes - 1 : l->at + (size_t)n;
}

static void add_registers(struct cut_line *l, const struct tile *t, unsigned lane,
                          const struct insn *in)
{
    struct insn_regs r = isa_registers(in);

    for (unsigned k = 0; k < 16; k++) {
        if (r.m_write >> k & 1)
            add(l, "%s$m%u=0x%x", l->at ? " " : "", k, tile_m(t, lane, k));
    }
    for (unsigned k = 0; k < 16; k++) {
        if (r.a_write >> k & 1)
            add(l, "%s$a%u=0x%x(%.6g)", l->at ? " " : "", k, tile_a(t, lane, k),
                (double)fp_float(tile_a(t, lane, k)));
    }
}

static void add_access(struct cut_line *l, const struct tile *t, const struct issue_access *a)
{
    uint8_t byte[16] = { 0 };

    add(l, "%s%s[0x%x]:%u=0x", l->at ? " " : "", a->is_store ? "" : "load", a->addr, a->bytes);
    if (a->bytes > sizeof(byte) || !tile_read(t, a->addr, byte, a->bytes))
        return;
    for (uint32_t k = a->bytes; k; k--)
        add(l, "%02x", byte[k - 1]);
}

void issue_values(const struct issue *i, const struct tile *t, char *out, size_t bytes)
{
    struct cut_line l = { out, bytes, 0 };

    out[0] = 0;
    add_registers(&l, t, i->lane, &i->main);
    if (i->is_bundle)
        add_registers(&l, t, i->lane, &i->aux);
    for (unsigned k = 0; k < i->accesses; k++)
        add_access(&l, t, &i->access[k]);
}

unsigned lane_of_name(const char *text)
{
    unsigned lane = 0;

    while (lane <= LANE_SUPER && strcmp(case_lane_name(lane), text) != 0)
        lane++;
    return lane <= LANE_SUPER ? lane : TILE_LANES;
}
