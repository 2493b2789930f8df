/* memory_advice.c - out of memory is a result: who needs how much, what fills the fullest tiles at
 * their worst moment, and what to change, each with the numbers it follows from.
 */
#include "programs/compiler/report/memory_advice.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "programs/compiler/report/count_text.h"

enum {
    OWNERS_NAMED = 3, /* advice for at most so many owners of the fullest tile */
    OWNER_SHARE = 16, /* and only for those with at least 1/16 of the memory */
    CODE_SHARE = 4,   /* advice for kinds of code with at least 1/4 of it */
    CODE_SAVED = 10, /* scheduled for memory, exchange code shrinks by more (B4 at batch 25: 1/8) */
    TABLE_ROWS = 16, /* different needs in the table */
    RANGES_SHOWN = 6 /* ranges of tiles in a row */
};

void advice_free(struct advice *v)
{
    for (size_t i = 0; i < v->line.count; i++)
        ss_free(v->line.at[i]);
    VEC_FREE(&v->line);
}

static enum emu_status EMU_PRINTF(2, 3) advise(struct advice *v, const char *fmt, ...)
{
    char text[600], *copy;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    copy = emu_strdup(text);
    if (!copy)
        return FAIL(NO_MEMORY, "the report");
    if (VEC_PUSH(&v->line, copy) == EMU_OK)
        return EMU_OK;
    ss_free(copy);
    return FAIL(NO_MEMORY, "the report");
}

/* ---- code ---- */

static enum emu_status advise_exchange_code(const struct memory_report *a, uint32_t tile,
                                            uint64_t bytes, uint64_t code, struct advice *v)
{
    uint32_t number = a->c->lowered->used_tile[tile];

    if (a->c->target == EXCHANGE_CYCLES)
        return advise(
            v,
            "Schedule exchanges for memory (--exchange memory): exchange code takes %s of "
            "the %s bytes of code on tile %u.",
            count_text(bytes).at, count_text(code).at, number);
    return advise(
        v,
        "Exchange code takes %s of the %s bytes of code on tile %u although it was "
        "scheduled for memory: let tiles send fewer, longer pieces (grain and order of the "
        "mappings), or call equal parts of the program as functions.",
        count_text(bytes).at, count_text(code).at, number);
}

static enum emu_status advise_code(const struct memory_report *a, struct advice *v)
{
    const struct lowered *l = a->c->lowered;
    uint32_t tile = a->c->place.longest, number = l->used_tile[tile];
    const uint64_t *bytes = a->tile[tile].category;
    uint64_t code = a->c->place.tile[tile].code_bytes;
    uint64_t control = bytes[CATEGORY_CONTROL_CODE] + bytes[CATEGORY_HOST_CODE];

    if (bytes[CATEGORY_EXCHANGE_CODE] >= code / CODE_SHARE)
        TRY(advise_exchange_code(a, tile, bytes[CATEGORY_EXCHANGE_CODE], code, v));
    if (bytes[CATEGORY_VERTEX_CODE] >= code / CODE_SHARE)
        TRY(advise(v,
                   "Use fewer different codelets: %u of them take %s bytes of region 0 on every "
                   "tile.",
                   (unsigned)l->codelet.count, count_text(bytes[CATEGORY_VERTEX_CODE]).at));
    if (control >= code / CODE_SHARE)
        TRY(advise(v,
                   "Write repeated parts of the program as functions or loops: control code takes "
                   "%s bytes on tile %u.",
                   count_text(control).at, number));
    return EMU_OK;
}

/* ---- data ---- */

/* How the bytes of an owner are distributed over the tiles of the chip. */
struct owner_tiles {
    uint64_t bytes, most;
    uint32_t tiles;
};

static struct owner_tiles owner_tiles_of(const struct memory_report *a, const struct owner_bytes *o)
{
    const struct lowered *l = a->c->lowered;
    struct owner_tiles s = { 0, 0, 0 };

    for (uint32_t t = 0; t < a->tiles; t++) {
        uint64_t here = 0;

        for (size_t i = a->first[t]; i < a->first[t + 1]; i++) {
            const struct object *x = &l->object.at[a->object[i]];

            if (x->category == o->category &&
                !strcmp(strings_text(&l->strings, x->owner), o->owner))
                here += x->bytes;
        }
        s.bytes += here;
        s.most = here > s.most ? here : s.most;
        s.tiles += here != 0;
    }
    return s;
}

static enum emu_status advise_variable(const struct memory_report *a, uint32_t tile,
                                       const struct owner_bytes *o, struct advice *v)
{
    uint32_t tiles = ss_graph_arch(a->c->graph)->tiles, number = a->c->lowered->used_tile[tile];
    struct owner_tiles s = owner_tiles_of(a, o);
    uint64_t each = (s.bytes + tiles - 1) / tiles;

    if (s.most > each + each / 4)
        return advise(v,
                      "Spread %s '%s' over more tiles: it sits on %s of %s, with %s bytes on tile "
                      "%u; dealt out evenly it would take %s bytes on each.",
                      category_name(o->category), o->owner, count_text(s.tiles).at,
                      count_text(tiles).at, count_text(o->bytes).at, number, count_text(each).at);
    return advise(v,
                  "%s '%s' lies evenly on %s of %s tiles and takes %s bytes on tile %u: use a "
                  "smaller type, or work on a part of it at a time.",
                  o->category == CATEGORY_CONSTANT ? "Constant" : "Variable", o->owner,
                  count_text(s.tiles).at, count_text(tiles).at, count_text(o->bytes).at, number);
}

static enum emu_status advise_owner(const struct memory_report *a, uint32_t tile,
                                    const struct owner_bytes *o, struct advice *v)
{
    uint32_t number = a->c->lowered->used_tile[tile];

    switch (o->category) {
    case CATEGORY_VARIABLE:
    case CATEGORY_CONSTANT:
        return advise_variable(a, tile, o, v);
    case CATEGORY_MESSAGE_BUFFER:
    case CATEGORY_REARRANGEMENT:
        return advise(
            v,
            "Split '%s' into parts that run one after the other: its temporaries (%s) take "
            "%s bytes on tile %u at the worst moment.",
            o->owner, category_name(o->category), count_text(o->bytes).at, number);
    case CATEGORY_VERTEX_STATE:
    case CATEGORY_WORK_LIST:
        return advise(
            v,
            "Give '%s' fewer vertices, or views with longer runs: its %s takes %s bytes on "
            "tile %u.",
            o->owner, category_name(o->category), count_text(o->bytes).at, number);
    default:
        return EMU_OK; /* code has advice of its own; stacks are small */
    }
}

/* Nothing is large by itself: says how many things are in use at once, and when. */
static enum emu_status advise_small_owners(const struct memory_report *a, uint32_t tile,
                                           size_t owners, struct advice *v)
{
    const struct tile_place *p = &a->c->place.tile[tile];
    char moment[160];

    describe_step(a->c->lowered, p->peak_step, moment, sizeof(moment));
    return advise(v,
                  "Nothing on tile %u is large by itself: at %s, %s bytes of %s owners are in use. "
                  "Use more tiles (%s of %s are used), or let fewer results live until then.",
                  a->c->lowered->used_tile[tile], moment, count_text(p->peak_bytes).at,
                  count_text(owners).at, count_text(a->tiles).at,
                  count_text(ss_graph_arch(a->c->graph)->tiles).at);
}

static enum emu_status advise_owners(const struct memory_report *a, uint32_t tile, struct advice *v)
{
    uint64_t least = ss_graph_arch(a->c->graph)->mem_bytes / OWNER_SHARE;
    struct owner_bytes *owner;
    unsigned named = 0;
    size_t n, before;
    enum emu_status s = memory_report_owners(a, tile, &owner, &n);

    TRY(s);
    for (size_t i = 0; i < n && owner[i].bytes >= least && named < OWNERS_NAMED && s == EMU_OK;
         i++) {
        before = v->line.count;
        s = advise_owner(a, tile, &owner[i], v);
        named += v->line.count > before;
    }
    ss_free(owner);
    if (s == EMU_OK && !named)
        s = advise_small_owners(a, tile, n, v);
    return s;
}

/* ---- the machine ---- */

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* The most bytes of region 0 a tile asks for: code, and objects that must lie there. */
static uint64_t region0_need(const struct memory_report *a)
{
    const struct lowered *l = a->c->lowered;
    const struct arch *arch = ss_graph_arch(a->c->graph);
    uint64_t top = (uint64_t)arch->mem_base + arch->mem_bytes, most = 0;

    for (uint32_t t = 0; t < a->tiles; t++) {
        uint64_t need = a->c->place.tile[t].code_need, objects = 0;
        int after = need > arch->region0_bytes;

        for (size_t i = a->first[t]; i < a->first[t + 1]; i++) {
            const struct object *o = &l->object.at[a->object[i]];

            objects += o->region == REGION0 ? o->bytes : 0;
            after |= o->region == REGION0 && o->addr >= top;
        }
        if (after && need + objects > most)
            most = need + objects;
    }
    return most;
}

static enum emu_status advise_machine(const struct memory_report *a, struct advice *v)
{
    struct arch arch = *ss_graph_arch(a->c->graph);
    uint64_t need = ss_compiled_need_bytes(a->c), region0 = region0_need(a), group, bytes;

    group = (uint64_t)arch_region1_interleave(&arch) * arch.element_bytes;
    region0 =
        region0 > arch.region0_bytes ? round_up(region0, arch.element_bytes) : arch.region0_bytes;
    bytes = region0 + round_up(need > region0 ? need - region0 : 0, group);
    if (bytes < arch.mem_bytes)
        bytes = region0 + round_up(arch.mem_bytes - region0, group);
    if (bytes <= UINT32_MAX) {
        uint32_t before = arch.region0_bytes;

        arch.mem_bytes = (uint32_t)bytes;
        arch.region0_bytes = (uint32_t)region0;
        if (ss_arch_check(&arch) == EMU_OK && region0 != before)
            return advise(v,
                          "A machine with more memory: --set region0_bytes=%u --set mem_bytes=%u "
                          "(%s and %s bytes).",
                          arch.region0_bytes, arch.mem_bytes, count_text(region0).at,
                          count_text(bytes).at);
        if (ss_arch_check(&arch) == EMU_OK)
            return advise(v, "A machine with more memory: --set mem_bytes=%u (%s bytes, now %s).",
                          arch.mem_bytes, count_text(bytes).at,
                          count_text(ss_graph_arch(a->c->graph)->mem_bytes).at);
    }
    return advise(v,
                  "No setting of mem_bytes helps: %s bytes on one tile are more than %u bits of an "
                  "address reach.",
                  count_text(need).at, arch_address_bits(&arch));
}

/* ---- all of it ---- */

/* More than all tiles have together: then no placement helps, and that is the news. */
static enum emu_status advise_total(const struct memory_report *a, struct advice *v)
{
    const struct arch *arch = ss_graph_arch(a->c->graph);
    uint64_t need = 0, memory = (uint64_t)arch->tiles * arch->mem_bytes;

    for (uint32_t t = 0; t < a->tiles; t++)
        need += a->c->place.tile[t].need_bytes;
    if (need <= memory)
        return EMU_OK;
    return advise(
        v,
        "The program is too large for this machine: its tiles need %s bytes together, "
        "%.1f times the %s bytes of all tiles. Make it smaller (fewer elements at a time, "
        "a smaller batch), or use a machine with more tiles or memory.",
        count_text(need).at, (double)need / (double)memory, count_text(memory).at);
}

static enum emu_status advise_balance(const struct memory_report *a, uint32_t tile,
                                      struct advice *v)
{
    const struct arch *arch = ss_graph_arch(a->c->graph);
    const struct tile_place *p = &a->c->place.tile[tile];
    uint64_t mean = a->used.bytes / arch->tiles;

    if (p->peak_bytes <= arch->mem_bytes && p->need_bytes > arch->mem_bytes)
        TRY(advise(
            v,
            "At the worst moment only %s bytes are in use on tile %u, which would fit; what "
            "is in use at other times, regions and elements need %s more. Smaller pieces are "
            "easier to place.",
            count_text(p->peak_bytes).at, a->c->lowered->used_tile[tile],
            count_text(p->need_bytes - p->peak_bytes).at));
    if (mean < arch->mem_bytes / 4 * 3)
        TRY(advise(
            v,
            "The load is uneven: over all %s tiles of the chip the mean is %s bytes, %.0f %% "
            "of the memory; move work and variables from the fullest tiles to others.",
            count_text(arch->tiles).at, count_text(mean).at,
            100.0 * (double)mean / arch->mem_bytes));
    return EMU_OK;
}

enum emu_status shortage_advice(const struct memory_report *a, struct advice *out)
{
    const struct arch *arch = ss_graph_arch(a->c->graph);
    uint32_t worst = a->fullest[0];

    *out = (struct advice){ 0 };
    if (!a->over)
        return EMU_OK;
    if (a->c->advice) {
        for (size_t i = 0; i < a->c->advices; i++)
            TRY(advise(out, "%s", a->c->advice[i]));
        return EMU_OK;
    }
    TRY(advise_total(a, out));
    if (ss_compiled_code_bytes(a->c) > arch->region0_bytes)
        TRY(advise_code(a, out));
    if (a->c->place.tile[worst].need_bytes > arch->mem_bytes) {
        uint64_t exchange = a->tile[worst].peak[CATEGORY_EXCHANGE_CODE];
        uint64_t code = a->c->place.tile[worst].code_bytes;
        uint64_t missing = a->c->place.tile[worst].need_bytes - arch->mem_bytes;
        int matters = exchange >= arch->mem_bytes / OWNER_SHARE && code <= arch->region0_bytes;
        int will_do = a->c->target == EXCHANGE_CYCLES && exchange / CODE_SAVED >= missing;

        /* An option that is likely to be enough comes before changes of the program. */
        if (matters && will_do)
            TRY(advise_exchange_code(a, worst, exchange, code, out));
        TRY(advise_owners(a, worst, out));
        TRY(advise_balance(a, worst, out));
        if (matters && !will_do)
            TRY(advise_exchange_code(a, worst, exchange, code, out));
    }
    return advise_machine(a, out);
}

/* ---- table of tiles ---- */

static int compare_over(const void *x, const void *y)
{
    const struct over_tile *a = x, *b = y;

    if (a->need_bytes != b->need_bytes)
        return a->need_bytes > b->need_bytes ? -1 : 1;
    if (a->long_code != b->long_code)
        return a->long_code > b->long_code ? -1 : 1;
    return a->tile < b->tile ? -1 : a->tile > b->tile;
}

struct over_tile *shortage_tiles(const struct memory_report *a)
{
    struct over_tile *o = emu_alloc((size_t)a->over + 1, sizeof(*o));
    uint32_t n = 0;

    for (uint32_t t = 0; o && t < a->tiles; t++) {
        const struct tile_place *p = &a->c->place.tile[t];
        uint64_t region0 = ss_graph_arch(a->c->graph)->region0_bytes;

        if (!tile_fits(a, t))
            o[n++] = (struct over_tile){ t, p->need_bytes, p->code_need,
                                         p->code_need > region0 ? p->code_need : 0 };
    }
    if (o)
        qsort(o, n, sizeof(*o), compare_over);
    return o;
}

/* "0-735, 800": n tiles in ascending order. */
static void print_ranges(const struct memory_report *a, const struct over_tile *o, size_t n,
                         FILE *f)
{
    const uint32_t *number = a->c->lowered->used_tile;
    unsigned shown = 0;

    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && number[o[k].tile] == number[o[k - 1].tile] + 1; k++)
            ;
        if (shown == RANGES_SHOWN) {
            fprintf(f, ", and %s more", count_text(n - i).at);
            return;
        }
        fprintf(f, "%s%u", shown++ ? ", " : "", number[o[i].tile]);
        if (k > i + 1)
            fprintf(f, "-%u", number[o[k - 1].tile]);
    }
}

enum emu_status shortage_print_tiles(const struct memory_report *a, FILE *f)
{
    const struct arch *arch = ss_graph_arch(a->c->graph);
    struct over_tile *o = shortage_tiles(a);
    unsigned rows = 0;
    size_t i = 0, k;

    if (!o)
        return FAIL(NO_MEMORY, "the report");
    fprintf(f, "%16s %10s %16s   %s\n", "need, bytes", "of memory", "code at most", "tiles");
    for (; i < a->over && rows < TABLE_ROWS; i = k, rows++) {
        uint64_t code = o[i].code_need;

        for (k = i + 1;
             k < a->over && o[k].need_bytes == o[i].need_bytes && o[k].long_code == o[i].long_code;
             k++)
            code = o[k].code_need > code ? o[k].code_need : code;
        fprintf(f, "%16s %8.1f %% %16s   ", count_text(o[i].need_bytes).at,
                100.0 * (double)o[i].need_bytes / arch->mem_bytes, count_text(code).at);
        print_ranges(a, o + i, k - i, f);
        fputs(o[i].long_code ? "; code is longer than region 0\n" : "\n", f);
    }
    if (i < a->over)
        fprintf(f, "   and %s more tiles that need %s bytes or less\n", count_text(a->over - i).at,
                count_text(o[i].need_bytes).at);
    ss_free(o);
    return EMU_OK;
}
