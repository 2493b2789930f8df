/* codelet_rig.h - one emulated tile that runs a codelet once and compares all of memory with its C
 * reference, and the cycles with its formula. Driven by codelet_table. Aborts on anything
 * unexpected, saying what was run.
 *
 *     struct codelet_rig *rig = codelet_rig_new("mk2", "copy_16");
 *     struct codelet_case c = codelet_case("random bits for a seed", 1);
 *
 *     c.elements[0] = c.elements[1] = 100;
 *     c.phase[0] = 2;
 *     cycles = codelet_rig_call(rig, &c);
 *     codelet_rig_free(rig);
 *
 * Around each run bytes up to a multiple of 8 are written before the call; what lies beyond is not,
 * so that a codelet that reads it is reported by the checking mode. Nothing but written edges may
 * change anywhere in memory. Every case runs twice: plain and checked, then with the fast paths.
 */
#ifndef CODELET_RIG_H
#define CODELET_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/bsp/barrel.h"
#include "emu/tile/tile_check.h"
#include "programs/codelets/codelet.h"

enum rig_layout {
    RIG_NEAR0, /* one run behind the other in region 0, fields with APART excepted */
    RIG_NEAR1, /* in region 1 */
    RIG_FAR,   /* every run in elements of its own, region 1 */
    RIG_LAYOUTS,
    RIG_FAR0 = RIG_LAYOUTS /* the same in region 0, where only two short runs fit */
};

/* What to run. Indices are fields of the row. */
struct codelet_case {
    const char *what; /* for messages */
    uint64_t seed;    /* of all contents that are not given */
    enum rig_layout layout;
    uint32_t elements[CODELET_MAX_FIELDS]; /* edges; lists: runs; work lists: words */
    uint32_t phase[CODELET_MAX_FIELDS];    /* bytes by which a run lies behind a multiple of 16 */
    uint32_t value[CODELET_MAX_FIELDS];    /* scalars; a F16 in both halves */
    const void *data[CODELET_MAX_FIELDS];  /* contents of edges and work lists; NULL: random */
    /* Lists: elements of each run, and the bytes between the end of one and the next. */
    const uint32_t *run[CODELET_MAX_FIELDS];
    const uint32_t *gap[CODELET_MAX_FIELDS]; /* NULL: 0 */
    uint8_t
        same[CODELET_MAX_FIELDS]; /* 1 + the earlier edge whose memory this one is; 0: its own */
    /* 1 + the earlier edge behind which this one lies, in the same elements if there is room. */
    uint8_t behind[CODELET_MAX_FIELDS];
    uint8_t tame; /* random floats are ordinary numbers near 1 */
    /* SUPERVISOR codelets: by how many cycles the formula may exceed the call. Each launch may end
     * up to workers - 1 cycles earlier than the formula says: its slowest worker need not be the
     * last of its round. 0 stands for one launch. */
    uint32_t slack;
};

/* A run of bytes in the tile and what the reference makes of it. */
struct rig_run {
    uint32_t at, bytes;
    uint8_t *host; /* owned unless shared */
    int shared;
};

struct rig_field {
    struct rig_run *run;      /* owned */
    struct codelet_run *list; /* owned: of lists */
    uint32_t runs, table;     /* address of a list's table */
};

struct codelet_rig {
    struct arch arch;
    const struct codelet *codelet;
    struct codelet_code code;
    struct code_cache *cache;
    struct tile *tile;
    uint8_t *mem, *want; /* memory of the tile; what it shall be afterwards */
    struct barrel barrel;
    uint32_t stub, launch, stop, next[2]; /* next: free address in region 0 and 1 */
    struct codelet_call call;             /* with the data of the last case */
    struct rig_field field[CODELET_MAX_FIELDS];
    uint64_t random;
    /* Of the last case. cycles: of a MULTI codelet as if the slowest worker were the last of its
     * round, which depends on the cycle of the launch. */
    uint64_t cycles, formula;
};

static inline void rig_check(int ok, const struct codelet_rig *r, const struct codelet_case *c,
                             const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s: %s: %s; seed %llu, layout %d", r ? r->codelet->name : "rig",
            c ? c->what : "set-up", what, c ? (unsigned long long)c->seed : 0ull,
            c ? (int)c->layout : 0);
    for (unsigned i = 0; c && i < r->codelet->fields; i++)
        fprintf(stderr, "; %s %u elements, phase %u, value 0x%x", r->codelet->field[i].name,
                c->elements[i], c->phase[i], c->value[i]);
    fprintf(stderr, "; last error: %s\n", emu_error());
    abort();
}

static inline struct codelet_case codelet_case(const char *what, uint64_t seed)
{
    return (struct codelet_case){ .what = what, .seed = seed };
}

static inline uint32_t rig_random(struct codelet_rig *r)
{
    uint64_t z = r->random += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}

/* ---- contents ---- */

static inline uint32_t rig_random_f32(struct codelet_rig *r, int tame)
{
    static const uint32_t special[] = {
        0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
        0x7f800001, 0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff,
        0xff7fffff, 0x3f800000, 0xbf800000, 0x477ff000, 0x33000001
    };
    uint32_t bits = rig_random(r), kind = rig_random(r) % 8;

    if (!tame && kind == 0)
        return special[bits % EMU_COUNT_OF(special)];
    if (!tame && kind == 1)
        return bits;
    return (bits & 0x807fffff) | (tame ? 126 + (bits >> 23 & 1) : 120 + (bits >> 23) % 16) << 23;
}

static inline uint16_t rig_random_f16(struct codelet_rig *r, int tame)
{
    static const uint16_t special[] = { 0,      0x8000, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0x0001,
                                        0x83ff, 0x0400, 0x7bff, 0xfbff, 0x3c00, 0xbc00 };
    uint32_t bits = rig_random(r), kind = rig_random(r) % 8;

    if (!tame && kind == 0)
        return special[bits % EMU_COUNT_OF(special)];
    if (!tame && kind <= 2)
        return (uint16_t)bits;
    return (uint16_t)((bits & 0x83ff) | (14 + (bits >> 16) % 3) << 10);
}

static inline void rig_fill(struct codelet_rig *r, const struct codelet_case *c, enum elem e,
                            uint8_t *out, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i += elem_bytes(e)) {
        uint32_t v = e == ELEM_F32   ? rig_random_f32(r, c->tame)
                     : e == ELEM_F16 ? rig_random_f16(r, c->tame)
                                     : rig_random(r);

        memcpy(out + i, &v, elem_bytes(e));
    }
}

/* ---- the tile ---- */

static inline struct codelet_rig *codelet_rig_new(const char *machine, const char *codelet)
{
    struct codelet_rig *r = calloc(1, sizeof(*r));
    uint8_t *used = calloc(codelet_count, 1);

    r->arch = *arch_preset(machine);
    r->codelet = codelet_find(codelet);
    if (!r->codelet || !used) {
        fprintf(stderr, "rig: no codelet %s\n", codelet);
        abort();
    }
    r->stub = r->arch.mem_base;
    used[r->codelet - codelet_table] = 1;
    rig_check(codelet_link(&r->arch, used, r->arch.mem_base + 64, &r->code) == EMU_OK, r, NULL,
              "link");
    free(used);
    rig_check(code_cache_new(&r->arch, &r->cache) == EMU_OK, r, NULL, "cache");
    r->tile = emu_alloc_aligned(1, sizeof(*r->tile), 64);
    r->mem = calloc(1, r->arch.mem_bytes);
    r->want = calloc(1, r->arch.mem_bytes);
    rig_check(r->tile && r->mem && r->want, r, NULL, "memory");
    return r;
}

static inline void rig_fields_free(struct codelet_rig *r)
{
    for (unsigned i = 0; i < CODELET_MAX_FIELDS; i++) {
        for (uint32_t k = 0; k < r->field[i].runs; k++) {
            if (!r->field[i].run[k].shared)
                free(r->field[i].run[k].host);
        }
        free(r->field[i].run);
        free(r->field[i].list);
    }
    memset(r->field, 0, sizeof(r->field));
}

static inline void codelet_rig_free(struct codelet_rig *r)
{
    rig_fields_free(r);
    if (r->tile->mem)
        tile_free(r->tile);
    emu_free(r->tile);
    free(r->mem);
    free(r->want);
    code_cache_free(r->cache);
    codelet_code_free(&r->code);
    free(r);
}

/* The stub: setzi $m0, entry; setzi $m1, state; runall; sync LOCAL. Or setzi $m0, state; call. */
static inline void rig_stub(struct codelet_rig *r, uint32_t state)
{
    uint32_t entry = r->code.entry[r->codelet - codelet_table];
    int multi = r->codelet->kind == CODELET_MULTI;
    struct insn in[4] = {
        { .op = OP_setzi_m, .d = 0, .i = (int32_t)(multi ? entry : state) },
        { .op = OP_setzi_m, .d = 1, .i = (int32_t)state },
        { .op = OP_call, .d = 10, .i = (int32_t)entry },
        { .op = OP_sync, .i = SYNC_LOCAL },
    };
    unsigned count = multi ? 4 : 3;

    if (multi)
        in[2] = (struct insn){ .op = OP_runall, .a = 0, .b = 1 };
    for (unsigned i = 0; i < count; i++) {
        uint32_t word[2];

        rig_check(isa_encode(&in[i], word) == 1, r, NULL, "stub");
        rig_check(tile_write(r->tile, r->stub + 4 * i, word, 4), r, NULL, "stub");
    }
    r->stop = r->stub + 4 * count;
}

/* ---- placement ---- */

static inline uint32_t rig_region1(const struct codelet_rig *r)
{
    return r->arch.mem_base + r->arch.region0_bytes;
}

/* Bytes of memory in a region at a multiple of `align`, plus phase; always some bytes that nobody
 * writes before. */
static inline uint32_t rig_place(struct codelet_rig *r, const struct codelet_case *c, int region,
                                 uint32_t align, uint32_t phase, uint32_t bytes)
{
    uint32_t at = (r->next[region] + 16 + align - 1) / align * align + phase;
    uint32_t end = region ? r->arch.mem_base + r->arch.mem_bytes : rig_region1(r);

    rig_check(at + bytes + 16 <= end, r, c, "the case does not fit into the tile");
    r->next[region] = at + bytes;
    return at;
}

static inline int rig_field_apart(const struct codelet *c, unsigned field)
{
    for (unsigned i = 0; i < c->fields; i++) {
        if (c->field[i].kind == FIELD_APART && (!strcmp(c->field[i].name, c->field[field].name) ||
                                                !strcmp(c->field[i].other, c->field[field].name)))
            return 1;
    }
    return 0;
}

static inline void rig_place_run(struct codelet_rig *r, const struct codelet_case *c, unsigned i,
                                 struct rig_run *run, uint32_t bytes)
{
    const struct codelet_field *f = &r->codelet->field[i];
    int region = f->region == REGION1 ||
                 (f->region == ANY && (c->layout == RIG_NEAR1 || c->layout == RIG_FAR));
    int apart = c->layout >= RIG_FAR || rig_field_apart(r->codelet, i);
    uint32_t align = apart ? 2 * r->arch.element_bytes : 16;

    run->bytes = bytes;
    if (c->behind[i]) {
        const struct rig_run *before = &r->field[c->behind[i] - 1].run[0];

        run->at = (before->at + before->bytes + 31) / 16 * 16 + c->phase[i];
        return;
    }
    run->at = rig_place(r, c, region, align, c->phase[i], bytes);
    /* A run that is far from all others keeps the rest of its elements. */
    if (apart)
        r->next[region] = (r->next[region] + 2 * align) / align * align;
}

static inline void rig_contents(struct codelet_rig *r, const struct codelet_case *c, unsigned i,
                                struct rig_run *run, const void *data)
{
    uint32_t first = run->at & ~7u, last = (run->at + run->bytes + 7) & ~7u;
    uint8_t guard[8];

    if (posix_memalign((void **)&run->host, 16, run->bytes + 16))
        abort();
    if (data && run->bytes)
        memcpy(run->host, data, run->bytes);
    else
        rig_fill(r, c, r->codelet->field[i].elem, run->host, run->bytes);
    for (unsigned k = 0; k < 8; k++)
        guard[k] = (uint8_t)rig_random(r);
    if (run->at != first || !run->bytes)
        tile_write(r->tile, first, guard, 8);
    if (run->at + run->bytes != last)
        tile_write(r->tile, last - 8, guard, 8);
}

static inline void rig_place_list(struct codelet_rig *r, const struct codelet_case *c, unsigned i)
{
    const struct codelet_field *f = &r->codelet->field[i];
    uint32_t runs = c->elements[i], bytes = 0, unit = elem_bytes(f->elem);
    struct rig_field *d = &r->field[i];
    struct rig_run all = { 0 };

    for (uint32_t k = 0; k < runs; k++)
        bytes += c->run[i][k] * unit + (c->gap[i] ? c->gap[i][k] : 0);
    rig_place_run(r, c, i, &all, bytes);
    /* What lies between the runs is written: a word may belong to two of them. */
    for (uint32_t at = all.at & ~7u; at < ((all.at + bytes + 7) & ~7u); at += 4) {
        uint32_t v = rig_random(r);

        tile_write(r->tile, at, &v, 4);
    }
    d->runs = runs;
    d->run = calloc(runs + 1, sizeof(*d->run));
    d->list = calloc(runs + 1, sizeof(*d->list));
    d->table = rig_place(r, c, 0, 8, 0, 8 * runs);
    bytes = 0;
    for (uint32_t k = 0; k < runs; k++) {
        struct rig_run *run = &d->run[k];
        uint32_t row[2] = { all.at + bytes, c->run[i][k] };

        run->at = row[0];
        run->bytes = row[1] * unit;
        if (posix_memalign((void **)&run->host, 16, run->bytes + 16))
            abort();
        rig_fill(r, c, f->elem, run->host, run->bytes);
        d->list[k] = (struct codelet_run){ run->host, row[1] };
        tile_write(r->tile, d->table + 8 * k, row, 8);
        bytes += run->bytes + (c->gap[i] ? c->gap[i][k] : 0);
    }
    r->call.arg[i].list = d->list;
    r->call.arg[i].elements = runs;
}

static inline void rig_place_edge(struct codelet_rig *r, const struct codelet_case *c, unsigned i)
{
    const struct codelet_field *f = &r->codelet->field[i];
    struct rig_field *d = &r->field[i];
    uint32_t bytes = c->elements[i] * (f->kind == FIELD_WORDS ? 4 : elem_bytes(f->elem));

    d->runs = 1;
    d->run = calloc(1, sizeof(*d->run));
    if (c->same[i]) {
        d->run[0] = r->field[c->same[i] - 1].run[0];
        d->run[0].shared = 1;
    } else {
        rig_place_run(r, c, i, &d->run[0], bytes);
        rig_contents(r, c, i, &d->run[0], c->data[i]);
    }
    r->call.arg[i].data = d->run[0].host;
    r->call.arg[i].elements = c->elements[i];
}

/* The word of a field in the vertex state. */
static inline uint32_t rig_word(struct codelet_rig *r, const struct codelet_case *c, unsigned i)
{
    const struct codelet_field *f = &r->codelet->field[i];

    if (field_is_list(f->kind))
        return r->field[i].table;
    if (field_is_edge(f->kind) || f->kind == FIELD_WORDS)
        return r->field[i].run[0].at;
    r->call.arg[i].value = c->value[i];
    if (f->kind == FIELD_LENGTH) {
        int of = codelet_field_find(r->codelet, f->other);

        rig_check(of >= 0, r, c, "a length of no field");
        r->call.arg[i].value = c->elements[of];
    }
    return r->call.arg[i].value;
}

static inline void rig_load(struct codelet_rig *r, const struct codelet_case *c, int check)
{
    uint32_t state, word, code_end = r->code.addr + r->code.bytes;

    rig_fields_free(r);
    memset(&r->call, 0, sizeof(r->call));
    r->call.arch = &r->arch;
    r->random = c->seed;
    if (r->tile->mem)
        tile_free(r->tile);
    memset(r->mem, 0, r->arch.mem_bytes);
    rig_check(tile_init(r->tile, &r->arch, 0, r->mem) == EMU_OK, r, c, "tile");
    /* Weights that nobody loads are NaN. */
    memset(r->tile->weight, 0xff, sizeof(r->tile->weight));
    r->tile->weight_generation++;
    if (check)
        rig_check(tile_check_new(r->tile) == EMU_OK, r, c, "checking mode");
    tile_write(r->tile, r->code.addr, r->code.code, r->code.bytes);
    if (check)
        tile_check_stack(r->tile, TILE_CHECK_GUARD, r->stub, code_end);
    r->next[0] = code_end;
    r->next[1] = rig_region1(r);
    state = rig_place(r, c, 0, 4, 0, codelet_state_bytes(r->codelet));
    for (unsigned i = 0; i < r->codelet->fields; i++) {
        if (field_is_list(r->codelet->field[i].kind))
            rig_place_list(r, c, i);
        else if (field_is_edge(r->codelet->field[i].kind) ||
                 r->codelet->field[i].kind == FIELD_WORDS)
            rig_place_edge(r, c, i);
    }
    for (unsigned i = 0; i < r->codelet->fields; i++) {
        for (uint32_t k = 0; k < r->field[i].runs; k++)
            tile_write(r->tile, r->field[i].run[k].at, r->field[i].run[k].host,
                       r->field[i].run[k].bytes);
        if (r->codelet->field[i].kind != FIELD_APART) {
            word = rig_word(r, c, i);
            tile_write(r->tile, state + (uint32_t)codelet_field_offset(r->codelet, i), &word, 4);
        }
    }
    rig_stub(r, state);
}

/* ---- the call ---- */

static inline void rig_cycles(struct codelet_rig *r, const struct codelet_case *c)
{
    uint64_t slots = 0, cycles = r->barrel.cycle - r->barrel.launch_cycle;

    r->cycles = cycles;
    if (r->codelet->kind == CODELET_SUPERVISOR)
        return;
    for (unsigned w = 0; w < r->arch.workers; w++)
        slots = r->barrel.issued[w] > slots ? r->barrel.issued[w] : slots;
    r->cycles = codelet_multi_cycles(&r->arch, slots);
    rig_check(cycles <= r->cycles && cycles + r->arch.workers > r->cycles, r, c,
              "slots and cycles of the call do not agree");
}

static inline void rig_run(struct codelet_rig *r, const struct codelet_case *c)
{
    enum barrel_stop stop;

    barrel_init(&r->barrel, r->cache, NULL, 0);
    r->tile->pc[LANE_SUPER] = r->stub;
    r->tile->state[LANE_SUPER] = CONTEXT_ACTIVE;
    stop = barrel_run(&r->barrel, r->tile, r->stop, 50000000);
    if (stop == BARREL_FAULT)
        fprintf(stderr, "fault %d at 0x%x, address 0x%x: %s\n", (int)r->tile->fault.kind,
                r->tile->fault.pc, r->tile->fault.addr,
                r->tile->fault.detail ? r->tile->fault.detail : "");
    rig_check(stop == BARREL_HALT, r, c, "the call did not come back");
    rig_cycles(r, c);
}

static inline void rig_compare(struct codelet_rig *r, const struct codelet_case *c)
{
    if (!memcmp(r->mem, r->want, r->arch.mem_bytes))
        return;
    for (uint32_t at = 0, shown = 0; at < r->arch.mem_bytes && shown < 8; at += 4) {
        uint32_t got, want;

        memcpy(&got, r->mem + at, 4);
        memcpy(&want, r->want + at, 4);
        if (got == want)
            continue;
        shown++;
        fprintf(stderr, "  0x%05x: got %08x want %08x", r->arch.mem_base + at, got, want);
        for (unsigned i = 0; i < r->codelet->fields; i++) {
            for (uint32_t k = 0; k < r->field[i].runs; k++) {
                uint32_t off = r->arch.mem_base + at - (r->field[i].run[k].at & ~3u);

                if (off < r->field[i].run[k].bytes + 4)
                    fprintf(stderr, ", byte %u of %s[%u]", off, r->codelet->field[i].name, k);
            }
        }
        fprintf(stderr, "\n");
    }
    rig_check(0, r, c, "memory differs from the reference");
}

static inline void rig_reports(struct codelet_rig *r, const struct codelet_case *c)
{
    size_t count = tile_check_count(r->tile);

    for (size_t i = 0; i < count && i < 8; i++) {
        const struct tile_check_report *p = tile_check_report(r->tile, i);

        fprintf(stderr, "  %s: lane %u pc 0x%x address 0x%x bytes %u\n", tile_check_name(p->kind),
                p->lane, p->pc, p->addr, p->bytes);
    }
    rig_check(!count, r, c, "reports of the checking mode");
}

/* The formula must not look at data. */
static inline void rig_formula(struct codelet_rig *r, const struct codelet_case *c)
{
    struct codelet_call call = r->call;
    uint32_t slack = 0;
    char text[100];

    for (unsigned i = 0; i < r->codelet->fields; i++)
        call.arg[i].data = NULL;
    r->formula = r->codelet->cycles(&call);
    snprintf(text, sizeof(text), "%llu cycles, its formula says %llu",
             (unsigned long long)r->cycles, (unsigned long long)r->formula);
    if (r->codelet->kind == CODELET_SUPERVISOR)
        slack = c->slack ? c->slack : r->arch.workers - 1;
    rig_check(r->cycles <= r->formula, r, c, text);
    rig_check(r->codelet->time == TIME_DATA || r->cycles + slack >= r->formula, r, c, text);
}

/* The reference on host copies; then the image of memory as it shall be. */
static inline void rig_expect(struct codelet_rig *r)
{
    memcpy(r->want, r->mem, r->arch.mem_bytes);
    r->codelet->ref(&r->call);
    for (unsigned i = 0; i < r->codelet->fields; i++) {
        if (!field_is_written(r->codelet->field[i].kind))
            continue;
        for (uint32_t k = 0; k < r->field[i].runs; k++)
            memcpy(r->want + (r->field[i].run[k].at - r->arch.mem_base), r->field[i].run[k].host,
                   r->field[i].run[k].bytes);
    }
}

/* Runs a case, compares everything, and returns the cycles. */
static inline uint64_t codelet_rig_call(struct codelet_rig *r, const struct codelet_case *c)
{
    for (int check = 1; check >= 0; check--) {
        uint64_t before = r->cycles;

        rig_load(r, c, check);
        rig_expect(r);
        rig_run(r, c);
        if (check)
            rig_reports(r, c);
        else
            rig_check(r->cycles == before, r, c, "plain and fast paths differ in cycles");
        rig_compare(r, c);
        rig_formula(r, c);
        tile_check_free(r->tile);
    }
    return r->cycles;
}

/* Address of the run of an edge in the last case. */
static inline uint32_t codelet_rig_at(const struct codelet_rig *r, unsigned field)
{
    return r->field[field].run[0].at;
}

#endif
