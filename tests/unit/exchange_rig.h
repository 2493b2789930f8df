/* exchange_rig.h - a fabric with tiles but without CPUs: tests issue exchange instructions at
 * events they choose.
 */
#ifndef TESTS_EXCHANGE_RIG_H
#define TESTS_EXCHANGE_RIG_H

#include "tests/unit/tile_help.h"

#include <stdlib.h>

#include "emu/exchange/exchange_private.h"

enum { RIG_RELEASE = 1000 };

struct rig {
    struct arch arch;
    struct exchange *x;
    struct tile *tile;
    struct tile **part; /* tiles of the phase; all of them unless a test takes some out */
    uint8_t *mem;
};

/* tiles 0, mem_bytes 0: as the machine has */
static inline void rig_new_sized(struct rig *r, const char *machine, uint32_t tiles,
                                 uint32_t mem_bytes, int check)
{
    struct exchange_options o = { .check = check };

    *r = (struct rig){ .arch = *arch_preset(machine) };
    if (tiles)
        r->arch.tiles = tiles;
    if (mem_bytes)
        r->arch.mem_bytes = r->arch.region0_bytes = mem_bytes;
    assert_int_equal(exchange_new(&r->arch, &o, &r->x), EMU_OK);
    r->tile = aligned_alloc(64, r->arch.tiles * sizeof(*r->tile));
    r->part = calloc(r->arch.tiles, sizeof(*r->part));
    r->mem = calloc(r->arch.tiles, r->arch.mem_bytes);
    assert_non_null(r->tile);
    assert_non_null(r->part);
    assert_non_null(r->mem);
    for (uint32_t i = 0; i < r->arch.tiles; i++) {
        assert_int_equal(
            tile_init(&r->tile[i], &r->arch, i, r->mem + (size_t)i * r->arch.mem_bytes), EMU_OK);
        exchange_attach(r->x, i, &r->tile[i]);
        r->part[i] = &r->tile[i];
    }
}

static inline void rig_new(struct rig *r, const char *machine, uint32_t mem_bytes, int check)
{
    rig_new_sized(r, machine, 0, mem_bytes, check);
}

static inline void rig_free(struct rig *r)
{
    for (uint32_t i = 0; i < r->arch.tiles; i++)
        tile_free(&r->tile[i]);
    exchange_free(r->x);
    free(r->tile);
    free(r->part);
    free(r->mem);
}

static inline enum fault rig_begin_tile(struct rig *r, uint32_t tile)
{
    struct tile *t = &r->tile[tile];

    t->cycle = RIG_RELEASE;
    return exchange_begin(r->x, t, RIG_RELEASE);
}

static inline void rig_begin(struct rig *r)
{
    for (uint32_t i = 0; i < r->arch.tiles; i++)
        assert_int_equal(rig_begin_tile(r, i), FAULT_NONE);
}

/* Issues one instruction; returns what the port does. */
static inline enum fault rig_issue(struct rig *r, uint32_t tile, uint32_t event,
                                   const struct insn *in)
{
    struct tile *t = &r->tile[tile];

    t->cycle = exchange_log_of(r->x, tile)->release + event;
    t->pc[LANE_SUPER] = 0x4c000 + 8 * event;
    return t->exchange->issue(t->exchange, t, in);
}

/* The same through the encoder and the decoder. */
static inline enum fault rig_issue_coded(struct rig *r, uint32_t tile, uint32_t event,
                                         const struct insn *in)
{
    uint32_t word[2] = { 0, 0 };
    struct insn decoded, aux;
    int is_bundle;

    assert_int_equal(isa_encode(in, word), in->op == OP_sendpicp ? 2 : 1);
    assert_int_equal(isa_decode(word, &decoded, &aux, &is_bundle), in->op == OP_sendpicp ? 8 : 4);
    assert_int_equal(decoded.op, in->op);
    return rig_issue(r, tile, event, &decoded);
}

/* Ends the phase of all tiles at an event. */
static inline void rig_recv(struct rig *r, uint32_t event)
{
    for (uint32_t i = 0; i < r->arch.tiles; i++) {
        r->tile[i].cycle = RIG_RELEASE + event;
        assert_int_equal(exchange_recv(r->x, &r->tile[i], event), FAULT_NONE);
    }
}

static inline uint32_t rig_word(const struct rig *r, uint32_t tile, uint32_t addr)
{
    uint32_t v = 0;

    assert_true(tile_read(&r->tile[tile], addr, &v, sizeof(v)));
    return v;
}

static inline void rig_set_word(struct rig *r, uint32_t tile, uint32_t addr, uint32_t v)
{
    assert_true(tile_write(&r->tile[tile], addr, &v, sizeof(v)));
}

/* Instructions. n is the number of words or events, one more than the field; addresses in bytes. */
static inline struct insn in_send(uint32_t n, uint32_t addr, uint32_t ctl)
{
    return (struct insn){ .op = OP_send, .i = (int32_t)n - 1, .j = addr, .k = ctl };
}

static inline struct insn in_sendoff(uint32_t n, uint32_t skip_words, uint32_t ctl)
{
    return (struct insn){ .op = OP_sendoff, .i = (int32_t)n - 1, .j = skip_words, .k = ctl };
}

static inline struct insn in_sendpic_source(uint32_t n, uint32_t source)
{
    return (struct insn){ .op = OP_sendpic, .i = (int32_t)n - 1, .j = 0, .k = source };
}

static inline struct insn in_sendpic_pointer(uint32_t n, uint32_t addr)
{
    return (struct insn){ .op = OP_sendpic, .i = (int32_t)n - 1, .j = 2, .k = addr / 4 };
}

static inline struct insn in_sendpicp(uint32_t n, uint32_t addr, uint32_t ctl, uint32_t source,
                                      uint32_t pointer)
{
    return (struct insn){
        .op = OP_sendpicp, .i = (int32_t)n - 1, .j = addr, .k = ctl, .n = source, .o = pointer / 4
    };
}

static inline struct insn in_delaypic(uint32_t n, uint32_t addr)
{
    return (struct insn){ .op = OP_delaypic, .i = (int32_t)n - 1, .k = addr / 4 };
}

static inline struct insn in_delayxpic(uint32_t n, uint32_t source)
{
    return (struct insn){ .op = OP_delayxpic, .i = (int32_t)n - 1, .k = source };
}

/* --- for tests that are written by hand --- */

enum {
    BASE = 0x4c000,
    NULL_SOURCE = 0x640,
    FROM = BASE + 0x1000, /* what is sent in most tests */
    TO = BASE + 0x2000
};

static inline void issue(struct rig *r, uint32_t tile, uint32_t event, struct insn in)
{
    assert_int_equal(rig_issue_coded(r, tile, event, &in), FAULT_NONE);
}

static inline const struct exchange_phase *resolve(struct rig *r)
{
    const struct exchange_phase *p = NULL;
    enum emu_status s = exchange_resolve(r->x, r->part, &p);

    if (s != EMU_OK)
        fail_msg("%s", emu_error());
    return p;
}

/* A message on a toy machine (T = 10, pointer lag 0), from FROM of tile s to address
 * `to` of tile d. The send and both changes of d must be issued in the order of their events; s and
 * d do nothing else then. */
static inline void toy_message(struct rig *r, uint32_t s, uint32_t d, uint32_t event,
                               uint32_t words, uint32_t to)
{
    issue(r, s, event, in_send(words, FROM, 1));
    issue(r, d, event + 10, in_sendpicp(1, 0, 0, s, to));
    issue(r, d, event + 10 + words, in_delayxpic(1, NULL_SOURCE));
}

#endif
