/* emit_rig.h - programs in the lowered form, written by hand: helpers that fill the structures,
 * five small codelets, addresses one after the other, a model that runs the operations in C, and a
 * machine that runs the image.
 */
#ifndef TESTS_EMIT_RIG_H
#define TESTS_EMIT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/tile/tile_check.h"
#include "programs/emit/emit.h"

enum { RIG_TILES = 16, RIG_STREAM_BYTES = 1 << 16 };

/* What the codelets do; vertex state {address of an object, value or address}. Worker 0 does it
 * all. */
enum rig_codelet {
    RIG_NOTE,       /* t[0]++, t[1] = 33 t[1] + value */
    RIG_NOTE_WORD,  /* the same with the word at the second address */
    RIG_SET,        /* the word = value */
    RIG_ADD,        /* the word += value */
    RIG_NOTE_SUPER, /* as RIG_NOTE, by the supervisor, which leaves $m0 to $m5 with other values */
    RIG_CODELETS
};

struct rig {
    struct graph g;
    struct lowered l;
    struct codelet_code codelets;
    uint32_t codelet[RIG_CODELETS]; /* index in codelet_table */
    struct exchange_schedule *schedule;
    struct placement place;
    struct image *im;
    struct run *run;
    uint32_t **model; /* words of every object; by its number */
    uint8_t *stream_in;
    uint64_t taken; /* bytes of stream_in, by the model */
    uint8_t *stream_out;
    uint64_t given;
    uint64_t steps; /* of the model */
    uint32_t used[RIG_TILES];
    uint32_t index[1472];
    uint8_t group[1472];
};

static const char rig_source[] =
    ".macro NOTE value\n"
    "ld32 $m3, $m1, $mzero, 0\nadd $m3, $m3, 1\nst32 $m3, $m1, $mzero, 0\n"
    "ld32 $m3, $m1, $mzero, 1\nmul $m3, $m3, 33\nadd $m3, $m3, \\value\nst32 $m3, $m1, $mzero, 1\n"
    ".endm\n"
    ".macro BEGIN\n"
    "get $m0, $WSR\nand $m0, $m0, 7\nbrz $m0, 1f\nexitz $mzero\n1:\n"
    "ld32 $m1, $mvertex_base, $mzero, 0\nld32 $m2, $mvertex_base, $mzero, 1\n"
    ".endm\n"
    ".text\n.worker\n"
    "note:\nBEGIN\nNOTE $m2\nexitz $mzero\n"
    "note_word:\nBEGIN\nld32 $m2, $m2, $mzero, 0\nNOTE $m2\nexitz $mzero\n"
    "set:\nBEGIN\nst32 $m2, $m1, $mzero, 0\nexitz $mzero\n"
    "add:\nBEGIN\nld32 $m3, $m1, $mzero, 0\nadd $m3, $m3, $m2\nst32 $m3, $m1, $mzero, 0\n"
    "exitz $mzero\n"
    ".supervisor\n"
    "note_super:\nld32 $m1, $m0, $mzero, 0\nld32 $m2, $m0, $mzero, 1\nNOTE $m2\n"
    "setzi $m0, 1\nsetzi $m1, 3\nsetzi $m2, 5\nsetzi $m3, 7\nsetzi $m4, 9\nsetzi $m5, 11\n"
    "br $lr\n";

/* ---- construction ---- */

/* The k-th codelet of a kind; UINT32_MAX if there are fewer. */
static inline uint32_t rig_kind(enum codelet_kind kind, unsigned k)
{
    for (uint32_t i = 0; i < codelet_count; i++) {
        if (codelet_table[i].kind == kind && k-- == 0)
            return i;
    }
    return UINT32_MAX;
}

/* Gives the codelets of the rig the numbers of real ones of their kind. */
static inline void rig_link_codelets(struct rig *r)
{
    static const char *const name[] = { "note", "note_word", "set", "add", "note_super" };
    struct asm_options o = { .arch = &r->g.arch, .raw = 1 };
    struct codelet_code *c = &r->codelets;
    const struct asm_image *a;
    uint8_t *code;

    assert_int_equal(asm_unit_new(&o, &c->unit), EMU_OK);
    if (asm_unit_add_text(c->unit, "some/where/rig.S", rig_source, strlen(rig_source)) != EMU_OK ||
        asm_unit_link(c->unit, NULL) != EMU_OK) {
        asm_diag_print(c->unit, stderr);
        fail();
    }
    a = asm_unit_image(c->unit);
    c->addr = r->g.arch.mem_base;
    for (size_t i = 0; i < a->section_count; i++) {
        if (a->section[i].size)
            c->bytes = a->section[i].addr + a->section[i].size - c->addr;
    }
    code = emu_alloc(c->bytes, 1);
    c->entry = emu_alloc(codelet_count, sizeof(*c->entry));
    assert_true(code && c->entry);
    for (size_t i = 0; i < a->section_count; i++)
        memcpy(code + (a->section[i].addr - c->addr), a->section[i].bytes, a->section[i].size);
    c->code = code;
    for (unsigned k = 0; k < RIG_CODELETS; k++) {
        r->codelet[k] =
            k == RIG_NOTE_SUPER ? rig_kind(CODELET_SUPERVISOR, 0) : rig_kind(CODELET_MULTI, k);
        if (r->codelet[k] == UINT32_MAX && k == RIG_NOTE_SUPER) { /* the table has none */
            r->codelet[k] = r->codelet[RIG_NOTE];
            continue;
        }
        assert_int_not_equal(r->codelet[k], UINT32_MAX);
        c->entry[r->codelet[k]] = (uint32_t)asm_symbol_find(a, name[k])->value;
    }
}

/* tiles: how many of the machine are used, `step` apart from number 0 on; those from `other` on are
 * in group 1. */
static inline void rig_new(struct rig *r, const char *machine, uint32_t tiles, uint32_t step,
                           uint32_t other)
{
    memset(r, 0, sizeof(*r));
    r->g.arch = *arch_preset(machine);
    r->g.group = r->group;
    r->l.graph = &r->g;
    r->l.used_tile = r->used;
    r->l.used_tiles = tiles;
    r->l.tile_index = r->index;
    memset(r->index, 0xff, sizeof(r->index));
    for (uint32_t i = 0; i < tiles; i++) {
        r->used[i] = step * i;
        r->index[step * i] = i;
        r->group[step * i] = i >= other;
        r->l.groups |= 1ull << (i >= other);
    }
    assert_int_equal(strings_id(&r->l.strings, ""), 0);
    assert_int_equal(VEC_PUSH(&r->l.live_set, (struct live_set){ 0, 0 }), EMU_OK);
    rig_link_codelets(r);
}

static inline uint32_t rig_text(struct rig *r, const char *text)
{
    return strings_id(&r->l.strings, text);
}

/* An object of a tile (index in used_tile), always alive. */
static inline uint32_t rig_object(struct rig *r, uint32_t tile, uint32_t words,
                                  enum category category, const char *owner, const uint32_t *data)
{
    struct object o = { .tile = r->used[tile],
                        .bytes = 4 * words,
                        .align = 4,
                        .category = (uint8_t)category,
                        .owner = rig_text(r, owner),
                        .data = data };

    assert_int_equal(VEC_PUSH(&r->l.object, o), EMU_OK);
    return (uint32_t)r->l.object.count - 1;
}

/* A vertex state: the address of an object, then a value or the address of a word of another one.
 */
static inline uint32_t rig_state(struct rig *r, uint32_t tile, uint32_t object,
                                 struct object_word second)
{
    uint32_t o = rig_object(r, tile, 2, CATEGORY_VERTEX_STATE, "state", NULL);

    r->l.object.at[o].word = (uint32_t)r->l.word.count;
    r->l.object.at[o].words = 2;
    assert_int_equal(VEC_PUSH(&r->l.word, (struct object_word){ object, 0 }), EMU_OK);
    assert_int_equal(VEC_PUSH(&r->l.word, second), EMU_OK);
    return o;
}

/* Appends an operation; count and first of its list are filled in as entries are added. */
static inline struct op *rig_op(struct rig *r, enum op_kind kind, uint64_t groups, const char *name)
{
    struct op o = { .kind = kind, .groups = groups, .name = rig_text(r, name) };

    o.first = (uint32_t)(kind == OP_CALLS      ? r->l.call.count
                         : kind == OP_EXCHANGE ? r->l.transfer.count
                                               : r->l.host_request.count);
    assert_int_equal(VEC_PUSH(&r->l.op, o), EMU_OK);
    return &r->l.op.at[r->l.op.count - 1];
}

static inline struct op *rig_repeat(struct rig *r, uint64_t groups, uint32_t times)
{
    struct op *o = rig_op(r, OP_REPEAT, groups, "repeat");

    o->n = times;
    return o;
}

static inline struct op *rig_end(struct rig *r, uint64_t groups)
{
    return rig_op(r, OP_END, groups, "end");
}

/* A call in the last operation. */
static inline void rig_call(struct rig *r, uint32_t tile, enum rig_codelet c, uint32_t object,
                            struct object_word second)
{
    struct call call = { r->used[tile], r->codelet[c], rig_state(r, tile, object, second) };

    assert_int_equal(VEC_PUSH(&r->l.call, call), EMU_OK);
    r->l.op.at[r->l.op.count - 1].count++;
}

static inline void rig_call_value(struct rig *r, uint32_t tile, enum rig_codelet c, uint32_t object,
                                  uint32_t value)
{
    rig_call(r, tile, c, object, (struct object_word){ LOWERED_NONE, value });
}

/* A transfer in the last operation, to one object; more with rig_dest. */
static inline void rig_dest(struct rig *r, uint32_t object, uint32_t offset)
{
    assert_int_equal(VEC_PUSH(&r->l.transfer_dest, (struct transfer_dest){ object, offset }),
                     EMU_OK);
    r->l.transfer.at[r->l.transfer.count - 1].dests++;
}

static inline void rig_transfer(struct rig *r, uint32_t from, uint32_t offset, uint32_t bytes)
{
    struct transfer t = { from, offset, bytes, (uint32_t)r->l.transfer_dest.count, 0 };

    assert_int_equal(VEC_PUSH(&r->l.transfer, t), EMU_OK);
    r->l.op.at[r->l.op.count - 1].count++;
}

static inline void rig_request(struct rig *r, uint32_t tile, uint32_t round, uint32_t stream,
                               uint32_t object, uint32_t offset, uint32_t bytes)
{
    struct host_request h = { r->used[tile], round, stream, object, offset, bytes };

    assert_int_equal(VEC_PUSH(&r->l.host_request, h), EMU_OK);
    r->l.op.at[r->l.op.count - 1].count++;
}

/* The operations since the last function, or the start, become a function. */
static inline void rig_function(struct rig *r, const char *name)
{
    struct lowered_function f = { .name = rig_text(r, name) };

    if (r->l.function.count) {
        const struct lowered_function *last = &r->l.function.at[r->l.function.count - 1];

        f.first = last->first + last->count;
    }
    f.count = (uint32_t)r->l.op.count - f.first;
    assert_int_equal(VEC_PUSH(&r->l.function, f), EMU_OK);
}

/* Streams 0 (to the tiles) and 1 (to the host). */
static inline void rig_streams(struct rig *r)
{
    static const struct stream in = { "numbers", STREAM_IN, ELEM_U32, 1, 1 };
    static const struct stream out = { "results", STREAM_OUT, ELEM_U32, 1, 1 };

    assert_int_equal(VEC_PUSH(&r->g.stream, in), EMU_OK);
    assert_int_equal(VEC_PUSH(&r->g.stream, out), EMU_OK);
    r->stream_in = emu_alloc(RIG_STREAM_BYTES, 1);
    r->stream_out = emu_alloc(RIG_STREAM_BYTES, 1);
    for (uint32_t i = 0; i < RIG_STREAM_BYTES; i++)
        r->stream_in[i] = (uint8_t)(i * 7 + (i >> 8));
}

/* ---- compilation ---- */

static inline void rig_schedule_op(struct rig *r, uint32_t op)
{
    const struct lowered *l = &r->l;
    const struct op *o = &l->op.at[op];
    struct message *m = emu_alloc(o->count + 1, sizeof(*m));
    struct message_dest *d = emu_alloc(l->transfer_dest.count + 1, sizeof(*d));
    struct exchange_problem p = { &r->g.arch, m, o->count, d, l->transfer_dest.count };

    assert_true(m && d);
    for (uint32_t i = 0; i < l->transfer_dest.count; i++) {
        const struct transfer_dest *t = &l->transfer_dest.at[i];

        d[i] = (struct message_dest){ l->object.at[t->object].tile, { t->object, t->offset } };
    }
    for (uint32_t i = 0; i < o->count; i++) {
        const struct transfer *t = &l->transfer.at[o->first + i];

        m[i] = (struct message){
            l->object.at[t->object].tile, t->bytes / 4, { t->object, t->offset }, t->first, t->dests
        };
    }
    if (exchange_schedule(&p, EXCHANGE_CYCLES, &r->schedule[op]) != EMU_OK)
        fail_msg("%s", emu_error());
    emu_free(m);
    emu_free(d);
}

static inline struct emit_input rig_input(const struct rig *r)
{
    return (struct emit_input){ &r->l, &r->codelets, r->schedule };
}

/* Schedules, measures, gives addresses from the top of the memory down. */
static inline void rig_place(struct rig *r, unsigned threads)
{
    const struct arch *a = &r->g.arch;
    uint32_t bytes[RIG_TILES], top[RIG_TILES];
    struct emit_input in;

    r->schedule = emu_alloc(r->l.op.count + 1, sizeof(*r->schedule));
    for (uint32_t i = 0; i < r->l.op.count; i++) {
        if (r->l.op.at[i].kind == OP_EXCHANGE)
            rig_schedule_op(r, i);
    }
    in = rig_input(r);
    if (emit_measure(&in, threads, bytes) != EMU_OK)
        fail_msg("%s", emu_error());
    r->place.tile = emu_alloc(r->l.used_tiles, sizeof(*r->place.tile));
    r->place.tiles = r->l.used_tiles;
    r->place.fits = 1;
    for (uint32_t i = 0; i < r->l.used_tiles; i++) {
        r->place.tile[i].code_bytes = bytes[i];
        top[i] = a->mem_base + a->mem_bytes;
    }
    for (size_t i = 0; i < r->l.object.count; i++) {
        struct object *o = &r->l.object.at[i];
        uint32_t *t = &top[r->index[o->tile]];

        *t = (*t - o->bytes) / o->align * o->align;
        o->addr = *t;
        assert_true(*t >= a->mem_base + bytes[r->index[o->tile]]);
    }
}

static inline void rig_emit(struct rig *r, unsigned threads)
{
    struct emit_input in = rig_input(r);

    if (emit_image(&in, &r->place, threads, &r->im) != EMU_OK)
        fail_msg("%s", emu_error());
}

static inline void rig_free(struct rig *r)
{
    run_free(r->run);
    image_free(r->im);
    for (size_t i = 0; r->schedule && i < r->l.op.count; i++)
        exchange_schedule_free(&r->schedule[i]);
    emu_free(r->schedule);
    emu_free(r->place.tile);
    for (size_t i = 0; r->model && i < r->l.object.count; i++)
        emu_free(r->model[i]);
    emu_free(r->model);
    emu_free(r->stream_in);
    emu_free(r->stream_out);
    asm_unit_free(r->codelets.unit);
    emu_free((void *)r->codelets.code);
    emu_free(r->codelets.entry);
    strings_free(&r->l.strings);
    VEC_FREE(&r->g.stream);
    VEC_FREE(&r->l.object);
    VEC_FREE(&r->l.word);
    VEC_FREE(&r->l.live_set);
    VEC_FREE(&r->l.live_range);
    VEC_FREE(&r->l.op);
    VEC_FREE(&r->l.function);
    VEC_FREE(&r->l.call);
    VEC_FREE(&r->l.transfer);
    VEC_FREE(&r->l.transfer_dest);
    VEC_FREE(&r->l.host_request);
    VEC_FREE(&r->l.predicate);
}

/* ---- model ---- */

enum { MODEL_GOES_ON, MODEL_BREAKS };

static inline void model_new(struct rig *r)
{
    const struct lowered *l = &r->l;

    r->model = emu_alloc(l->object.count + 1, sizeof(*r->model));
    for (size_t i = 0; i < l->object.count; i++) {
        const struct object *o = &l->object.at[i];

        r->model[i] = emu_alloc(o->bytes / 4 + 1, 4);
        if (o->data)
            memcpy(r->model[i], o->data, o->bytes);
    }
}

static inline void model_call(struct rig *r, const struct call *c)
{
    const struct object_word *w = &r->l.word.at[r->l.object.at[c->state].word];
    uint32_t *t = r->model[w[0].object];
    uint32_t value =
        w[1].object == LOWERED_NONE ? w[1].value : r->model[w[1].object][w[1].value / 4];

    if (c->codelet == r->codelet[RIG_SET]) {
        t[0] = value;
    } else if (c->codelet == r->codelet[RIG_ADD]) {
        t[0] += value;
    } else {
        t[0]++;
        t[1] = 33 * t[1] + value;
    }
}

/* All words are read before any is stored; here no transfer reads what another one writes. */
static inline void model_transfer(struct rig *r, const struct transfer *t)
{
    for (uint32_t i = t->first; i < t->first + t->dests; i++) {
        const struct transfer_dest *d = &r->l.transfer_dest.at[i];

        memcpy((uint8_t *)r->model[d->object] + d->offset,
               (uint8_t *)r->model[t->object] + t->offset, t->bytes);
    }
}

static inline void model_host(struct rig *r, const struct op *o)
{
    const struct host_request *h = &r->l.host_request.at[o->first];
    uint64_t done = 0;

    for (uint32_t round = 0; done < o->count; round++) {
        for (uint64_t i = 0; i < o->count; i++) {
            uint8_t *data = (uint8_t *)r->model[h[i].object] + h[i].offset;

            if (h[i].round != round)
                continue;
            if (h[i].stream == 0) {
                memcpy(data, r->stream_in + r->taken, h[i].bytes);
                r->taken += h[i].bytes;
            } else {
                memcpy(r->stream_out + r->given, data, h[i].bytes);
                r->given += h[i].bytes;
            }
            assert_true(r->taken <= RIG_STREAM_BYTES && r->given <= RIG_STREAM_BYTES);
            done++;
        }
    }
}

static inline uint32_t model_skip(const struct rig *r, uint32_t i, enum op_kind until)
{
    for (uint32_t open = 0;; i++) {
        enum op_kind k = r->l.op.at[i].kind;

        if (!open && k == until)
            return i;
        open += k == OP_REPEAT || k == OP_LOOP || k == OP_IF;
        open -= k == OP_END;
    }
}

static inline uint32_t model_predicate(const struct rig *r, const struct op *o)
{
    uint32_t tile = 0;

    while (!(o->groups >> r->group[r->used[tile]] & 1))
        tile++;
    return r->model[r->l.predicate.at[o->predicate + tile]][0];
}

static inline int model_run(struct rig *r, uint32_t i, uint32_t end);

/* A construct that begins at *i, which moves behind it. */
static inline int model_construct(struct rig *r, uint32_t *i)
{
    const struct op *o = &r->l.op.at[*i];
    uint32_t first = *i + 1, other, end;
    int result = MODEL_GOES_ON;

    if (o->kind == OP_IF) {
        other = model_skip(r, first, OP_ELSE);
        end = model_skip(r, other + 1, OP_END);
        result = model_predicate(r, o) ? model_run(r, first, other) : model_run(r, other + 1, end);
    } else {
        end = model_skip(r, first, OP_END);
        for (uint32_t k = 0; (o->kind == OP_LOOP || k < o->n) && result == MODEL_GOES_ON; k++)
            result = model_run(r, first, end);
        if (o->kind == OP_LOOP)
            result = MODEL_GOES_ON;
    }
    *i = end + 1;
    return result;
}

/* Runs operations [i, end) of all groups. */
static inline int model_run(struct rig *r, uint32_t i, uint32_t end)
{
    const struct lowered *l = &r->l;

    while (i < end) {
        const struct op *o = &l->op.at[i];
        const struct lowered_function *f;

        r->steps++;
        switch (o->kind) {
        case OP_REPEAT:
        case OP_LOOP:
        case OP_IF:
            if (model_construct(r, &i) == MODEL_BREAKS)
                return MODEL_BREAKS;
            continue;
        case OP_BREAK:
            if (!model_predicate(r, o))
                return MODEL_BREAKS;
            break;
        case OP_CALL:
            f = &l->function.at[o->n];
            (void)model_run(r, f->first, f->first + f->count);
            break;
        case OP_HOST:
            model_host(r, o);
            break;
        default:
            for (uint64_t k = 0; k < o->count && o->kind == OP_CALLS; k++)
                model_call(r, &l->call.at[o->first + k]);
            for (uint64_t k = 0; k < o->count && o->kind == OP_EXCHANGE; k++)
                model_transfer(r, &l->transfer.at[o->first + k]);
        }
        i++;
    }
    return MODEL_GOES_ON;
}

/* ---- machine ---- */

static inline struct tile *rig_tile(struct rig *r, uint32_t tile)
{
    return machine_tile(r->run->machine, r->used[tile]);
}

static inline uint32_t rig_word(struct rig *r, uint32_t object, uint32_t word)
{
    const struct object *o = &r->l.object.at[object];
    uint32_t v = 0;

    assert_true(tile_read(machine_tile(r->run->machine, o->tile), o->addr + 4 * word, &v, 4));
    return v;
}

/* Runs the program `times` times with checks on; nothing is reported. */
static inline void rig_run(struct rig *r, unsigned threads, uint64_t times)
{
    struct run_options o = {
        .threads = threads, .check = 1, .runs = times - 1, .max_cycles = 100000000
    };

    assert_int_equal(run_new(r->im, &o, &r->run), EMU_OK);
    if (r->stream_in) {
        uint8_t *data = emu_alloc(RIG_STREAM_BYTES, 1);

        memcpy(data, r->stream_in, RIG_STREAM_BYTES);
        assert_int_equal(run_stream_data(r->run, 0, data, RIG_STREAM_BYTES, 0), EMU_OK);
        assert_int_equal(run_stream_file(r->run, 1, NULL, 0), EMU_OK);
    }
    assert_int_equal(run_execute(r->run), EMU_OK);
    if (r->run->stop == MACHINE_FAULT) {
        struct machine_fault f = machine_fault(r->run->machine);

        fail_msg("tile %u, 0x%x: %s", f.tile, f.fault->pc, f.fault->detail);
    }
    if (r->run->stop != MACHINE_HOST)
        fail_msg("stop %d: %s", r->run->stop, r->run->error ? r->run->error : "");
    for (uint32_t i = 0; i < r->l.used_tiles; i++) {
        const struct tile *t = rig_tile(r, i);

        if (tile_check_count(t))
            fail_msg("tile %u: %s at pc 0x%x, address 0x%x", r->used[i],
                     tile_check_name(tile_check_report(t, 0)->kind), tile_check_report(t, 0)->pc,
                     tile_check_report(t, 0)->addr);
    }
}

/* Runs model and machine, and compares all objects and what the host got. */
static inline void rig_compare(struct rig *r, unsigned threads, uint64_t times)
{
    model_new(r);
    for (uint64_t i = 0; i < times; i++)
        (void)model_run(r, 0, r->l.function.at[0].count);
    rig_run(r, threads, times);
    for (uint32_t i = 0; i < r->l.object.count; i++) {
        const struct object *o = &r->l.object.at[i];

        for (uint32_t k = 0; k < o->bytes / 4 && !o->words; k++) {
            if (rig_word(r, i, k) != r->model[i][k])
                fail_msg("tile %u, object %u (%s), word %u: 0x%x, expected 0x%x", o->tile, i,
                         strings_text(&r->l.strings, o->owner), k, rig_word(r, i, k),
                         r->model[i][k]);
        }
    }
    if (r->stream_in) {
        size_t bytes;
        const uint8_t *got = host_stream_bytes(r->run->host, 1, &bytes);

        assert_int_equal(bytes, r->given);
        if (bytes)
            assert_memory_equal(got, r->stream_out, bytes);
    }
}

/* A place for notes of a tile. */
static inline uint32_t rig_notes(struct rig *r, uint32_t tile)
{
    static const uint32_t none[2] = { 1, 2 };

    return rig_object(r, tile, 2, CATEGORY_VARIABLE, "notes", none);
}

/* Ranges and gaps add up to the memory, and everything the compiler put there has a range. */
static inline void rig_check_maps(const struct rig *r)
{
    for (uint32_t i = 0; i < r->l.used_tiles; i++) {
        const struct image_tile *t = image_find_tile(r->im, 0, r->used[i]);
        uint32_t sum = image_category_bytes(r->im, t, 0), gaps = sum;

        assert_int_equal(image_check_map(r->im, t), EMU_OK);
        for (unsigned c = 0; c < CATEGORY_COUNT; c++) {
            uint32_t id = image_find_string(r->im, category_name((enum category)c));

            sum += id == UINT32_MAX ? 0 : image_category_bytes(r->im, t, id);
        }
        assert_int_equal(sum, r->g.arch.mem_bytes);
        for (size_t k = 0; k < r->l.object.count; k++) {
            const struct object *o = &r->l.object.at[k];

            if (o->tile == r->used[i])
                sum -= o->bytes;
        }
        assert_int_equal(sum - r->place.tile[i].code_bytes, gaps);
    }
}

#endif
