/* test_exchange_fault.c - every kind of fault of the fabric, planted once: wrong instructions, and
 * phases that both resolvers must refuse for the same reason.
 */
#include "emu/isa/insn_ops.h"
#include "tests/fixtures/exchange_fixture.h"

/* --- planted damage: at issue --- */

static void test_wrong_instructions(void **state)
{
    static const struct {
        enum exchange_fault_kind kind;
        struct insn in;
    } wrong[] = {
        { EXCHANGE_FAULT_SELF, { .op = INSN_delayxpic, .k = 1 } },
        { EXCHANGE_FAULT_SELF, { .op = INSN_sendpicp, .n = 1, .o = BASE / 4 } },
        { EXCHANGE_FAULT_HOST_SOURCE, { .op = INSN_delayxpic, .k = 0x600 } },
        { EXCHANGE_FAULT_HOST_SOURCE, { .op = INSN_sendpic, .j = 0, .k = 0x63f } },
        { EXCHANGE_FAULT_NO_SOURCE, { .op = INSN_delayxpic, .k = 4 } },
        { EXCHANGE_FAULT_NO_SOURCE, { .op = INSN_delayxpic, .k = 0x641 } },
        { EXCHANGE_FAULT_RESERVED, { .op = INSN_sendpic, .j = 1, .k = 0 } },
        { EXCHANGE_FAULT_RESERVED, { .op = INSN_sendpic, .j = 3, .k = 0 } },
        { EXCHANGE_FAULT_RESERVED, { .op = INSN_sendpic, .j = 0, .k = 1 << 13 } },
        { EXCHANGE_FAULT_RESERVED, { .op = INSN_delaypic, .j = 1, .k = BASE / 4 } },
        { EXCHANGE_FAULT_RESERVED, { .op = INSN_delayxpic, .j = 1, .k = NULL_SOURCE } },
        { EXCHANGE_FAULT_RESERVED,
          { .op = INSN_sendpicp, .l = 1, .n = NULL_SOURCE, .o = BASE / 4 } },
        { EXCHANGE_FAULT_RESERVED,
          { .op = INSN_sendpicp, .n = 1 << 13 | NULL_SOURCE, .o = BASE / 4 } },
        { EXCHANGE_FAULT_WIDE, { .op = INSN_send, .i = 0, .j = FROM, .k = 4 } },
        { EXCHANGE_FAULT_WIDE, { .op = INSN_send, .i = 1, .j = FROM, .k = 5 } },
        { EXCHANGE_FAULT_WIDE, { .op = INSN_sendoff, .i = 1, .k = 4 } },
        { EXCHANGE_FAULT_WIDE,
          { .op = INSN_sendpicp, .j = FROM, .k = 7, .n = NULL_SOURCE, .o = BASE / 4 } },
        { EXCHANGE_FAULT_SEND_OUTSIDE, { .op = INSN_send, .i = 0, .j = BASE - 4, .k = 1 } },
        { EXCHANGE_FAULT_SEND_OUTSIDE, { .op = INSN_send, .i = 1, .j = BASE + 0xfffc, .k = 3 } },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(wrong); i++) {
        const struct exchange_fault *f;
        char text[320];
        struct fabric r;

        fabric_new(&r, "toy4", 0, 0);
        fabric_begin(&r);
        assert_int_equal(fabric_issue_coded(&r, 1, 20, &wrong[i].in), FAULT_EXERR);
        assert_int_equal(r.tile[1].fault.kind, FAULT_EXERR);
        assert_int_equal(r.tile[1].fault.pc, BASE + 8 * 20);
        assert_int_equal(r.tile[1].state[LANE_SUPER], CONTEXT_EXCEPTED);
        f = exchange_last_fault(r.x);
        assert_non_null(f);
        assert_string_equal(exchange_fault_name(f->kind), exchange_fault_name(wrong[i].kind));
        assert_string_equal(r.tile[1].fault.detail, exchange_fault_text(f->kind));
        assert_int_equal(f->tile, 1);
        assert_int_equal(f->event, 20);
        assert_int_equal(f->cycle, FABRIC_RELEASE + 20);
        exchange_fault_print(f, text, sizeof(text));
        assert_non_null(strstr(text, "tile 1 at event 20 (cycle 1020): "));
        fabric_free(&r);
    }
}

static void expect_issue_fault(struct fabric *r, uint32_t event, struct insn in,
                               enum exchange_fault_kind kind)
{
    assert_int_equal(fabric_issue(r, 1, event, &in), FAULT_EXERR);
    assert_int_equal(exchange_log_of(r->x, 1)->fault.kind, kind);
    exchange_log_of(r->x, 1)->fault.kind = EXCHANGE_FAULT_NONE;
}

static void test_wrong_time(void **state)
{
    struct fabric r;

    (void)state;
    fabric_new(&r, "toy4", 0, 0);
    assert_null(exchange_last_fault(r.x));
    expect_issue_fault(&r, 0, in_send(1, FROM, 1), EXCHANGE_FAULT_OUTSIDE_PHASE);
    issue(&r, 1, 0, (struct insn){ .op = INSN_delay, .i = 9 }); /* does nothing, needs no RECV */
    fabric_begin(&r);
    fabric_begin(&r);
    r.tile[1].state[5] = CONTEXT_ACTIVE;
    expect_issue_fault(&r, 0, in_send(1, FROM, 1), EXCHANGE_FAULT_WORKERS);
    expect_issue_fault(&r, 0, (struct insn){ .op = INSN_delay, .i = 9 }, EXCHANGE_FAULT_WORKERS);
    r.tile[1].state[5] = CONTEXT_INACTIVE;
    expect_issue_fault(&r, EXCHANGE_EVENTS - 1, in_send(2, FROM, 1), EXCHANGE_FAULT_TOO_LATE);
    r.tile[1].xcsr[XCSR_OUT_BASE] = 2;
    expect_issue_fault(&r, 0, in_send(1, FROM, 1), EXCHANGE_FAULT_MISALIGNED);
    r.tile[1].xcsr[XCSR_OUT_BASE] = 0;
    issue(&r, 1, 5, in_send(1, FROM, 1));
    fabric_recv(&r, 30);
    expect_issue_fault(&r, 31, in_send(1, FROM, 1), EXCHANGE_FAULT_OUTSIDE_PHASE);
    fabric_recv(&r, 40); /* nothing to end */
    fabric_free(&r);
}

static void test_missing_recv(void **state)
{
    struct fabric r;

    (void)state;
    fabric_new(&r, "toy4", 0, 0);
    fabric_begin(&r);
    issue(&r, 3, 0, in_send(1, FROM, 1));
    resolve(&r);
    assert_int_equal(exchange_begin(r.x, &r.tile[0], 1300), FAULT_NONE);
    r.tile[3].cycle = 1300;
    assert_int_equal(exchange_begin(r.x, &r.tile[3], 1300), FAULT_EXERR);
    assert_int_equal(exchange_last_fault(r.x)->kind, EXCHANGE_FAULT_MISSING_RECV);
    assert_int_equal(exchange_last_fault(r.x)->tile, 3);
    assert_int_equal(exchange_last_fault(r.x)->cycle, 1300);
    fabric_free(&r);
}

static void test_mux_at_recv(void **state)
{
    struct fabric r;

    (void)state;
    fabric_new(&r, "toy4", 0, 0);
    fabric_begin(&r);
    issue(&r, 3, 4, in_delayxpic(1, 2));
    r.tile[3].cycle = FABRIC_RELEASE + 50;
    assert_int_equal(exchange_recv(r.x, &r.tile[3], 50), FAULT_EXERR);
    assert_int_equal(exchange_last_fault(r.x)->kind, EXCHANGE_FAULT_MUX_LEFT_ON);
    assert_int_equal(exchange_last_fault(r.x)->other, 2);
    assert_int_equal(exchange_last_fault(r.x)->event, 50);
    fabric_free(&r);
}

/* --- planted damage: found by resolving --- */

/* The phase has one fault; both resolvers must find it. Of `want` pc, value and cycle are not
 * looked at. */
static void expect_fault(struct fabric *r, const struct exchange_fault *want, const char *text)
{
    const struct exchange_phase *p;
    const struct exchange_fault *f;
    struct exchange_fault second;
    const char *differ;
    uint32_t tile = want->tile;

    assert_int_equal(exchange_resolve(r->x, r->part, &p), EMU_FAULT);
    f = exchange_last_fault(r->x);
    assert_non_null(f);
    assert_string_equal(exchange_fault_name(f->kind), exchange_fault_name(want->kind));
    assert_int_equal(f->tile, tile);
    assert_int_equal(f->event, want->event);
    assert_int_equal(f->cycle, FABRIC_RELEASE + want->event);
    assert_int_equal(f->other, want->other);
    assert_int_equal(f->addr, want->addr);
    assert_int_equal(f->other_addr, want->other_addr);
    assert_string_equal(ss_error(), text);
    assert_int_equal(r->tile[tile].fault.kind, FAULT_EXERR);
    assert_int_equal(r->tile[tile].fault.cycle, FABRIC_RELEASE + want->event);
    assert_string_equal(r->tile[tile].fault.detail, exchange_fault_text(want->kind));
    assert_int_equal(exchange_check(r->x, r->part, NULL, &second, &differ, NULL), EMU_OK);
    assert_true(exchange_fault_equal(f, &second));
    fabric_free(r);
}

/* A phase of a toy machine: whole messages, then single instructions, each up to a row of zeros,
 * and the fault that they add up to. */
struct wrong_phase {
    const char *what;
    struct {
        uint32_t from, to, event, words, addr;
    } message[3];
    struct {
        uint32_t tile, event;
        struct insn in;
    } issue[10];
    int without_tile_0; /* it belongs to another group */
    struct exchange_fault fault;
    const char *text;
};

static void check_wrong_phase(const struct wrong_phase *w)
{
    struct fabric r;

    print_message("%s\n", w->what);
    fabric_new(&r, "toy4", 0, 1);
    fabric_begin(&r);
    for (size_t i = 0; w->message[i].words; i++)
        toy_message(&r, w->message[i].from, w->message[i].to, w->message[i].event,
                    w->message[i].words, w->message[i].addr);
    for (size_t i = 0; w->issue[i].in.op; i++)
        issue(&r, w->issue[i].tile, w->issue[i].event, w->issue[i].in);
    if (w->without_tile_0)
        r.part[0] = NULL;
    expect_fault(&r, &w->fault, w->text);
}

static void test_silent_senders(void **state)
{
    const struct insn stop = in_delayxpic(1, NULL_SOURCE);
    const struct wrong_phase wrong[] = {
        { "a mux opens an event late: there is no last word",
          .issue = { { 3, 110, in_send(4, FROM, 1) },
                     { 1, 121, in_sendpicp(4, 0, 0, 3, TO) },
                     { 1, 125, stop } },
          .fault = { EXCHANGE_FAULT_SILENT, .tile = 1, .event = 124, .other = 3, .addr = TO + 12 },
          .text = "tile 1 listens to tile 3 at event 124 (cycle 1124) but it sends nothing then; "
                  "the word would go to 0x4e00c" },
        { "a mux opens an event early, in a phase with a good message",
          .message = { { 0, 2, .event = 5, .words = 2, TO } },
          .issue = { { 3, 110, in_send(4, FROM, 1) },
                     { 1, 119, in_sendpicp(4, 0, 0, 3, TO) },
                     { 1, 123, stop } },
          .fault = { EXCHANGE_FAULT_SILENT, .tile = 1, .event = 119, .other = 3, .addr = TO },
          .text = "tile 1 listens to tile 3 at event 119 (cycle 1119) but it sends nothing then; "
                  "the word would go to 0x4e000" },
        { "a gap of one event between two sends of one message",
          .issue = { { 3, 10, in_send(4, FROM, 1) },
                     { 3, 15, in_sendoff(4, 0, 1) },
                     { 1, 20, in_sendpicp(8, 0, 0, 3, TO) },
                     { 1, 28, stop } },
          .fault = { EXCHANGE_FAULT_SILENT, .tile = 1, .event = 24, .other = 3, .addr = TO + 16 },
          .text = "tile 1 listens to tile 3 at event 24 (cycle 1024) but it sends nothing then; "
                  "the word would go to 0x4e010" },
        { "the sender belongs to another group",
          .message = { { 0, 2, .event = 5, .words = 2, TO } }, .without_tile_0 = 1,
          .fault = { EXCHANGE_FAULT_SILENT, .tile = 2, .event = 15, .other = 0, .addr = TO },
          .text = "tile 2 listens to tile 0 at event 15 (cycle 1015) but it sends nothing then; "
                  "the word would go to 0x4e000" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(wrong); i++)
        check_wrong_phase(&wrong[i]);
}

static void test_wrong_receivers(void **state)
{
    const struct insn stop = in_delayxpic(1, NULL_SOURCE);
    const struct wrong_phase wrong[] = {
        { "the pointer leaves the memory",
          .message = { { 3, 2, .event = 20, .words = 3, BASE + 0x10000 - 8 } },
          .fault = { EXCHANGE_FAULT_POINTER_OUTSIDE, .tile = 2, .event = 32, .other = 3,
                     .addr = BASE + 0x10000, .other_addr = FROM + 8 },
          .text = "tile 2 receives a word of tile 3 (its 0x4d008) at event 32 (cycle 1032) for "
                  "0x5c000, which is outside tile memory" },
        { "a pointer that was never set is below the memory",
          .issue = { { 3, 20, in_send(1, FROM, 1) },
                     { 2, 30, in_delayxpic(1, 3) },
                     { 2, 31, stop } },
          .fault = { EXCHANGE_FAULT_POINTER_OUTSIDE, .tile = 2, .event = 30, .other = 3,
                     .other_addr = FROM },
          .text = "tile 2 receives a word of tile 3 (its 0x4d000) at event 30 (cycle 1030) for "
                  "0x0, which is outside tile memory" },
        { "two messages for the same words",
          .message = { { 3, 2, .event = 20, .words = 8, TO },
                       { 1, 2, .event = 100, .words = 8, TO - 20 } },
          .fault = { EXCHANGE_FAULT_TWICE, .tile = 2, .event = 115, .other = 1, .addr = TO,
                     .other_addr = FROM + 20 },
          .text = "tile 2 receives a second word for 0x4e000 at event 115 (cycle 1115), from "
                  "0x4d014 of tile 1" },
        { "a mux that stays open",
          .issue = { { 3, 0, in_send(64, FROM, 1) }, { 2, 20, in_sendpicp(1, 0, 0, 3, TO) } },
          .fault = { EXCHANGE_FAULT_MUX_LEFT_ON, .tile = 2, .event = 20, .other = 3 },
          .text = "tile 2 listens to tile 3 at event 20 (cycle 1020) and does not stop before the "
                  "exchange ends" },
        { "of many faults that of the lowest receiver is reported, and there the lowest event",
          .issue = { { 0, 0, in_send(8, FROM, 1) },
                     { 2, 9, in_sendpicp(1, 0, 0, 0, TO) }, /* silent, earlier, but a higher tile */
                     { 2, 10, stop },
                     { 1, 10, in_sendpicp(2, 0, 0, 0, TO) },
                     { 1, 12, stop },
                     { 1, 13, in_delaypic(1, TO + 4) },
                     { 1, 14, in_delayxpic(1, 0) }, /* silent from 18 on */
                     { 1, 30, in_send(1, TO, 1) },  /* replaced long ago, but reported later */
                     { 1, 40, stop } },
          .fault = { EXCHANGE_FAULT_TWICE, .tile = 1, .event = 14, .other = 0, .addr = TO + 4,
                     .other_addr = FROM + 16 },
          .text = "tile 1 receives a second word for 0x4e004 at event 14 (cycle 1014), from "
                  "0x4d010 of tile 0" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(wrong); i++)
        check_wrong_phase(&wrong[i]);
}

static void test_other_way(void **state)
{
    static const struct exchange_fault fault = {
        EXCHANGE_FAULT_OTHER_WAY, .tile = 0, .event = 301, .other = 17, .addr = TO + 4,
        .other_addr = FROM + 4
    };
    uint32_t source;
    unsigned ways;
    int delay;
    struct fabric r;

    (void)state;
    fabric_new(&r, "mk2", 65536, 1);
    fabric_begin(&r);
    source = arch_tile_physical(&r.arch, 17);
    ways = arch_exchange_direction(&r.arch, source, 0);
    delay = arch_exchange_delay(&r.arch, source, 0);
    issue(&r, 17, (uint32_t)(300 - delay), in_send(1, FROM, 3));
    issue(&r, 17, (uint32_t)(301 - delay), in_sendoff(1, 0, 3 - ways));
    issue(&r, 0, 0, in_delaypic(1, TO));
    issue(&r, 0, 300, in_delayxpic(1, source));
    issue(&r, 0, 302, in_delayxpic(1, NULL_SOURCE));
    expect_fault(&r, &fault,
                 "tile 0 listens to tile 17 at event 301 (cycle 1301) but it sends the word at "
                 "0x4d004 only into the other direction");
}

/* Tile 2 sends FROM .. FROM + 8 at events 40 .. 42; the last of 3 words from tile 3 replaces FROM +
 * 8 at event `arrives`. */
static void send_and_replace(struct fabric *r, uint32_t arrives)
{
    fabric_begin(r);
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
    static const struct exchange_fault fault = {
        EXCHANGE_FAULT_REPLACED, .tile = 2, .event = 40, .other = 3, .addr = FROM,
        .other_addr = BASE
    };
    static const char text[] = "tile 2 sends its word at 0x4d000 at event 40 (cycle 1040) but the "
                               "replacement, 0x4c000 of tile 3, has arrived by then";
    struct fabric r;

    (void)state;
    fabric_new(&r, "toy4", 0, 1);
    send_and_replace(&r, 43); /* each word is read one event before its replacement comes */
    fabric_recv(&r, 60);
    assert_true(resolve(&r)->overlaps);
    fabric_begin(&r);
    issue(&r, 3, 30, in_send(3, BASE, 1));
    issue(&r, 2, 40, in_sendpicp(3, FROM, 1, 3, FROM)); /* in the same event */
    issue(&r, 2, 43, in_delayxpic(1, NULL_SOURCE));
    expect_fault(&r, &fault, text);
    fabric_new(&r, "toy4", 0, 1);
    send_and_replace(&r, 30); /* long before */
    expect_fault(&r, &fault, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_instructions), cmocka_unit_test(test_wrong_time),
        cmocka_unit_test(test_missing_recv),       cmocka_unit_test(test_mux_at_recv),
        cmocka_unit_test(test_silent_senders),     cmocka_unit_test(test_wrong_receivers),
        cmocka_unit_test(test_other_way),          cmocka_unit_test(test_replaced),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
