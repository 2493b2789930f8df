/* test_exchange_run.c - runs of exchange instructions against the same instructions decoded and
 * issued one by one: random code, valid or not, to any cycle and to the end of executable memory.
 */
#include "emu/base/random.h"
#include "emu/isa/insn_ops.h"
#include "tests/fixtures/exchange_fixture.h"

enum { TRIALS = 4000, WORDS = 24, MEM_BYTES = 1 << 12 };

static uint64_t rng = 1;

static uint32_t below(uint32_t n)
{
    return random_below(&rng, n);
}

/* Mostly what compiled programs contain; fields are often wrong, too. */
static struct insn random_insn(void)
{
    static const uint16_t op[] = { INSN_send,    INSN_sendoff,   INSN_sendpic,   INSN_sendpicp,
                                   INSN_delay,   INSN_delaypic,  INSN_delayxpic, INSN_send,
                                   INSN_sendpic, INSN_delayxpic, INSN_sans,      INSN_nop };
    struct insn in = { .op = op[below(EMU_COUNT_OF(op) - (below(30) ? 2 : 0))],
                       .i = (int32_t)below(64) };
    uint32_t addr = BASE + 4 * below(MEM_BYTES / 4 - (below(20) ? 64 : 0)),
             source = below(3)    ? NULL_SOURCE
                      : below(20) ? 1 + below(3)
                                  : below(5);

    if (in.op == INSN_send || in.op == INSN_sendpicp) {
        in.j = addr;
        in.k = below(20) ? 1 + below(3) : below(8);
        in.n = source;
        in.o = addr / 4;
        in.l = !below(50);
    } else if (in.op == INSN_sendoff) {
        in.j = below(4);
        in.k = 1 + below(3);
    } else if (in.op == INSN_sendpic) {
        in.j = 2 * below(2) + !below(50);
        in.k = in.j ? addr / 4 : source;
    } else if (in.op == INSN_delaypic || in.op == INSN_delayxpic) {
        in.j = !below(50);
        in.k = in.op == INSN_delaypic ? addr / 4 : source;
    }
    return in;
}

/* Code at an address, the same on both tiles. */
static void put_code(struct fabric *a, struct fabric *b, uint32_t addr)
{
    for (uint32_t at = addr; at < addr + 4 * WORDS && at < BASE + MEM_BYTES;) {
        struct insn in = random_insn();
        uint32_t word[2] = { 0, 0 };
        unsigned n;

        if (in.op == INSN_nop && below(2))
            n = 1, word[0] = random_next(&rng) >> 32;
        else
            n = isa_encode(&in, word);
        for (unsigned k = 0; k < n && at < BASE + MEM_BYTES; k++, at += 4) {
            fabric_set_word(a, 0, at, word[k]);
            fabric_set_word(b, 0, at, word[k]);
        }
    }
}

/* The meaning of exchange_port.run. */
static uint32_t run_one_by_one(struct tile *t, uint64_t until)
{
    uint32_t n = 0;

    while (t->cycle < until) {
        uint32_t pc = t->pc[LANE_SUPER], off = pc - t->mem_base, word[2] = { 0, 0 }, bytes;
        struct insn in, aux;
        int is_bundle;

        if (off >= t->region0_bytes)
            break;
        memcpy(word, t->mem + off, t->region0_bytes - off < 8 ? 4 : 8);
        bytes = isa_decode(word, &in, &aux, &is_bundle);
        if (in.op == INSN_ILLEGAL || is_bundle || in.op == INSN_sans || pc % bytes)
            break;
        if (isa_op_form(in.op)->cost != COST_EVENTS &&
            (isa_op_form(in.op)->cost != COST_SEND || in.k & 4))
            break;
        if (t->exchange->issue(t->exchange, t, &in) != FAULT_NONE)
            break;
        t->cycle += (uint32_t)in.i + 1;
        t->pc[LANE_SUPER] += bytes;
        n++;
    }
    return n;
}

static void expect_same_log(const struct exchange_log *a, const struct exchange_log *b)
{
    assert_int_equal(a->sends, b->sends);
    assert_int_equal(a->muxes, b->muxes);
    assert_int_equal(a->pics, b->pics);
    if (a->sends)
        assert_memory_equal(a->send, b->send, a->sends * sizeof(*a->send));
    if (a->muxes)
        assert_memory_equal(a->mux, b->mux, a->muxes * sizeof(*a->mux));
    if (a->pics)
        assert_memory_equal(a->pic, b->pic, a->pics * sizeof(*a->pic));
    assert_int_equal(a->stream_addr, b->stream_addr);
    assert_int_equal(a->stream_ctl, b->stream_ctl);
    assert_int_equal(a->open, b->open);
}

static void expect_same_tile(const struct tile *a, const struct tile *b)
{
    assert_int_equal(a->cycle, b->cycle);
    assert_int_equal(a->pc[LANE_SUPER], b->pc[LANE_SUPER]);
    assert_int_equal(a->fault.kind, b->fault.kind);
    assert_int_equal(a->fault.cycle, b->fault.cycle);
    assert_memory_equal(a->xcsr, b->xcsr, sizeof(a->xcsr));
}

/* Returns how many instructions were issued. */
static uint32_t trial(uint32_t addr, uint64_t until)
{
    struct fabric a, b;
    uint32_t n;

    fabric_new(&a, "toy4", MEM_BYTES, 0);
    fabric_new(&b, "toy4", MEM_BYTES, 0);
    put_code(&a, &b, addr);
    fabric_begin(&a);
    fabric_begin(&b);
    a.tile[0].pc[LANE_SUPER] = b.tile[0].pc[LANE_SUPER] = addr;
    a.tile[0].state[3] = b.tile[0].state[3] = below(100) ? CONTEXT_INACTIVE : CONTEXT_ACTIVE;
    n = a.tile[0].exchange->run(a.tile[0].exchange, &a.tile[0], until);
    assert_int_equal(n, run_one_by_one(&b.tile[0], until));
    expect_same_tile(&a.tile[0], &b.tile[0]);
    expect_same_log(exchange_log_of(a.x, 0), exchange_log_of(b.x, 0));
    fabric_free(&a);
    fabric_free(&b);
    return n;
}

static void runs_are_single_instructions(void **state)
{
    uint64_t issued = 0;

    (void)state;
    for (unsigned i = 0; i < TRIALS; i++) {
        uint32_t words = below(4) ? below(MEM_BYTES / 4 - WORDS) : MEM_BYTES / 4 - 1 - below(6);

        issued += trial(BASE + 4 * words, FABRIC_RELEASE + below(2000));
    }
    printf("# %llu instructions in %u runs\n", (unsigned long long)issued, TRIALS);
    assert_true(issued > 5 * TRIALS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_single_instructions),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("exchange run", tests, NULL, NULL);
}
