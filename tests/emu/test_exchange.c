/* test_exchange.c - the fabric by hand: what each instruction logs, phases of a few tiles, replay.
 */
#include "emu/arch/arch_numbers.h"
#include "tests/fixtures/exchange_fixture.h"

#include "emu/exchange/host_header.h"
#include "emu/isa/insn_ops.h"

/* Most tests have a toy machine, whose phases the second resolver checks. */
static int toy_new(void **state)
{
    static struct fabric toy;

    fabric_new(&toy, "toy4", 0, 1);
    *state = &toy;
    return 0;
}

static int toy_free(void **state)
{
    fabric_free(*state);
    return 0;
}

/* Ends the phase of all tiles at an event, and delivers it. */
static const struct exchange_phase *finish(struct fabric *r, uint32_t event)
{
    const struct exchange_phase *p;

    fabric_recv(r, event);
    p = resolve(r);
    exchange_deliver(p, r->part, 0, r->arch.tiles);
    return p;
}

/* --- what is logged --- */

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
    struct fabric *r = *state;

    fabric_begin(r);
    log = exchange_log_of(r->x, 1);
    issue(r, 1, 5, in_send(4, FROM, 1));
    issue(r, 1, 20, in_sendoff(4096, 2, 3)); /* 2 words further on than the stream stands */
    issue(r, 1, 5000, in_sendpic_source(3, NULL_SOURCE));
    issue(r, 1, 6000, in_sendpicp(2, TO, 2, 3, TO + 64));
    issue(r, 1, 6002, in_sendpic_source(5, NULL_SOURCE)); /* continues: joined */
    issue(r, 1, 6010, in_sendpicp(7, FROM, 0, NULL_SOURCE, TO));
    issue(r, 1, 6020, in_sendpic_pointer(9, TO)); /* ctl is 0: sends nothing */
    issue(r, 1, 6030, in_sendoff(1, 100, 1));
    assert_int_equal(log->sends, 5);
    check_send(log, 0, 5, FROM, 4, 1);
    check_send(log, 1, 20, FROM + 16 + 8, 4096, 3);
    check_send(log, 2, 5000, FROM + 24 + 4 * 4096, 3, 3);
    check_send(log, 3, 6000, TO, 2 + 5, 2);
    check_send(log, 4, 6030, FROM + 4 * (7 + 9 + 100), 1, 1);
    assert_int_equal(log->words_out, 4 + 4096 + 3 + 7 + 1);
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
    struct fabric *r = *state;

    fabric_begin(r);
    log = exchange_log_of(r->x, 1);
    issue(r, 1, 0, in_delaypic(1, TO));
    issue(r, 1, 1, in_delayxpic(4096, 2));
    issue(r, 1, 5000, in_sendpic_source(3, 3));
    assert_int_equal(r->tile[1].xcsr[XCSR_MUX], 3);
    issue(r, 1, 5003, in_sendpic_pointer(64, FROM));
    assert_int_equal(r->tile[1].xcsr[XCSR_DELTA], FROM / 4);
    issue(r, 1, 5100, in_delaypic(128, FROM + 8));
    issue(r, 1, 5300, in_sendpicp(64, 0, 0, 0, BASE));
    issue(r, 1, 5400, in_sendpic_source(1, 0)); /* as it is already */
    issue(r, 1, 5500, in_delayxpic(1, NULL_SOURCE));
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
    assert_int_equal(r->tile[1].xcsr[XCSR_MUX], NULL_SOURCE);
}

static void test_bases(void **state)
{
    struct fabric *r = *state;

    r->tile[1].xcsr[XCSR_OUT_BASE] = FROM;
    r->tile[2].xcsr[XCSR_IN_BASE] = TO;
    fabric_set_word(r, 1, FROM + 8, 77);
    fabric_begin(r);
    issue(r, 1, 0, in_send(1, 8, 1));
    issue(r, 2, 10, in_sendpicp(1, 0, 0, 1, 12));
    issue(r, 2, 11, in_delayxpic(1, NULL_SOURCE));
    assert_int_equal(r->tile[2].xcsr[XCSR_DELTA], 3);
    finish(r, 20);
    assert_int_equal(fabric_word(r, 2, TO + 12), 77);
    assert_int_equal(r->tile[2].xcsr[XCSR_DELTA], 4);
}

/* --- phases --- */

/* As seen on silicon: senders delay 111 - T and send, receivers select the source at event 112. */
static void test_silicon(void **state)
{
    static const uint32_t pair[][2] = {
        { 0, 1 }, { 7, 1300 }, { 1471, 3 }, { 45, 46 }, { 800, 801 }
    };
    const struct exchange_phase *p;
    struct fabric r;

    (void)state;
    fabric_new(&r, "mk2", 65536, 1);
    fabric_begin(&r);
    for (size_t k = 0; k < EMU_COUNT_OF(pair); k++) {
        uint32_t s = pair[k][0], d = pair[k][1], source = arch_tile_physical(&r.arch, s);
        int delay = arch_exchange_delay(&r.arch, source, arch_tile_physical(&r.arch, d));

        fabric_set_word(&r, s, FROM, 100 + s);
        issue(&r, s, (uint32_t)(112 - delay), in_send(1, FROM, 3));
        issue(&r, d, 0, in_delaypic(1, TO));
        issue(&r, d, 1, in_delayxpic(112, source));
        issue(&r, d, 113, in_delayxpic(1, NULL_SOURCE));
    }
    p = finish(&r, 114);
    assert_int_equal(p->copies, EMU_COUNT_OF(pair));
    for (size_t k = 0; k < EMU_COUNT_OF(pair); k++) {
        uint32_t d = pair[k][1], row = arch_tile_physical(&r.arch, d) / 64;

        assert_int_equal(fabric_word(&r, d, TO), 100 + pair[k][0]);
        assert_int_equal(p->end_event[d], 112 + 52 + 2 * row);
        assert_int_equal(p->words_in[d], 1);
        assert_int_equal(p->words_out[pair[k][0]], 1);
        assert_int_equal(p->words_out[d], 0);
    }
    fabric_free(&r);
}

/* The pointer acts on words that reached the mux pic_lag events earlier: a change 52 events late is
 * in time for row 0. */
static void test_pointer_lag(void **state)
{
    const struct exchange_phase *p;
    uint32_t source, late;
    int delay;
    struct fabric r;

    (void)state;
    fabric_new(&r, "mk2", 65536, 1);
    source = arch_tile_physical(&r.arch, 4);
    delay = arch_exchange_delay(&r.arch, source, 0); /* logical 0 is physical 0, in row 0 */
    for (late = 51; late <= 53; late++) {
        fabric_begin(&r);
        fabric_set_word(&r, 4, FROM, 11 + late);
        fabric_set_word(&r, 4, FROM + 4, 22 + late);
        issue(&r, 4, (uint32_t)(200 - delay), in_send(2, FROM, 3));
        issue(&r, 0, 0, in_delaypic(1, TO));
        issue(&r, 0, 200, in_delayxpic(1, source));
        issue(&r, 0, 202, in_delayxpic(1, NULL_SOURCE));
        issue(&r, 0, 200 + late, in_delaypic(1, FROM));
        p = finish(&r, 300);
        assert_int_equal(p->copies, late < 53 ? 1 : 2);
        assert_int_equal(fabric_word(&r, 0, late < 53 ? FROM : TO), 11 + late);
        assert_int_equal(fabric_word(&r, 0, late < 53 ? FROM + 4 : FROM), 22 + late);
        assert_int_equal(r.tile[0].xcsr[XCSR_DELTA], (FROM + (late < 53 ? 8 : 4)) / 4);
    }
    fabric_free(&r);
}

static void test_pointer_persists(void **state)
{
    struct fabric *r = *state;

    for (uint32_t k = 0; k < 3; k++) {
        fabric_set_word(r, 0, FROM, 50 + k);
        fabric_begin(r);
        issue(r, 0, 0, in_send(1, FROM, 1));
        if (!k)
            issue(r, 1, 0, in_delaypic(1, TO));
        issue(r, 1, 10, in_delayxpic(1, 0));
        issue(r, 1, 11, in_delayxpic(1, NULL_SOURCE));
        finish(r, 20);
        assert_int_equal(fabric_word(r, 1, TO + 4 * k), 50 + k);
        assert_int_equal(r->tile[1].xcsr[XCSR_DELTA], (TO + 4 * k + 4) / 4);
    }
    assert_int_equal(exchange_counts(r->x).resolved, 3); /* the pointers differ */
}

/* Two messages of one stream with a pause between them, to addresses that continue: not one run. */
static void test_pause(void **state)
{
    const struct exchange_phase *p;
    struct fabric *r = *state;

    fabric_begin(r);
    issue(r, 0, 0, in_send(4, FROM, 1));
    issue(r, 0, 9, in_sendoff(4, 0, 1));
    issue(r, 1, 10, in_sendpicp(1, 0, 0, 0, TO));
    issue(r, 1, 14, in_delayxpic(1, NULL_SOURCE));
    issue(r, 1, 15, in_send(1, TO + 16, 1)); /* whose replacement comes at event 19 */
    issue(r, 1, 19, in_delayxpic(1, 0));
    issue(r, 1, 23, in_delayxpic(1, NULL_SOURCE));
    p = resolve(r);
    assert_int_equal(p->copies, 2);
    assert_int_equal(p->end_event[1], 22);
}

/* Several listeners of one sender, both directions at once; the listeners join and leave when they
 * like. */
static void test_multicast(void **state)
{
    const struct exchange_phase *p;
    struct fabric r;

    (void)state;
    fabric_new(&r, "mk2", 65536, 1);
    fabric_begin(&r);
    for (uint32_t k = 0; k < 64; k++)
        fabric_set_word(&r, 100, FROM + 4 * k, 1000 + k);
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
    fabric_recv(&r, 1000);
    p = resolve(&r);
    exchange_deliver(p, r.part, 0, 700);
    exchange_deliver(p, r.part, 700, r.arch.tiles);
    for (uint32_t d = 0; d < r.arch.tiles; d++)
        for (uint32_t k = 0; d != 100 && k < 1 + d % 4; k++)
            assert_int_equal(fabric_word(&r, d, TO + 4 * k), 1000 + d % 60 + k);
    fabric_free(&r);
}

/* Two tiles swap a block in place: every word is sent before its replacement comes. */
static void test_in_place(void **state)
{
    const struct exchange_phase *p;
    struct fabric *r = *state;

    for (uint32_t k = 0; k < 64; k++) {
        fabric_set_word(r, 0, FROM + 4 * k, 100 + k);
        fabric_set_word(r, 1, FROM + 4 * k, 200 + k);
    }
    fabric_begin(r);
    for (uint32_t t = 0; t < 2; t++) {
        issue(r, t, 0, in_send(10, FROM, 1));
        issue(r, t, 10, in_sendpicp(54, FROM + 40, 1, 1 - t, FROM));
        issue(r, t, 74, in_delayxpic(1, NULL_SOURCE));
    }
    fabric_recv(r, 80);
    p = resolve(r);
    assert_true(p->overlaps);
    assert_int_equal(p->copies, 2);
    exchange_deliver(p, r->part, 0, 4);
    for (uint32_t k = 0; k < 64; k++) {
        assert_int_equal(fabric_word(r, 0, FROM + 4 * k), 200 + k);
        assert_int_equal(fabric_word(r, 1, FROM + 4 * k), 100 + k);
    }
    exchange_gather(p, r->part, 0, 1);
    exchange_gather(p, r->part, 1, 4);
    exchange_store(p, r->part, 1, 4);
    exchange_store(p, r->part, 0, 1);
    assert_int_equal(fabric_word(r, 0, FROM + 4 * 63), 100 + 63);
}

static void test_written(void **state)
{
    const struct exchange_phase *p;
    struct fabric *r = *state;
    struct code_page *some = (struct code_page *)r;

    fabric_begin(r);
    toy_message(r, 0, 1, 0, 8,
                BASE + 0x1000 - 16); /* the last words of one dirty page, the first of the next */
    fabric_recv(r, 80);
    p = resolve(r);
    memset(r->tile[1].dirty, 0, 16);
    r->tile[1].page[3] = r->tile[1].page[4] = r->tile[1].page[5] = some;
    r->tile[1].code_end = 0x1800;
    exchange_deliver(p, r->part, 0, 4);
    assert_int_equal(r->tile[1].dirty[0], 1);
    assert_int_equal(r->tile[1].dirty[1], 1);
    assert_int_equal(r->tile[1].dirty[2], 0);
    assert_null(r->tile[1].page[3]);
    assert_null(r->tile[1].page[4]);
    assert_non_null(r->tile[1].page[5]);
    memset(r->tile[1].dirty, 0, 16);
    r->tile[1].code_end = 0;
    exchange_deliver(p, r->part, 0, 4);
    assert_int_equal(r->tile[1].dirty[0] + 2 * r->tile[1].dirty[1] + 4 * r->tile[1].dirty[2], 3);
    r->tile[1].page[5] = NULL;
}

/* Tiles that take no part keep their logs, and do not count as senders. */
static void test_groups(void **state)
{
    const struct exchange_phase *p;
    struct fabric *r = *state;

    fabric_set_word(r, 0, FROM, 5);
    fabric_set_word(r, 2, FROM, 6);
    fabric_begin(r);
    toy_message(r, 0, 1, 0, 1, TO);
    toy_message(r, 2, 3, 0, 1, TO);
    fabric_recv(r, 80);
    r->part[2] = r->part[3] = NULL;
    p = resolve(r);
    assert_int_equal(p->copies, 1);
    exchange_deliver(p, r->part, 0, 4);
    r->part[2] = &r->tile[2];
    r->part[3] = &r->tile[3];
    r->part[0] = r->part[1] = NULL;
    p = resolve(r);
    assert_int_equal(p->copies, 1);
    exchange_deliver(p, r->part, 0, 4);
    assert_int_equal(fabric_word(r, 1, TO), 5);
    assert_int_equal(fabric_word(r, 3, TO), 6);
}

/* A mux that was put before the phase listens from event 0 on, and the pointer stands where it was
 * put. */
static void test_put_settings(void **state)
{
    struct fabric *r = *state;

    r->arch.number[ARCH_NUMBER_exchange_flat_cycles] = 0;
    for (uint32_t i = 0; i < r->arch.tiles; i++)
        r->x->end[i] = arch_exchange_end_of(&r->arch, i);
    fabric_set_word(r, 0, FROM + 4, 9);
    r->tile[1].xcsr[XCSR_MUX] = 0;
    r->tile[1].xcsr[XCSR_DELTA] = TO / 4;
    fabric_begin(r);
    issue(r, 0, 0, in_send(2, FROM, 1));
    issue(r, 1, 0, in_delayxpic(3, NULL_SOURCE));
    finish(r, 3);
    assert_int_equal(fabric_word(r, 1, TO + 4), 9);
    r->tile[1].xcsr[XCSR_MUX] = 1;
    assert_int_equal(fabric_begin_tile(r, 1), FAULT_EXERR);
    assert_int_equal(exchange_last_fault(r->x)->kind, EXCHANGE_FAULT_SELF);
}

/* --- requests to the host, votes --- */

static void test_host_request(void **state)
{
    const struct host_header in = { .stream = 8191, .addr = TO, .bytes = 512, .to_host = 0 };
    const struct host_header out = { .stream = 3, .addr = FROM + 4, .bytes = 8, .to_host = 1 };
    struct exchange_log *log;
    struct insn send = in_send(2, FROM, 4);
    struct fabric *r = *state;
    uint32_t word[2];

    log = exchange_log_of(r->x, 0);
    host_header_pack(&in, word);
    assert_true(tile_write(&r->tile[0], FROM, word, 8));
    r->tile[0].state[3] = CONTEXT_ACTIVE; /* outside any phase, workers running */
    issue(r, 0, 500, send);
    host_header_pack(&out, word);
    assert_true(tile_write(&r->tile[0], FROM, word, 8));
    issue(r, 0, 600, send);
    fabric_set_word(r, 0, FROM + 4, 0);
    assert_int_equal(log->requests, 2);
    assert_int_equal(log->request[0].cycle, 500);
    assert_int_equal(log->request[0].word[0], TO);
    assert_null(log->request[0].data);
    assert_int_equal(log->request[1].cycle, 600);
    assert_memory_equal(log->request[1].data, &word[1], 4);
    assert_false(log->open || log->sends);
    assert_int_equal(r->tile[0].xcsr[XCSR_DCOUNT], 512 / 4 + 8 / 4);
    exchange_take_requests(r->x, 0);
    assert_int_equal(log->requests, 0);
    fabric_set_word(r, 0, FROM, 1u << 29); /* reserved */
    assert_int_equal(fabric_issue(r, 0, 700, &send), FAULT_EXERR);
    assert_int_equal(log->fault.kind, EXCHANGE_FAULT_RESERVED);
    log->fault.kind = EXCHANGE_FAULT_NONE;
    fabric_set_word(r, 0, FROM, 0x40); /* below the memory */
    fabric_set_word(r, 0, FROM + 4, 1);
    assert_int_equal(fabric_issue(r, 0, 700, &send), FAULT_EXERR);
    assert_int_equal(log->fault.kind, EXCHANGE_FAULT_HOST_HEADER);
}

static void test_votes(void **state)
{
    struct insn sans = { .op = INSN_sans, .i = 4 };
    struct fabric *r = *state;

    issue(r, 2, 33, sans);
    sans.i = 0;
    issue(r, 2, 44, sans);
    assert_int_equal(exchange_log_of(r->x, 2)->votes, 6);
    assert_int_equal(exchange_log_of(r->x, 2)->vote_cycle, 44);
    assert_false(exchange_log_of(r->x, 2)->open);
}

/* --- replay --- */

static void a_phase(struct fabric *r, uint32_t event)
{
    fabric_begin(r);
    toy_message(r, 0, 2, event, 8, TO);
    toy_message(r, 1, 3, event, 8, TO);
    fabric_recv(r, event + 50);
}

static void test_replay(void **state)
{
    const struct exchange_phase *p, *q;
    struct exchange_counts n;
    struct fabric *r = *state;

    a_phase(r, 5);
    p = resolve(r);
    a_phase(r, 6);
    assert_ptr_not_equal(resolve(r), p);
    a_phase(r, 5);
    fabric_set_word(r, 0, FROM, 4711);
    q = resolve(r);
    assert_ptr_equal(q, p);
    exchange_deliver(q, r->part, 0, 4);
    assert_int_equal(fabric_word(r, 2, TO), 4711);
    assert_int_equal(r->tile[2].xcsr[XCSR_DELTA], TO / 4 + 8);
    n = exchange_counts(r->x);
    assert_int_equal(n.resolved, 2);
    assert_int_equal(n.replayed, 1);
    assert_int_equal(n.cache_phases, 2);
}

/* What a tile logged belongs to it: the same logs of other tiles are another phase. A phase that
 * was resolved is over. */
static void test_keys(void **state)
{
    struct fabric *r = *state;

    for (uint32_t d = 2; d < 4; d++) {
        fabric_begin(r);
        toy_message(r, 0, d, 5, 1, TO);
        fabric_recv(r, 50);
        assert_int_equal(resolve(r)->copy[0].to, d);
        assert_int_equal(resolve(r)->copies, 0);
    }
}

/* Where the pointer stood before counts only if a word may arrive before it is set. */
static void test_pointer_in_key(void **state)
{
    uint32_t source, set[] = { 0, 252, 253 };
    struct fabric r;

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(set); k++) {
        fabric_new(&r, "mk2", 65536, 1);
        source = arch_tile_physical(&r.arch, 4);
        for (uint32_t run = 0; run < 2; run++) {
            int event = 200 - arch_exchange_delay(&r.arch, source, 0);

            r.tile[0].xcsr[XCSR_DELTA] = TO / 4 + 100 * run;
            fabric_begin(&r);
            issue(&r, 4, (uint32_t)event, in_send(2, FROM, 3));
            if (!set[k])
                issue(&r, 0, 0, in_delaypic(1, TO));
            issue(&r, 0, 200, in_delayxpic(1, source));
            issue(&r, 0, 202, in_delayxpic(1, NULL_SOURCE));
            if (set[k])
                issue(&r, 0, set[k], in_delaypic(1, FROM));
            fabric_recv(&r, 300);
            resolve(&r);
        }
        assert_int_equal(exchange_counts(r.x).replayed, set[k] == 253 ? 0 : 1);
        fabric_free(&r);
    }
}

/* A full cache is emptied; the phase in use stays. */
static void test_eviction(void **state)
{
    struct fabric *r = *state;

    a_phase(r, 5);
    resolve(r);
    r->x->options.cache_bytes = 3 * exchange_counts(r->x).cache_bytes;
    for (uint32_t k = 0; k < 7; k++) {
        a_phase(r, 10 + k);
        assert_int_equal(resolve(r)->copies, 2);
        assert_true(exchange_counts(r->x).cache_bytes <= r->x->options.cache_bytes);
    }
    assert_int_equal(exchange_counts(r->x).evictions, 2);
    assert_int_equal(exchange_counts(r->x).cache_phases, 2);
    r->x->options.cache_bytes = 1;
    for (uint32_t k = 0; k < 3; k++) {
        a_phase(r, 30 + k);
        assert_int_equal(resolve(r)->copies, 2);
        assert_int_equal(exchange_counts(r->x).cache_phases, 1);
    }
}

/* What the second resolver says of a phase; NULL: it agrees. */
static const char *difference(struct fabric *r, const struct exchange_phase *p)
{
    struct exchange_fault f;
    const char *differ;

    assert_int_equal(exchange_check(r->x, r->part, p, &f, &differ, NULL), EMU_OK);
    assert_int_equal(f.kind, EXCHANGE_FAULT_NONE);
    return differ;
}

#define ARRAY(name)    .array = offsetof(struct exchange_phase, name)
#define COPY(k, field) ARRAY(copy), .item = 5 * (k) + offsetof(struct exchange_copy, field) / 4

/* The second resolver sees every kind of wrong phase: one number of one array is another. */
static void test_check_compares(void **state)
{
    static const struct {
        size_t array, item; /* where the phase points to it; its place, in words */
        uint32_t add;
    } damage[] = {
        { COPY(0, from), .add = 1 },
        { COPY(1, from_off), .add = 4 },
        { COPY(1, to_off), .add = 4 },
        { COPY(0, words), .add = -1u },
        { COPY(0, words), .add = 1 },
        { COPY(1, to), .add = -3u },
        { ARRAY(first_copy), .item = 4, .add = -1u },
        { ARRAY(first_word), .item = 3, .add = 1 },
        { ARRAY(end_event), .item = 2, .add = 1 },
        { ARRAY(words_in), .item = 3, .add = -1u },
        { ARRAY(words_out), .item = 0, .add = 1 },
        { ARRAY(pointer), .item = 2, .add = 4 },
    };
    struct fabric *r = *state;
    struct exchange_phase *p;

    a_phase(r, 5);
    assert_int_equal(exchange_resolve_intervals(r->x, r->part, &r->x->fault), EMU_OK);
    assert_int_equal(exchange_cache_add(r->x, (struct hash128){ .lo = 1 }, &p), EMU_OK);
    assert_null(difference(r, p));
    for (size_t i = 0; i < EMU_COUNT_OF(damage); i++) {
        uint32_t *number;

        memcpy(&number, (char *)p + damage[i].array, sizeof(number));
        number += damage[i].item;
        *number += damage[i].add;
        if (!difference(r, p))
            fail_msg("nobody sees row %zu", i);
        *number -= damage[i].add;
    }
    p->overlaps = 1;
    assert_non_null(difference(r, p));
    p->overlaps = 0;
    assert_null(difference(r, p));
}

/* --- memory of the host --- */

/* Every allocation fails once: a status or a fault, never a crash, and nothing is lost. */
static void test_allocations(void **state)
{
    struct exchange_options o = { .check = 1 };
    struct fabric r;
    long before, failures = 0;

    (void)state;
    fabric_new(&r, "toy4", 0, 0);
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
        fabric_begin(&r);
        for (uint32_t k = 0; k < 8 && f == FAULT_NONE; k++) {
            static const uint32_t event[] = { 0, 10, 74, 90 };
            const struct insn in[] = { in_send(10, FROM, 1),
                                       in_sendpicp(54, FROM + 40, 1, 1 - k % 2, FROM),
                                       in_delayxpic(1, NULL_SOURCE), in_send(2, BASE, 4) };

            fabric_set_word(&r, k % 2, BASE, 1u << 31 | BASE);
            fabric_set_word(&r, k % 2, BASE + 4, 4);
            f = fabric_issue(&r, k % 2, event[k / 2], &in[k / 2]);
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
    fabric_free(&r);
}

#define ON_TOY(test) cmocka_unit_test_setup_teardown(test, toy_new, toy_free)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_TOY(test_stream),
        ON_TOY(test_settings),
        ON_TOY(test_bases),
        cmocka_unit_test(test_silicon),
        cmocka_unit_test(test_pointer_lag),
        ON_TOY(test_pointer_persists),
        ON_TOY(test_pause),
        cmocka_unit_test(test_multicast),
        ON_TOY(test_in_place),
        ON_TOY(test_written),
        ON_TOY(test_groups),
        ON_TOY(test_put_settings),
        ON_TOY(test_host_request),
        ON_TOY(test_votes),
        ON_TOY(test_replay),
        ON_TOY(test_keys),
        cmocka_unit_test(test_pointer_in_key),
        ON_TOY(test_eviction),
        ON_TOY(test_check_compares),
        cmocka_unit_test(test_allocations),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
