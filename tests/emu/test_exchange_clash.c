/* test_exchange_clash.c - words that are stored in the memory element from which their tile sends
 * or fetches: faults and reports, by element and by pair, and what is no clash.
 *
 * On toy4 T is 10 and the lag 0. Instruction k of a tile stands at BASE + 8 k, so code lies in the
 * lowest element; region 0 is two elements, region 1 one interleaved pair.
 */
#include "emu/arch/arch_numbers.h"
#include "tests/fixtures/exchange_fixture.h"

enum {
    SECOND = BASE + 0x4000,  /* the element of region 0 without code */
    REGION1 = BASE + 0x8000, /* even 64-bit words in one element, odd ones in the other */
    SENT = 40                /* event at which tile 2 sends its first word */
};

struct clash_case {
    const char *what;
    uint32_t sends, receives;            /* addresses of tile 2 */
    uint32_t arrives;                    /* event of the first word */
    uint32_t words;                      /* of both */
    uint32_t pairs;                      /* clash_elements */
    enum exchange_fault_kind kind;       /* NONE: no clash */
    uint32_t event, addr, read, element; /* of the first clash */
    uint32_t clashes;                    /* words */
};

static const struct clash_case cases[] = {
    { "a send and a store in one element", SECOND, SECOND + 0x1000, SENT, 8, 1,
      EXCHANGE_FAULT_CLASH_SEND, SENT, SECOND + 0x1000, SECOND, BASE / 0x4000 + 1, 8 },
    { "they meet for two events only", SECOND, SECOND + 0x1000, SENT + 6, 8, 1,
      EXCHANGE_FAULT_CLASH_SEND, SENT + 6, SECOND + 0x1000, SECOND + 24, BASE / 0x4000 + 1, 2 },
    { "one after the other", SECOND, SECOND + 0x1000, SENT + 8, 8, 1, .kind = EXCHANGE_FAULT_NONE },
    { "region 0 and region 1", SECOND, REGION1, SENT, 8, 1, .kind = EXCHANGE_FAULT_NONE },
    { "both elements of a pair, even words with even ones", REGION1, REGION1 + 0x1000, SENT, 8, 1,
      EXCHANGE_FAULT_CLASH_SEND, SENT, REGION1 + 0x1000, REGION1, BASE / 0x4000 + 2, 8 },
    { "the odd element", REGION1 + 8, REGION1 + 0x1008, SENT, 1, 1, EXCHANGE_FAULT_CLASH_SEND, SENT,
      REGION1 + 0x1008, REGION1 + 8, BASE / 0x4000 + 3, 1 },
    { "even words with odd ones", REGION1, REGION1 + 0x1008, SENT, 8, 1,
      .kind = EXCHANGE_FAULT_NONE },
    { "even words with odd ones, by pairs", REGION1, REGION1 + 0x1008, SENT, 8, 2,
      EXCHANGE_FAULT_CLASH_SEND, SENT, REGION1 + 0x1008, REGION1, BASE / 0x4000 + 2, 8 },
    { "a word later: every second word", REGION1, REGION1 + 0x1004, SENT, 8, 1,
      EXCHANGE_FAULT_CLASH_SEND, SENT, REGION1 + 0x1004, REGION1, BASE / 0x4000 + 2, 4 },
    { "a store beside the code", SECOND, BASE + 0x1000, SENT, 8, 1, EXCHANGE_FAULT_CLASH_FETCH,
      SENT, BASE + 0x1000, BASE + 8 * SENT, BASE / 0x4000, 8 },
};

/* The message to tile 2, and what it sends meanwhile. */
static void issue_case(struct fabric *r, const struct clash_case *c)
{
    uint32_t before = c->arrives - SENT;

    fabric_begin(r);
    issue(r, 3, c->arrives - 10, in_send(c->words, FROM, 1));
    if (before)
        issue(r, 2, SENT - 1, in_delaypic(1, c->receives));
    if (!before) {
        issue(r, 2, SENT, in_sendpicp(c->words, c->sends, 1, 3, c->receives));
    } else if (before < c->words) {
        issue(r, 2, SENT, in_send(before, c->sends, 1));
        issue(r, 2, c->arrives, in_sendpic_source(c->words - before, 3));
    } else {
        issue(r, 2, SENT, in_send(c->words, c->sends, 1));
        issue(r, 2, c->arrives, in_delayxpic(1, 3));
    }
    issue(r, 2, c->arrives + c->words, in_delayxpic(1, NULL_SOURCE));
    fabric_recv(r, 90);
}

static void new_case(struct fabric *r, const struct clash_case *c, enum arch_clash clash)
{
    print_message("%s\n", c->what);
    fabric_new(r, "toy4", 0, 1);
    r->arch.number[ARCH_NUMBER_exchange_clash] = clash;
    r->arch.number[ARCH_NUMBER_clash_elements] = c->pairs;
    issue_case(r, c);
}

static void expect_first(const struct clash_case *c, const struct exchange_fault *f)
{
    assert_string_equal(exchange_fault_name(f->kind), exchange_fault_name(c->kind));
    assert_int_equal(f->tile, 2);
    assert_int_equal(f->other, 3);
    assert_int_equal(f->event, c->event);
    assert_int_equal(f->cycle, FABRIC_RELEASE + c->event);
    assert_int_equal(f->addr, c->addr);
    assert_int_equal(f->other_addr, FROM + 4 * (c->event - c->arrives));
    assert_int_equal(f->value, c->read);
    assert_int_equal(f->element, c->element);
    assert_int_equal(f->pc, BASE + 8 * c->event);
}

static void test_reports(void **state)
{
    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(cases); i++) {
        const struct clash_case *c = &cases[i];
        struct exchange_clashes found;
        struct fabric r;

        new_case(&r, c, ARCH_CLASH_IGNORE);
        assert_int_equal(resolve(&r)->words_in[2], c->words);
        found = exchange_clashes(r.x);
        assert_int_equal(found.total, c->kind != EXCHANGE_FAULT_NONE);
        assert_int_equal(found.words, c->clashes);
        if (found.total) {
            expect_first(c, &found.clash[0].first);
            assert_int_equal(found.clash[0].words, c->clashes);
        }
        fabric_free(&r);
    }
}

static void test_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(cases); i++) {
        const struct clash_case *c = &cases[i];
        const struct exchange_phase *p;
        struct fabric r;

        new_case(&r, c, ARCH_CLASH_FAULT);
        if (c->kind == EXCHANGE_FAULT_NONE) {
            resolve(&r);
        } else {
            assert_int_equal(exchange_resolve(r.x, r.part, &p), EMU_FAULT);
            expect_first(c, exchange_last_fault(r.x));
            assert_int_equal(r.tile[2].fault.kind, FAULT_EXERR);
        }
        assert_int_equal(exchange_clashes(r.x).total, 0);
        fabric_free(&r);
    }
}

static void test_sentences(void **state)
{
    static const char *const text[] = {
        "tile 2 stores a word of tile 3 (its 0x4d000) at 0x51000 in memory element 20 at event 40 "
        "(cycle 1040) while it sends its word at 0x50000 there",
        "tile 2 stores a word of tile 3 (its 0x4d000) at 0x4d000 in memory element 19 at event 40 "
        "(cycle 1040) while it fetches instructions at 0x4c140 there",
    };
    static const size_t number[] = { 0, EMU_COUNT_OF(cases) - 1 };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(number); i++) {
        const struct exchange_phase *p;
        struct fabric r;

        new_case(&r, &cases[number[i]], ARCH_CLASH_FAULT);
        assert_int_equal(exchange_resolve(r.x, r.part, &p), EMU_FAULT);
        assert_string_equal(ss_error(), text[i]);
        fabric_free(&r);
    }
}

/* The words that are fetched with the instruction count, and no byte more. */
static void test_look_ahead(void **state)
{
    static const struct clash_case near = {
        "fetched ahead of the instruction", REGION1, SECOND, SENT, 1, 1, .kind = EXCHANGE_FAULT_NONE
    };
    const uint32_t pc = BASE + 8 * SENT; /* SECOND is that much before the element's end */

    (void)state;
    for (uint32_t more = 0; more < 2; more++) {
        struct exchange_clashes found;
        struct fabric r;

        new_case(&r, &near, ARCH_CLASH_IGNORE);
        r.arch.number[ARCH_NUMBER_fetch_ahead_bytes] = SECOND - pc + 4 * more;
        resolve(&r);
        found = exchange_clashes(r.x);
        assert_int_equal(found.total, more);
        if (more) {
            assert_int_equal(found.clash[0].first.kind, EXCHANGE_FAULT_CLASH_FETCH);
            assert_int_equal(found.clash[0].first.value, pc);
        }
        fabric_free(&r);
    }
}

/* A phase from the cache is reported again; where clashes are faults, one that executes other code
 * is not taken from there. */
static void test_replayed(void **state)
{
    struct fabric r;

    (void)state;
    new_case(&r, &cases[0], ARCH_CLASH_IGNORE);
    resolve(&r);
    issue_case(&r, &cases[0]);
    resolve(&r);
    assert_int_equal(exchange_counts(r.x).replayed, 1);
    assert_int_equal(exchange_clashes(r.x).total, 2);
    assert_int_equal(exchange_clashes(r.x).words, 16);
    fabric_free(&r);

    new_case(&r, &cases[3], ARCH_CLASH_FAULT);
    resolve(&r);
    issue_case(&r, &cases[3]);
    resolve(&r);
    assert_int_equal(exchange_counts(r.x).replayed, 1);
    issue_case(&r, &cases[3]);
    exchange_log_of(r.x, 2)->fetch[0].pc += 8;
    resolve(&r);
    assert_int_equal(exchange_counts(r.x).replayed, 1);
    fabric_free(&r);
}

/* Instructions outside the time in which words may come are forgotten. */
static void test_fetches_kept(void **state)
{
    const struct exchange_log *log;
    struct fabric r;

    (void)state;
    fabric_new(&r, "toy4", 0, 1);
    fabric_begin(&r);
    log = exchange_log_of(r.x, 2);
    for (uint32_t k = 0; k < 9; k++)
        issue(&r, 2, k, in_send(1, FROM, 1));
    assert_int_equal(log->fetches, 1);
    issue(&r, 3, 1, in_send(4, FROM, 1));
    issue(&r, 2, 9, in_delaypic(1, SECOND));
    issue(&r, 2, 10, in_delayxpic(2, 3));
    issue(&r, 2, 15, in_delayxpic(1, NULL_SOURCE));
    for (uint32_t k = 16; k < 30; k++)
        issue(&r, 2, k, in_send(1, FROM, 1));
    assert_int_equal(log->fetches, 2); /* that which listens, and the latest */
    assert_int_equal(log->fetch[0].event, 10);
    assert_int_equal(log->fetch[1].event, 29);
    fabric_free(&r);
}

/* Without checking mode, on a machine that ignores clashes, nothing is noted. */
static void test_off(void **state)
{
    struct fabric r;

    (void)state;
    fabric_new(&r, "toy4", 0, 0);
    issue_case(&r, &cases[0]);
    assert_null(r.tile[2].exchange->fetch);
    resolve(&r);
    assert_int_equal(exchange_clashes(r.x).total, 0);
    fabric_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reports),   cmocka_unit_test(test_faults),
        cmocka_unit_test(test_sentences), cmocka_unit_test(test_look_ahead),
        cmocka_unit_test(test_replayed),  cmocka_unit_test(test_fetches_kept),
        cmocka_unit_test(test_off),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
