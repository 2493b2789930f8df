/* test_exchange.c - the fabric by hand: what each instruction logs, phases of a few tiles, every
 * kind of fault planted once.
 */
#include "tests/unit/exchange_rig.h"

#include <stdio.h>

#include "emu/exchange/host_header.h"

enum {
    BASE = 0x4c000,
    NULL_SOURCE = 0x640,
    FROM = BASE + 0x1000, /* what is sent in most tests */
    TO = BASE + 0x2000
};

static void issue(struct rig *r, uint32_t tile, uint32_t event, struct insn in)
{
    assert_int_equal(rig_issue_coded(r, tile, event, &in), FAULT_NONE);
}

static const struct exchange_phase *resolve(struct rig *r)
{
    const struct exchange_phase *p = NULL;
    enum emu_status s = exchange_resolve(r->x, r->part, &p);

    if (s != EMU_OK)
        fail_msg("%s", emu_error());
    return p;
}

/* A message on a toy machine (T = 10, pointer lag 0), from FROM + 4 * skip of tile s to address
 * `to` of tile d. The send and both changes of d must be issued in the order of their events; s and
 * d do nothing else then. */
static void toy_message(struct rig *r, uint32_t s, uint32_t d, uint32_t event, uint32_t words,
                        uint32_t to)
{
    issue(r, s, event, in_send(words, FROM, 1));
    issue(r, d, event + 10, in_sendpicp(1, 0, 0, s, to));
    issue(r, d, event + 10 + words, in_delayxpic(1, NULL_SOURCE));
}

/* --- what is logged
 * --------------------------------------------------------------------------------------------------------------
 */

static void check_send(const struct exchange_log *log, size_t i, uint32_t event, uint32_t addr,
                       uint32_t words, uint32_t ctl)
{
    assert_true(i < log->sends);
    assert_int_equal(log->send[i].event, event);
    assert_int_equal(log->send[i].addr, addr);
    assert_int_equal(log->send[i].words, words);
    assert_int_equal(log->send[i].ctl, ctl);
}

static void test_stream(void **state)
{
    struct exchange_log *log;
    struct rig r;

    (void)state;
    rig_new(&r, "toy4", 0, 0);
    rig_begin(&r);
    log = exchange_log_of(r.x, 1);
    issue(&r, 1, 5, in_send(4, FROM, 1));
    issue(&r, 1, 20, in_sendoff(4096, 2, 3)); /* 2 words further on than the stream stands */
    issue(&r, 1, 5000, in_sendpic_source(3, NULL_SOURCE));
    issue(&r, 1, 6000, in_sendpicp(2, TO, 2, 3, TO + 64));
    issue(&r, 1, 6002, in_sendpic_source(5, NULL_SOURCE)); /* continues: joined */
    issue(&r, 1, 6010, in_sendpicp(7, FROM, 0, NULL_SOURCE, TO));
    issue(&r, 1, 6020, in_sendpic_pointer(9, TO)); /* ctl is 0: sends nothing */
    issue(&r, 1, 6030, in_sendoff(1, 100, 1));
    assert_int_equal(log->sends, 5);
    check_send(log, 0, 5, FROM, 4, 1);
    check_send(log, 1, 20, FROM + 16 + 8, 4096, 3);
    check_send(log, 2, 5000, FROM + 24 + 4 * 4096, 3, 3);
    check_send(log, 3, 6000, TO, 2 + 5, 2);
    check_send(log, 4, 6030, FROM + 4 * (7 + 9 + 100), 1, 1);
    assert_int_equal(log->words_out, 4 + 4096 + 3 + 7 + 1);
    rig_free(&r);
}

static void check_set(const struct exchange_set *s, uint32_t event, uint32_t value, uint32_t issued)
{
    assert_int_equal(s->event, event);
    assert_int_equal(s->value, value);
    assert_int_equal(s->pc, 0x4c000 + 8 * issued);
}

/* send* change a setting at their first event, delay* at their last. */
static void test_settings(void **state)
{
    struct exchange_log *log;
    struct rig r;

    (void)state;
    rig_new(&r, "toy4", 0, 0);
    rig_begin(&r);
    log = exchange_log_of(r.x, 1);
    issue(&r, 1, 0, in_delaypic(1, TO));
    issue(&r, 1, 1, in_delayxpic(4096, 2));
    issue(&r, 1, 5000, in_sendpic_source(3, 3));
    assert_int_equal(r.tile[1].xcsr[XCSR_MUX], 3);
    issue(&r, 1, 5003, in_sendpic_pointer(64, FROM));
    assert_int_equal(r.tile[1].xcsr[XCSR_DELTA], FROM / 4);
    issue(&r, 1, 5100, in_delaypic(128, FROM + 8));
    issue(&r, 1, 5300, in_sendpicp(64, 0, 0, 0, BASE));
    issue(&r, 1, 5400, in_sendpic_source(1, 0)); /* as it is already */
    issue(&r, 1, 5500, in_delayxpic(1, NULL_SOURCE));
    assert_int_equal(log->muxes, 4);
    check_set(&log->mux[0], 4096, 2, 1);
    check_set(&log->mux[1], 5000, 3, 5000);
    check_set(&log->mux[2], 5300, 0, 5300);
    check_set(&log->mux[3], 5500, NULL_SOURCE, 5500);
    assert_int_equal(log->pics, 4);
    check_set(&log->pic[0], 0, TO, 0);
    check_set(&log->pic[1], 5003, FROM, 5003);
    check_set(&log->pic[2], 5227, FROM + 8, 5100);
    check_set(&log->pic[3], 5300, BASE, 5300);
    assert_int_equal(r.tile[1].xcsr[XCSR_MUX], NULL_SOURCE);
    rig_free(&r);
}

static void test_bases(void **state)
{
    const struct exchange_phase *p;
    struct rig r;

    (void)state;
    rig_new(&r, "toy4", 0, 1);
    r.tile[1].xcsr[XCSR_OUT_BASE] = FROM;
    r.tile[2].xcsr[XCSR_IN_BASE] = TO;
    rig_set_word(&r, 1, FROM + 8, 77);
    rig_begin(&r);
    issue(&r, 1, 0, in_send(1, 8, 1));
    issue(&r, 2, 10, in_sendpicp(1, 0, 0, 1, 12));
    issue(&r, 2, 11, in_delayxpic(1, NULL_SOURCE));
    assert_int_equal(r.tile[2].xcsr[XCSR_DELTA], 3);
    rig_recv(&r, 20);
    p = resolve(&r);
    exchange_deliver(p, r.part, 0, 4);
    assert_int_equal(rig_word(&r, 2, TO + 12), 77);
    assert_int_equal(r.tile[2].xcsr[XCSR_DELTA], 4);
    rig_free(&r);
}

/* --- phases
 * -------------------------------------------------------------------------------------------------------------------------
 */

/* As seen on silicon: senders delay 111 - T and send, receivers select the source at event 112. */
static void test_silicon(void **state)
{
    static const uint32_t pair[][2] = {
        { 0, 1 }, { 7, 1300 }, { 1471, 3 }, { 45, 46 }, { 800, 801 }
    };
    const struct exchange_phase *p;
    struct rig r;

    (void)state;
    rig_new(&r, "mk2", 65536, 1);
    rig_begin(&r);
    for (size_t k = 0; k < EMU_COUNT_OF(pair); k++) {
        uint32_t s = pair[k][0], d = pair[k][1], source = arch_tile_physical(&r.arch, s);
        int delay = arch_exchange_delay(&r.arch, source, arch_tile_physical(&r.arch, d));

        rig_set_word(&r, s, FROM, 100 + s);
        issue(&r, s, (uint32_t)(112 - delay), in_send(1, FROM, 3));
        issue(&r, d, 0, in_delaypic(1, TO));
        issue(&r, d, 1, in_delayxpic(112, source));
        issue(&r, d, 113, in_delayxpic(1, NULL_SOURCE));
    }
    rig_recv(&r, 114);
    p = resolve(&r);
    exchange_deliver(p, r.part, 0, r.arch.tiles);
    assert_int_equal(p->copies, EMU_COUNT_OF(pair));
    for (size_t k = 0; k < EMU_COUNT_OF(pair); k++) {
        uint32_t d = pair[k][1], row = arch_tile_physical(&r.arch, d) / 64;

        assert_int_equal(rig_word(&r, d, TO), 100 + pair[k][0]);
        assert_int_equal(p->end_event[d], 112 + 52 + 2 * row);
        assert_int_equal(p->words_in[d], 1);
        assert_int_equal(p->words_out[pair[k][0]], 1);
        assert_int_equal(p->words_out[d], 0);
    }
    rig_free(&r);
}

/* The pointer acts on words that reached the mux pic_lag events earlier: a change 52 events late is
 * in time for row 0. */
static void test_pointer_lag(void **state)
{
    const struct exchange_phase *p;
    uint32_t source, late;
    int delay;
    struct rig r;

    (void)state;
    rig_new(&r, "mk2", 65536, 1);
    source = arch_tile_physical(&r.arch, 4);
    delay = arch_exchange_delay(&r.arch, source, 0); /* logical 0 is physical 0, in row 0 */
    for (late = 51; late <= 53; late++) {
        rig_begin(&r);
        rig_set_word(&r, 4, FROM, 11 + late);
        rig_set_word(&r, 4, FROM + 4, 22 + late);
        issue(&r, 4, (uint32_t)(200 - delay), in_send(2, FROM, 3));
        issue(&r, 0, 0, in_delaypic(1, TO));
        issue(&r, 0, 200, in_delayxpic(1, source));
        issue(&r, 0, 202, in_delayxpic(1, NULL_SOURCE));
        issue(&r, 0, 200 + late, in_delaypic(1, FROM));
        rig_recv(&r, 300);
        p = resolve(&r);
        exchange_deliver(p, r.part, 0, r.arch.tiles);
        assert_int_equal(p->copies, late < 53 ? 1 : 2);
        assert_int_equal(rig_word(&r, 0, late < 53 ? FROM : TO), 11 + late);
        assert_int_equal(rig_word(&r, 0, late < 53 ? FROM + 4 : FROM), 22 + late);
        assert_int_equal(r.tile[0].xcsr[XCSR_DELTA], (FROM + (late < 53 ? 8 : 4)) / 4);
    }
    rig_free(&r);
}

static void test_pointer_persists(void **state)
{
    const struct exchange_phase *p;
    struct rig r;

    (void)state;
    rig_new(&r, "toy4", 0, 1);
    for (uint32_t k = 0; k < 3; k++) {
        rig_set_word(&r, 0, FROM, 50 + k);
        rig_begin(&r);
        issue(&r, 0, 0, in_send(1, FROM, 1));
        if (!k)
            issue(&r, 1, 0, in_delaypic(1, TO));
        issue(&r, 1, 10, in_delayxpic(1, 0));
        issue(&r, 1, 11, in_delayxpic(1, NULL_SOURCE));
        rig_recv(&r, 20);
        p = resolve(&r);
        exchange_deliver(p, r.part, 0, 4);
        assert_int_equal(rig_word(&r, 1, TO + 4 * k), 50 + k);
        assert_int_equal(r.tile[1].xcsr[XCSR_DELTA], (TO + 4 * k + 4) / 4);
    }
    assert_int_equal(exchange_counts(r.x).resolved, 3); /* the pointers differ */
    rig_free(&r);
}

/* Several listeners of one sender, both directions at once; the listeners join and leave when they
 * like. */
static void test_multicast(void **state)
{
    const struct exchange_phase *p;
    struct rig r;

    (void)state;
    rig_new(&r, "mk2", 65536, 1);
    rig_begin(&r);
    for (uint32_t k = 0; k < 64; k++)
        rig_set_word(&r, 100, FROM + 4 * k, 1000 + k);
    issue(&r, 100, 200, in_send(64, FROM, 3));
    for (uint32_t d = 0; d < r.arch.tiles; d++) {
        uint32_t source = arch_tile_physical(&r.arch, 100), skip = d % 60, words = 1 + d % 4, from;

        if (d == 100)
            continue;
        from = 200 + skip +
               (uint32_t)arch_exchange_delay(&r.arch, source, arch_tile_physical(&r.arch, d));
        issue(&r, d, from, in_sendpicp(words, 0, 0, source, TO));
        issue(&r, d, from + words, in_delayxpic(1, NULL_SOURCE));
    }
    rig_recv(&r, 1000);
    p = resolve(&r);
    exchange_deliver(p, r.part, 0, 700);
    exchange_deliver(p, r.part, 700, r.arch.tiles);
    for (uint32_t d = 0; d < r.arch.tiles; d++)
        for (uint32_t k = 0; d != 100 && k < 1 + d % 4; k++)
            assert_int_equal(rig_word(&r, d, TO + 4 * k), 1000 + d % 60 + k);
    rig_free(&r);
}

/* Two tiles swap a block in place: every word is sent before its replacement comes. */
static void test_in_place(void **state)
{
    const struct exchange_phase *p;
    struct rig r;

    (void)state;
    rig_new(&r, "toy4", 0, 1);
    for (uint32_t k = 0; k < 64; k++) {
        rig_set_word(&r, 0, FROM + 4 * k, 100 + k);
        rig_set_word(&r, 1, FROM + 4 * k, 200 + k);
    }
    rig_begin(&r);
    for (uint32_t t = 0; t < 2; t++) {
        issue(&r, t, 0, in_send(10, FROM, 1));
        issue(&r, t, 10, in_sendpicp(54, FROM + 40, 1, 1 - t, FROM));
        issue(&r, t, 74, in_delayxpic(1, NULL_SOURCE));
    }
    rig_recv(&r, 80);
    p = resolve(&r);
    assert_true(p->overlaps);
    assert_int_equal(p->copies, 2);
    exchange_deliver(p, r.part, 0, 4);
    for (uint32_t k = 0; k < 64; k++) {
        assert_int_equal(rig_word(&r, 0, FROM + 4 * k), 200 + k);
        assert_int_equal(rig_word(&r, 1, FROM + 4 * k), 100 + k);
    }
    exchange_gather(p, r.part, 0, 1);
    exchange_gather(p, r.part, 1, 4);
    exchange_store(p, r.part, 1, 4);
    exchange_store(p, r.part, 0, 1);
    assert_int_equal(rig_word(&r, 0, FROM + 4 * 63), 100 + 63);
    rig_free(&r);
}

static void test_written(void **state)
{
    const struct exchange_phase *p;
    struct code_page *some = (struct code_page *)state;
    struct rig r;

    rig_new(&r, "toy4", 0, 1);
    rig_begin(&r);
    toy_message(&r, 0, 1, 0, 8,
                BASE + 0x1000 - 16); /* the last words of one dirty page, the first of the next */
    rig_recv(&r, 80);
    p = resolve(&r);
    memset(r.tile[1].dirty, 0, 16);
    r.tile[1].page[3] = r.tile[1].page[4] = r.tile[1].page[5] = some;
    r.tile[1].code_end = 0x1800;
    exchange_deliver(p, r.part, 0, 4);
    assert_int_equal(r.tile[1].dirty[0], 1);
    assert_int_equal(r.tile[1].dirty[1], 1);
    assert_int_equal(r.tile[1].dirty[2], 0);
    assert_null(r.tile[1].page[3]);
    assert_null(r.tile[1].page[4]);
    assert_non_null(r.tile[1].page[5]);
    memset(r.tile[1].dirty, 0, 16);
    r.tile[1].code_end = 0;
    exchange_deliver(p, r.part, 0, 4);
    assert_int_equal(r.tile[1].dirty[0] + 2 * r.tile[1].dirty[1] + 4 * r.tile[1].dirty[2], 3);
    r.tile[1].page[5] = NULL;
    rig_free(&r);
}

/* Tiles that take no part keep their logs, and do not count as senders. */
static void test_groups(void **state)
{
    const struct exchange_phase *p;
    struct rig r;

    (void)state;
    rig_new(&r, "toy4", 0, 1);
    rig_set_word(&r, 0, FROM, 5);
    rig_set_word(&r, 2, FROM, 6);
    rig_begin(&r);
    toy_message(&r, 0, 1, 0, 1, TO);
    toy_message(&r, 2, 3, 0, 1, TO);
    rig_recv(&r, 80);
    r.part[2] = r.part[3] = NULL;
    p = resolve(&r);
    assert_int_equal(p->copies, 1);
    exchange_deliver(p, r.part, 0, 4);
    r.part[2] = &r.tile[2];
    r.part[3] = &r.tile[3];
    r.part[0] = r.part[1] = NULL;
    p = resolve(&r);
    assert_int_equal(p->copies, 1);
    exchange_deliver(p, r.part, 0, 4);
    assert_int_equal(rig_word(&r, 1, TO), 5);
    assert_int_equal(rig_word(&r, 3, TO), 6);
    rig_free(&r);
}

/* A mux that was put before the phase listens from event 0 on, and the pointer stands where it was
 * put. */
static void test_put_settings(void **state)
{
    const struct exchange_phase *p;
    struct rig r;

    (void)state;
    rig_new(&r, "toy4", 0, 1);
    r.arch.exchange_flat_cycles = 0;
    rig_set_word(&r, 0, FROM + 4, 9);
    r.tile[1].xcsr[XCSR_MUX] = 0;
    r.tile[1].xcsr[XCSR_DELTA] = TO / 4;
    rig_begin(&r);
    issue(&r, 0, 0, in_send(2, FROM, 1));
    issue(&r, 1, 0, in_delayxpic(3, NULL_SOURCE));
    rig_recv(&r, 3);
    p = resolve(&r);
    exchange_deliver(p, r.part, 0, 4);
    assert_int_equal(rig_word(&r, 1, TO + 4), 9);
    r.tile[1].xcsr[XCSR_MUX] = 1;
    assert_int_equal(rig_begin_tile(&r, 1), FAULT_EXERR);
    assert_int_equal(exchange_last_fault(r.x)->kind, EXCHANGE_FAULT_SELF);
    rig_free(&r);
}

/* --- requests to the host, votes
 * --------------------------------------------------------------------------------------------------------
 */

static void test_host_request(void **state)
{
    const struct host_header in = { .stream = 8191, .addr = TO, .bytes = 512, .to_host = 0 };
    const struct host_header out = { .stream = 3, .addr = FROM + 4, .bytes = 8, .to_host = 1 };
    struct exchange_log *log;
    struct insn send = in_send(2, FROM, 4);
    struct rig r;
    uint32_t word[2];

    (void)state;
    rig_new(&r, "toy4", 0, 0);
    log = exchange_log_of(r.x, 0);
    host_header_pack(&in, word);
    assert_true(tile_write(&r.tile[0], FROM, word, 8));
    r.tile[0].state[3] = CONTEXT_ACTIVE; /* outside any phase, workers running */
    issue(&r, 0, 500, send);
    host_header_pack(&out, word);
    assert_true(tile_write(&r.tile[0], FROM, word, 8));
    issue(&r, 0, 600, send);
    rig_set_word(&r, 0, FROM + 4, 0);
    assert_int_equal(log->requests, 2);
    assert_int_equal(log->request[0].cycle, 500);
    assert_int_equal(log->request[0].word[0], TO);
    assert_null(log->request[0].data);
    assert_int_equal(log->request[1].cycle, 600);
    assert_memory_equal(log->request[1].data, &word[1], 4);
    assert_false(log->open || log->sends);
    exchange_take_requests(r.x, 0);
    assert_int_equal(log->requests, 0);
    rig_set_word(&r, 0, FROM, 1u << 30); /* reserved */
    assert_int_equal(rig_issue(&r, 0, 700, &send), FAULT_EXERR);
    assert_int_equal(log->fault.kind, EXCHANGE_FAULT_RESERVED);
    log->fault.kind = EXCHANGE_FAULT_NONE;
    rig_set_word(&r, 0, FROM, 0x40); /* below the memory */
    rig_set_word(&r, 0, FROM + 4, 1);
    assert_int_equal(rig_issue(&r, 0, 700, &send), FAULT_EXERR);
    assert_int_equal(log->fault.kind, EXCHANGE_FAULT_HOST_HEADER);
    rig_free(&r);
}

static void test_votes(void **state)
{
    struct insn sans = { .op = OP_sans, .i = 4 };
    struct rig r;

    (void)state;
    rig_new(&r, "toy4", 0, 0);
    issue(&r, 2, 33, sans);
    sans.i = 0;
    issue(&r, 2, 44, sans);
    assert_int_equal(exchange_log_of(r.x, 2)->votes, 6);
    assert_int_equal(exchange_log_of(r.x, 2)->vote_cycle, 44);
    assert_false(exchange_log_of(r.x, 2)->open);
    rig_free(&r);
}

/* --- planted damage: at issue
 * -------------------------------------------------------------------------------------------------------------
 */

static void test_wrong_instructions(void **state)
{
    static const struct {
        enum exchange_fault_kind kind;
        struct insn in;
    } wrong[] = {
        { EXCHANGE_FAULT_SELF, { .op = OP_delayxpic, .k = 1 } },
        { EXCHANGE_FAULT_SELF, { .op = OP_sendpicp, .n = 1, .o = BASE / 4 } },
        { EXCHANGE_FAULT_HOST_SOURCE, { .op = OP_delayxpic, .k = 0x600 } },
        { EXCHANGE_FAULT_HOST_SOURCE, { .op = OP_sendpic, .j = 0, .k = 0x63f } },
        { EXCHANGE_FAULT_NO_SOURCE, { .op = OP_delayxpic, .k = 4 } },
        { EXCHANGE_FAULT_NO_SOURCE, { .op = OP_delayxpic, .k = 0x641 } },
        { EXCHANGE_FAULT_RESERVED, { .op = OP_sendpic, .j = 1, .k = 0 } },
        { EXCHANGE_FAULT_RESERVED, { .op = OP_sendpic, .j = 3, .k = 0 } },
        { EXCHANGE_FAULT_RESERVED, { .op = OP_sendpic, .j = 0, .k = 1 << 13 } },
        { EXCHANGE_FAULT_RESERVED, { .op = OP_delaypic, .j = 1, .k = BASE / 4 } },
        { EXCHANGE_FAULT_RESERVED, { .op = OP_delayxpic, .j = 1, .k = NULL_SOURCE } },
        { EXCHANGE_FAULT_RESERVED, { .op = OP_sendpicp, .l = 1, .n = NULL_SOURCE, .o = BASE / 4 } },
        { EXCHANGE_FAULT_RESERVED,
          { .op = OP_sendpicp, .n = 1 << 13 | NULL_SOURCE, .o = BASE / 4 } },
        { EXCHANGE_FAULT_WIDE, { .op = OP_send, .i = 0, .j = FROM, .k = 4 } },
        { EXCHANGE_FAULT_WIDE, { .op = OP_send, .i = 1, .j = FROM, .k = 5 } },
        { EXCHANGE_FAULT_WIDE, { .op = OP_sendoff, .i = 1, .k = 4 } },
        { EXCHANGE_FAULT_WIDE,
          { .op = OP_sendpicp, .j = FROM, .k = 7, .n = NULL_SOURCE, .o = BASE / 4 } },
        { EXCHANGE_FAULT_SEND_OUTSIDE, { .op = OP_send, .i = 0, .j = BASE - 4, .k = 1 } },
        { EXCHANGE_FAULT_SEND_OUTSIDE, { .op = OP_send, .i = 1, .j = BASE + 0xfffc, .k = 3 } },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(wrong); i++) {
        const struct exchange_fault *f;
        char text[320];
        struct rig r;

        rig_new(&r, "toy4", 0, 0);
        rig_begin(&r);
        assert_int_equal(rig_issue_coded(&r, 1, 20, &wrong[i].in), FAULT_EXERR);
        assert_int_equal(r.tile[1].fault.kind, FAULT_EXERR);
        assert_int_equal(r.tile[1].fault.pc, BASE + 8 * 20);
        assert_int_equal(r.tile[1].state[LANE_SUPER], CONTEXT_EXCEPTED);
        f = exchange_last_fault(r.x);
        assert_non_null(f);
        assert_string_equal(exchange_fault_name(f->kind), exchange_fault_name(wrong[i].kind));
        assert_string_equal(r.tile[1].fault.detail, exchange_fault_text(f->kind));
        assert_int_equal(f->tile, 1);
        assert_int_equal(f->event, 20);
        assert_int_equal(f->cycle, RIG_RELEASE + 20);
        exchange_fault_print(f, text, sizeof(text));
        assert_non_null(strstr(text, "tile 1 at event 20 (cycle 1020): "));
        rig_free(&r);
    }
}

static void expect_issue_fault(struct rig *r, uint32_t event, struct insn in,
                               enum exchange_fault_kind kind)
{
    assert_int_equal(rig_issue(r, 1, event, &in), FAULT_EXERR);
    assert_int_equal(exchange_log_of(r->x, 1)->fault.kind, kind);
    exchange_log_of(r->x, 1)->fault.kind = EXCHANGE_FAULT_NONE;
}

static void test_wrong_time(void **state)
{
    struct rig r;

    (void)state;
    rig_new(&r, "toy4", 0, 0);
    assert_null(exchange_last_fault(r.x));
    expect_issue_fault(&r, 0, in_send(1, FROM, 1), EXCHANGE_FAULT_OUTSIDE_PHASE);
    issue(&r, 1, 0, (struct insn){ .op = OP_delay, .i = 9 }); /* does nothing, needs no RECV */
    rig_begin(&r);
    rig_begin(&r);
    r.tile[1].state[5] = CONTEXT_ACTIVE;
    expect_issue_fault(&r, 0, in_send(1, FROM, 1), EXCHANGE_FAULT_WORKERS);
    expect_issue_fault(&r, 0, (struct insn){ .op = OP_delay, .i = 9 }, EXCHANGE_FAULT_WORKERS);
    r.tile[1].state[5] = CONTEXT_INACTIVE;
    expect_issue_fault(&r, EXCHANGE_EVENTS - 1, in_send(2, FROM, 1), EXCHANGE_FAULT_TOO_LATE);
    r.tile[1].xcsr[XCSR_OUT_BASE] = 2;
    expect_issue_fault(&r, 0, in_send(1, FROM, 1), EXCHANGE_FAULT_MISALIGNED);
    r.tile[1].xcsr[XCSR_OUT_BASE] = 0;
    issue(&r, 1, 5, in_send(1, FROM, 1));
    rig_recv(&r, 30);
    expect_issue_fault(&r, 31, in_send(1, FROM, 1), EXCHANGE_FAULT_OUTSIDE_PHASE);
    rig_recv(&r, 40); /* nothing to end */
    rig_free(&r);
}

static void test_missing_recv(void **state)
{
    struct rig r;

    (void)state;
    rig_new(&r, "toy4", 0, 0);
    rig_begin(&r);
    issue(&r, 3, 0, in_send(1, FROM, 1));
    resolve(&r);
    assert_int_equal(exchange_begin(r.x, &r.tile[0], 1300), FAULT_NONE);
    r.tile[3].cycle = 1300;
    assert_int_equal(exchange_begin(r.x, &r.tile[3], 1300), FAULT_EXERR);
    assert_int_equal(exchange_last_fault(r.x)->kind, EXCHANGE_FAULT_MISSING_RECV);
    assert_int_equal(exchange_last_fault(r.x)->tile, 3);
    assert_int_equal(exchange_last_fault(r.x)->cycle, 1300);
    rig_free(&r);
}

static void test_mux_at_recv(void **state)
{
    struct rig r;

    (void)state;
    rig_new(&r, "toy4", 0, 0);
    rig_begin(&r);
    issue(&r, 3, 4, in_delayxpic(1, 2));
    r.tile[3].cycle = RIG_RELEASE + 50;
    assert_int_equal(exchange_recv(r.x, &r.tile[3], 50), FAULT_EXERR);
    assert_int_equal(exchange_last_fault(r.x)->kind, EXCHANGE_FAULT_MUX_LEFT_ON);
    assert_int_equal(exchange_last_fault(r.x)->other, 2);
    assert_int_equal(exchange_last_fault(r.x)->event, 50);
    rig_free(&r);
}

/* --- planted damage: found by resolving
 * ------------------------------------------------------------------------------------------------------
 */

/* The phase has one fault; both resolvers must find it. */
static void expect_fault(struct rig *r, enum exchange_fault_kind kind, uint32_t tile,
                         uint32_t event, uint32_t other, uint32_t addr, uint32_t other_addr,
                         const char *text)
{
    const struct exchange_phase *p;
    const struct exchange_fault *f;
    struct exchange_fault second;
    const char *differ;

    assert_int_equal(exchange_resolve(r->x, r->part, &p), EMU_FAULT);
    f = exchange_last_fault(r->x);
    assert_non_null(f);
    assert_string_equal(exchange_fault_name(f->kind), exchange_fault_name(kind));
    assert_int_equal(f->tile, tile);
    assert_int_equal(f->event, event);
    assert_int_equal(f->cycle, RIG_RELEASE + event);
    assert_int_equal(f->other, other);
    assert_int_equal(f->addr, addr);
    assert_int_equal(f->other_addr, other_addr);
    assert_string_equal(emu_error(), text);
    assert_int_equal(r->tile[tile].fault.kind, FAULT_EXERR);
    assert_int_equal(r->tile[tile].fault.cycle, RIG_RELEASE + event);
    assert_string_equal(r->tile[tile].fault.detail, exchange_fault_text(kind));
    assert_int_equal(exchange_check(r->x, r->part, NULL, &second, &differ), EMU_OK);
    assert_true(exchange_fault_equal(f, &second));
    rig_free(r);
}

static void damage_rig(struct rig *r)
{
    rig_new(r, "toy4", 0, 1);
    rig_begin(r);
}

static void test_late_mux(void **state)
{
    struct rig r;

    (void)state;
    damage_rig(&r);
    issue(&r, 3, 110, in_send(4, FROM, 1));
    issue(&r, 1, 121,
          in_sendpicp(4, 0, 0, 3, TO)); /* one event late: the last word it wants is none */
    issue(&r, 1, 125, in_delayxpic(1, NULL_SOURCE));
    expect_fault(&r, EXCHANGE_FAULT_SILENT, 1, 124, 3, TO + 12, 0,
                 "tile 1 listens to tile 3 at event 124 (cycle 1124) but it sends nothing then; "
                 "the word would "
                 "go to 0x4e00c");
}

static void test_early_mux(void **state)
{
    struct rig r;

    (void)state;
    damage_rig(&r);
    toy_message(&r, 0, 2, 5, 2, TO);
    issue(&r, 3, 110, in_send(4, FROM, 1));
    issue(&r, 1, 119, in_sendpicp(4, 0, 0, 3, TO));
    issue(&r, 1, 123, in_delayxpic(1, NULL_SOURCE));
    expect_fault(&r, EXCHANGE_FAULT_SILENT, 1, 119, 3, TO, 0,
                 "tile 1 listens to tile 3 at event 119 (cycle 1119) but it sends nothing then; "
                 "the word would "
                 "go to 0x4e000");
}

/* A gap of one event between two sends of one message. */
static void test_gap(void **state)
{
    struct rig r;

    (void)state;
    damage_rig(&r);
    issue(&r, 3, 10, in_send(4, FROM, 1));
    issue(&r, 3, 15, in_sendoff(4, 0, 1));
    issue(&r, 1, 20, in_sendpicp(8, 0, 0, 3, TO));
    issue(&r, 1, 28, in_delayxpic(1, NULL_SOURCE));
    expect_fault(&r, EXCHANGE_FAULT_SILENT, 1, 24, 3, TO + 16, 0,
                 "tile 1 listens to tile 3 at event 24 (cycle 1024) but it sends nothing then; the "
                 "word would "
                 "go to 0x4e010");
}

/* The sender belongs to another group. */
static void test_absent(void **state)
{
    struct rig r;

    (void)state;
    damage_rig(&r);
    toy_message(&r, 0, 2, 5, 2, TO);
    r.part[0] = NULL;
    expect_fault(&r, EXCHANGE_FAULT_SILENT, 2, 15, 0, TO, 0,
                 "tile 2 listens to tile 0 at event 15 (cycle 1015) but it sends nothing then; the "
                 "word would "
                 "go to 0x4e000");
}

static void test_other_way(void **state)
{
    uint32_t source;
    unsigned ways;
    int delay;
    struct rig r;

    (void)state;
    rig_new(&r, "mk2", 65536, 1);
    rig_begin(&r);
    source = arch_tile_physical(&r.arch, 17);
    ways = arch_exchange_direction(&r.arch, source, 0);
    delay = arch_exchange_delay(&r.arch, source, 0);
    issue(&r, 17, (uint32_t)(300 - delay), in_send(1, FROM, 3));
    issue(&r, 17, (uint32_t)(301 - delay), in_sendoff(1, 0, 3 - ways));
    issue(&r, 0, 0, in_delaypic(1, TO));
    issue(&r, 0, 300, in_delayxpic(1, source));
    issue(&r, 0, 302, in_delayxpic(1, NULL_SOURCE));
    expect_fault(&r, EXCHANGE_FAULT_OTHER_WAY, 0, 301, 17, TO + 4, FROM + 4,
                 "tile 0 listens to tile 17 at event 301 (cycle 1301) but it sends the word at "
                 "0x4d004 only into "
                 "the other direction");
}

static void test_pointer_outside(void **state)
{
    struct rig r;

    (void)state;
    damage_rig(&r);
    toy_message(&r, 3, 2, 20, 3, BASE + 0x10000 - 8);
    expect_fault(&r, EXCHANGE_FAULT_POINTER_OUTSIDE, 2, 32, 3, BASE + 0x10000, FROM + 8,
                 "tile 2 receives a word of tile 3 (its 0x4d008) at event 32 (cycle 1032) for "
                 "0x5c000, which is "
                 "outside tile memory");
}

/* A pointer that was never set stands below the memory. */
static void test_pointer_unset(void **state)
{
    struct rig r;

    (void)state;
    damage_rig(&r);
    issue(&r, 3, 20, in_send(1, FROM, 1));
    issue(&r, 2, 30, in_delayxpic(1, 3));
    issue(&r, 2, 31, in_delayxpic(1, NULL_SOURCE));
    expect_fault(
        &r, EXCHANGE_FAULT_POINTER_OUTSIDE, 2, 30, 3, 0, FROM,
        "tile 2 receives a word of tile 3 (its 0x4d000) at event 30 (cycle 1030) for 0x0, which is "
        "outside tile memory");
}

static void test_received_twice(void **state)
{
    struct rig r;

    (void)state;
    damage_rig(&r);
    toy_message(&r, 3, 2, 20, 8, TO);
    toy_message(&r, 1, 2, 100, 8, TO - 20);
    expect_fault(&r, EXCHANGE_FAULT_TWICE, 2, 115, 1, TO, FROM + 20,
                 "tile 2 receives a second word for 0x4e000 at event 115 (cycle 1115), from "
                 "0x4d014 of tile 1");
}

/* Tile 2 sends FROM .. FROM + 8 at events 40 .. 42; the last of 3 words from tile 3 replaces FROM +
 * 8 at event `arrives`. */
static void send_and_replace(struct rig *r, uint32_t arrives)
{
    rig_begin(r);
    issue(r, 3, arrives - 12, in_send(3, BASE, 1));
    if (arrives == 43) {
        issue(r, 2, 39, in_delaypic(1, FROM));
        issue(r, 2, 40, in_send(1, FROM, 1));
        issue(r, 2, 41, in_sendpic_source(2, 3));
        issue(r, 2, 43, in_delayxpic(2, NULL_SOURCE));
        return;
    }
    issue(r, 2, arrives - 2, in_sendpicp(1, 0, 0, 3, FROM));
    issue(r, 2, arrives + 1, in_delayxpic(1, NULL_SOURCE));
    issue(r, 2, 40, in_send(3, FROM, 1));
}

static void test_replaced(void **state)
{
    struct rig r;

    (void)state;
    rig_new(&r, "toy4", 0, 1);
    send_and_replace(&r, 43); /* each word is read one event before its replacement comes */
    rig_recv(&r, 60);
    assert_true(resolve(&r)->overlaps);
    rig_begin(&r);
    issue(&r, 3, 30, in_send(3, BASE, 1));
    issue(&r, 2, 40, in_sendpicp(3, FROM, 1, 3, FROM)); /* in the same event */
    issue(&r, 2, 43, in_delayxpic(1, NULL_SOURCE));
    expect_fault(&r, EXCHANGE_FAULT_REPLACED, 2, 40, 3, FROM, BASE,
                 "tile 2 sends its word at 0x4d000 at event 40 (cycle 1040) but the replacement, "
                 "0x4c000 of tile "
                 "3, has arrived by then");
    rig_new(&r, "toy4", 0, 1);
    send_and_replace(&r, 30); /* long before */
    expect_fault(&r, EXCHANGE_FAULT_REPLACED, 2, 40, 3, FROM, BASE,
                 "tile 2 sends its word at 0x4d000 at event 40 (cycle 1040) but the replacement, "
                 "0x4c000 of tile "
                 "3, has arrived by then");
}

static void test_mux_left_on(void **state)
{
    struct rig r;

    (void)state;
    damage_rig(&r);
    issue(&r, 3, 0, in_send(64, FROM, 1));
    issue(&r, 2, 20, in_sendpicp(1, 0, 0, 3, TO));
    expect_fault(&r, EXCHANGE_FAULT_MUX_LEFT_ON, 2, 20, 3, 0, 0,
                 "tile 2 listens to tile 3 at event 20 (cycle 1020) and does not stop before the "
                 "exchange ends");
}

/* Of many faults that of the lowest receiver is reported, and there the lowest event. */
static void test_choice(void **state)
{
    struct rig r;

    (void)state;
    damage_rig(&r);
    issue(&r, 0, 0, in_send(8, FROM, 1));
    issue(&r, 2, 9, in_sendpicp(1, 0, 0, 0, TO)); /* silent, earlier, but a higher tile */
    issue(&r, 2, 10, in_delayxpic(1, NULL_SOURCE));
    issue(&r, 1, 10, in_sendpicp(2, 0, 0, 0, TO));
    issue(&r, 1, 12, in_delayxpic(1, NULL_SOURCE));
    issue(&r, 1, 13, in_delaypic(1, TO + 4));
    issue(&r, 1, 14, in_delayxpic(1, 0));
    issue(&r, 1, 30,
          in_send(1, TO, 1)); /* replaced long ago, but later than the second word for TO + 4 */
    issue(&r, 1, 40, in_delayxpic(1, NULL_SOURCE)); /* silent from 18 on */
    expect_fault(&r, EXCHANGE_FAULT_TWICE, 1, 14, 0, TO + 4, FROM + 16,
                 "tile 1 receives a second word for 0x4e004 at event 14 (cycle 1014), from 0x4d010 "
                 "of tile 0");
}

/* --- replay
 * --------------------------------------------------------------------------------------------------------------------------
 */

static void a_phase(struct rig *r, uint32_t event)
{
    rig_begin(r);
    toy_message(r, 0, 2, event, 8, TO);
    toy_message(r, 1, 3, event, 8, TO);
    rig_recv(r, event + 50);
}

static void test_replay(void **state)
{
    const struct exchange_phase *p, *q;
    struct exchange_counts n;
    struct rig r;

    (void)state;
    rig_new(&r, "toy4", 0, 1);
    a_phase(&r, 5);
    p = resolve(&r);
    a_phase(&r, 6);
    assert_ptr_not_equal(resolve(&r), p);
    a_phase(&r, 5);
    rig_set_word(&r, 0, FROM, 4711);
    q = resolve(&r);
    assert_ptr_equal(q, p);
    exchange_deliver(q, r.part, 0, 4);
    assert_int_equal(rig_word(&r, 2, TO), 4711);
    assert_int_equal(r.tile[2].xcsr[XCSR_DELTA], TO / 4 + 8);
    n = exchange_counts(r.x);
    assert_int_equal(n.resolved, 2);
    assert_int_equal(n.replayed, 1);
    assert_int_equal(n.cache_phases, 2);
    rig_free(&r);
}

/* A full cache is emptied; the phase in use stays. */
static void test_eviction(void **state)
{
    struct rig r;

    (void)state;
    rig_new(&r, "toy4", 0, 0);
    a_phase(&r, 5);
    resolve(&r);
    r.x->options.cache_bytes = 3 * exchange_counts(r.x).cache_bytes;
    for (uint32_t k = 0; k < 7; k++) {
        a_phase(&r, 10 + k);
        assert_int_equal(resolve(&r)->copies, 2);
        assert_true(exchange_counts(r.x).cache_bytes <= r.x->options.cache_bytes);
    }
    assert_int_equal(exchange_counts(r.x).evictions, 2);
    assert_int_equal(exchange_counts(r.x).cache_phases, 2);
    r.x->options.cache_bytes = 1;
    for (uint32_t k = 0; k < 3; k++) {
        a_phase(&r, 30 + k);
        assert_int_equal(resolve(&r)->copies, 2);
        assert_int_equal(exchange_counts(r.x).cache_phases, 1);
    }
    rig_free(&r);
}

/* The second resolver sees every kind of wrong phase. */
static void test_check_compares(void **state)
{
    struct exchange_copy copy[8];
    uint32_t number[6];
    struct rig r;

    (void)state;
    rig_new(&r, "toy4", 0, 0);
    a_phase(&r, 5);
    assert_int_equal(exchange_resolve_intervals(r.x, r.part, &r.x->fault), EMU_OK);
    for (int damage = 0; damage < 14; damage++) {
        struct exchange_phase p, *made;
        struct exchange_fault f;
        const char *differ;

        assert_int_equal(exchange_cache_add(r.x, (struct hash128){ .lo = (uint64_t)damage }, &made),
                         EMU_OK);
        p = *made;
        memcpy(copy, p.copy, p.copies * sizeof(*copy));
        p.copy = copy;
        memcpy(number, p.first_copy, sizeof(uint32_t[5]));
        switch (damage) {
        case 1:
            copy[0].from ^= 1;
            break;
        case 2:
            copy[1].from_off += 4;
            break;
        case 3:
            copy[1].to_off += 4;
            break;
        case 4:
            copy[0].words--;
            break;
        case 5:
            copy[0].words++;
            break;
        case 6:
            copy[1].to = 0;
            break;
        case 7:
            p.overlaps = 1;
            break;
        case 8:
            number[4] = 1;
            p.first_copy = number;
            break;
        case 9:
            memcpy(number, p.end_event, 16);
            number[2]++;
            p.end_event = number;
            break;
        case 10:
            memcpy(number, p.words_in, 16);
            number[3]--;
            p.words_in = number;
            break;
        case 11:
            memcpy(number, p.words_out, 16);
            number[0]++;
            p.words_out = number;
            break;
        case 12:
            memcpy(number, p.pointer, 16);
            number[2] += 4;
            p.pointer = number;
            break;
        case 13:
            memcpy(number, p.first_word, 20);
            number[3]++;
            p.first_word = number;
            break;
        default:
            break;
        }
        assert_int_equal(exchange_check(r.x, r.part, &p, &f, &differ), EMU_OK);
        assert_int_equal(f.kind, EXCHANGE_FAULT_NONE);
        if (damage)
            assert_non_null(differ);
        else
            assert_null(differ);
    }
    rig_free(&r);
}

/* --- memory of the host
 * --------------------------------------------------------------------------------------------------------------
 */

/* Every allocation fails once: a status or a fault, never a crash, and nothing is lost. */
static void test_allocations(void **state)
{
    struct exchange_options o = { .check = 1 };
    struct rig r;
    long before, failures = 0;

    (void)state;
    rig_new(&r, "toy4", 0, 0);
    exchange_free(r.x);
    before = alloc_live();
    for (int done = 0; !done; failures++) {
        const struct exchange_phase *p;
        enum emu_status s;
        enum fault f = FAULT_NONE;

        alloc_test_fail_at(failures);
        s = exchange_new(&r.arch, &o, &r.x);
        if (s != EMU_OK) {
            assert_int_equal(s, EMU_NO_MEMORY);
            assert_null(r.x);
            assert_int_equal(alloc_live(), before);
            continue;
        }
        for (uint32_t i = 0; i < 4; i++) {
            r.tile[i].fault.kind = FAULT_NONE;
            exchange_attach(r.x, i, &r.tile[i]);
        }
        rig_begin(&r);
        for (uint32_t k = 0; k < 8 && f == FAULT_NONE; k++) {
            static const uint32_t event[] = { 0, 10, 74, 90 };
            const struct insn in[] = { in_send(10, FROM, 1),
                                       in_sendpicp(54, FROM + 40, 1, 1 - k % 2, FROM),
                                       in_delayxpic(1, NULL_SOURCE), in_send(2, BASE, 4) };

            rig_set_word(&r, k % 2, BASE, 1u << 31 | BASE);
            rig_set_word(&r, k % 2, BASE + 4, 4);
            f = rig_issue(&r, k % 2, event[k / 2], &in[k / 2]);
        }
        if (f == FAULT_NONE)
            s = exchange_resolve(r.x, r.part, &p);
        else
            assert_int_equal(f, FAULT_MEMERR);
        assert_true(s == EMU_OK || s == EMU_NO_MEMORY);
        done = f == FAULT_NONE && s == EMU_OK;
        exchange_free(r.x);
        assert_int_equal(alloc_live(), before);
    }
    alloc_test_fail_at(-1);
    assert_true(failures > 20);
    assert_int_equal(exchange_new(&r.arch, &o, &r.x), EMU_OK);
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream),          cmocka_unit_test(test_settings),
        cmocka_unit_test(test_bases),           cmocka_unit_test(test_silicon),
        cmocka_unit_test(test_pointer_lag),     cmocka_unit_test(test_pointer_persists),
        cmocka_unit_test(test_multicast),       cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_written),         cmocka_unit_test(test_groups),
        cmocka_unit_test(test_put_settings),    cmocka_unit_test(test_host_request),
        cmocka_unit_test(test_votes),           cmocka_unit_test(test_wrong_instructions),
        cmocka_unit_test(test_wrong_time),      cmocka_unit_test(test_missing_recv),
        cmocka_unit_test(test_mux_at_recv),     cmocka_unit_test(test_late_mux),
        cmocka_unit_test(test_early_mux),       cmocka_unit_test(test_gap),
        cmocka_unit_test(test_absent),          cmocka_unit_test(test_other_way),
        cmocka_unit_test(test_pointer_outside), cmocka_unit_test(test_pointer_unset),
        cmocka_unit_test(test_received_twice),  cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_mux_left_on),     cmocka_unit_test(test_choice),
        cmocka_unit_test(test_replay),          cmocka_unit_test(test_eviction),
        cmocka_unit_test(test_check_compares),  cmocka_unit_test(test_allocations),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
