/* test_exchange_pairs.c - one word from every tile of mk2 to every other: it arrives when the
 * sender's event is the receiver's less T, and the receiver faults when it listens one event
 * earlier or later, or in the other direction.
 *
 * Each phase has a message of every tile, which sends to the one k places on. Faults are looked for
 * tile by tile. SUPERSTEP_LONG=1 takes every phase through the word-by-word resolver as well.
 */
#include "tests/fixtures/exchange_fixture.h"

enum { WHEN = 112, PAIR_FROM = BASE + 0x400, PAIR_TO = BASE + 0x800 };

static unsigned way(const struct fabric *r, uint32_t s, uint32_t d)
{
    return arch_exchange_direction(&r->arch, arch_tile_physical(&r->arch, s),
                                   arch_tile_physical(&r->arch, d));
}

/* What tile i does: sends so that its word is at its receiver at WHEN, listens at WHEN. */
static void issue_tile(struct fabric *r, uint32_t i, uint32_t d, uint32_t s)
{
    uint32_t source = arch_tile_physical(&r->arch, s), me = arch_tile_physical(&r->arch, i);
    uint32_t event =
        (uint32_t)(WHEN - arch_exchange_delay(&r->arch, me, arch_tile_physical(&r->arch, d)));
    unsigned ctl = way(r, i, d);
    const struct insn send = in_send(1, PAIR_FROM, ctl);
    const struct insn on = in_sendpicp(1, PAIR_FROM, event == WHEN ? ctl : 0, source, PAIR_TO);
    const struct insn off =
        in_sendpicp(1, PAIR_FROM, event == WHEN + 1 ? ctl : 0, NULL_SOURCE, PAIR_TO);
    unsigned wrong = 0;

    if (event < WHEN)
        wrong |= fabric_issue(r, i, event, &send);
    wrong |= fabric_issue(r, i, WHEN, &on);
    wrong |= fabric_issue(r, i, WHEN + 1, &off);
    if (event > WHEN + 1)
        wrong |= fabric_issue(r, i, event, &send);
    assert_int_equal(wrong, FAULT_NONE);
}

static int faults(struct fabric *r, uint32_t d, uint32_t s, enum exchange_fault_kind kind,
                  uint32_t event)
{
    struct exchange_fault f;

    r->x->resolver[0].copies = 0;
    assert_int_equal(exchange_resolve_tile(r->x, &r->x->resolver[0], r->part, d, &f), EMU_OK);
    return f.kind == kind && f.tile == d && f.other == s && f.event == event;
}

/* Counts what is not found when d listens at another event, or s sends into the other direction. */
static unsigned damage(struct fabric *r, uint32_t s, uint32_t d)
{
    struct exchange_log *to = exchange_log_of(r->x, d), *from = exchange_log_of(r->x, s);
    unsigned missed = 0;

    to->mux[0].event--;
    to->mux[1].event--;
    missed += !faults(r, d, s, EXCHANGE_FAULT_SILENT, WHEN - 1);
    to->mux[0].event += 2;
    to->mux[1].event += 2;
    missed += !faults(r, d, s, EXCHANGE_FAULT_SILENT, WHEN + 1);
    to->mux[0].event--;
    to->mux[1].event--;
    from->send[0].ctl ^= 3;
    missed += !faults(r, d, s, EXCHANGE_FAULT_OTHER_WAY, WHEN);
    from->send[0].ctl ^= 3;
    return missed;
}

static void test_all_pairs(void **state)
{
    const struct exchange_phase *p;
    unsigned missed = 0, wrong = 0;
    uint32_t n, pairs = 0;
    struct fabric r;

    (void)state;
    fabric_new(&r, "mk2", 4096, getenv("SUPERSTEP_LONG") != NULL);
    r.x->options.cache_bytes = 1 << 20;
    n = r.arch.tiles;
    for (uint32_t k = 1; k < n; k++) {
        fabric_begin(&r);
        for (uint32_t i = 0; i < n; i++) {
            issue_tile(&r, i, (i + k) % n, (i + n - k) % n);
            fabric_set_word(&r, i, PAIR_FROM, i * 4096 + k);
        }
        fabric_recv(&r, WHEN + 2);
        for (uint32_t d = 0; d < n; d++)
            missed += damage(&r, (d + n - k) % n, d);
        if (exchange_resolve(r.x, r.part, &p) != EMU_OK)
            fail_msg("%s", ss_error());
        assert_int_equal(p->copies, n);
        exchange_deliver(p, r.part, 0, n);
        for (uint32_t d = 0; d < n; d++, pairs++)
            wrong += fabric_word(&r, d, PAIR_TO) != (d + n - k) % n * 4096 + k;
    }
    assert_int_equal(pairs, n * (n - 1));
    assert_int_equal(wrong, 0);
    assert_int_equal(missed, 0);
    fabric_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_pairs) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
