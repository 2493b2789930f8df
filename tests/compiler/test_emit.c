/* test_emit.c - the code of tiles: every construct, made by hand, against a model of the steps
 * in C, on machines that check; how long it takes, how short it is, what the image says about it.
 * test_emit_random.c has random programs.
 */
#include "emu/arch/arch_numbers.h"
#include "emu/isa/csr_names.h"
#include "emu/isa/insn_ops.h"
#include "programs/compiler/emit/emit_index.h"
#include "programs/library/kernel/codelet_table.h"
#include "tests/fixtures/emit_fixture.h"

enum { START_WORDS = 8 }; /* sync, setzi and six puts of the start state, before everything else */

/* Without the codelets and the start state. */
static uint32_t own_code_bytes(const struct emit_fixture *r, uint32_t tile)
{
    return r->place.tile[tile].code_bytes - (r->codelets.bytes + 7) / 8 * 8 - 4 * START_WORDS;
}

/* Reads the instruction at a word of a tile's own code, and returns the word after it. */
static uint32_t code_at(const struct emit_fixture *r, uint32_t tile, uint32_t at, struct insn *in)
{
    const struct image_tile *t = image_find_tile(r->im, 0, r->used[tile]);
    const struct image_segment *s = image_segment_at(r->im, t->first_segment + 1);
    uint32_t bytes, word[2] = { 0, 0 };
    const uint8_t *code = image_blob_bytes(r->im, s->blob, &bytes);
    struct insn aux;
    int is_bundle;

    assert_true(s->addr == t->entry && bytes >= 4 * (at + 1));
    memcpy(word, code + 4 * at, bytes - 4 * at < 8 ? 4 : 8);
    return at + isa_decode(word, in, &aux, &is_bundle) / 4;
}

/* The first instructions of a tile's own code after the start state are these. */
static void expect_code(const struct emit_fixture *r, uint32_t tile, const uint16_t *op, size_t n)
{
    struct insn in;

    for (uint32_t i = 0; i < n; i++) {
        code_at(r, tile, START_WORDS + i, &in);
        if (in.op != op[i])
            fail_msg("word %u of tile %u: %s, expected %s", i, tile, isa_op_form(in.op)->mnemonic,
                     isa_op_form(op[i])->mnemonic);
    }
}

/* ---- the start state ---- */

/* The program waits for workers of its loader, and registers that the code relies on hold something
 * else when it begins; it computes the same, and sets them once however often it runs. */
static void test_start_state(void **state)
{
    static const uint8_t csr[START_WORDS - 2] = { CSR_S_INCOMING_BASE,   CSR_S_INCOMING_DELTA,
                                                  CSR_S_INCOMING_FORMAT, CSR_S_OUTGOING_BASE,
                                                  CSR_S_FP_ICTL,         CSR_S_INCOMING_MUX };
    static const uint32_t data[2] = { 9, 8 };
    const uint32_t physical = 3, esr = 1 << 19;
    struct emit_fixture r;
    uint32_t from, to;
    struct insn in;

    (void)state;
    emit_fixture_new(&r, "toy4", 2, 1, 4);
    from = emit_fixture_object(&r, 0, 2, CATEGORY_VARIABLE, "from", data);
    to = emit_fixture_object(&r, 1, 2, CATEGORY_VARIABLE, "to", NULL);
    emit_fixture_step(&r, STEP_EXCHANGE, 1, "move");
    emit_fixture_transfer(&r, from, 0, 8);
    emit_fixture_dest(&r, to, 0);
    emit_fixture_main(&r);
    for (uint32_t i = 0; i < START_WORDS; i++) {
        code_at(&r, 0, i, &in);
        if (i == 0)
            assert_true(in.op == INSN_sync && in.i == SYNC_LOCAL);
        else if (i == 1)
            assert_true(in.op == INSN_setzi_m && in.i == (int32_t)r.g.arch.null_source);
        else
            assert_true(in.op == INSN_put && in.i == csr[i - 2] && in.a == (i < 7 ? 15 : 5));
    }
    emit_fixture_begin(&r, 1, 2);
    for (uint32_t tile = 0; tile < 2; tile++) {
        struct tile *t = machine_tile(r.run->machine, tile);

        for (size_t i = 0; i < EMU_COUNT_OF(csr); i++) {
            uint32_t junk = csr[i] == CSR_S_INCOMING_MUX ? physical
                            : csr[i] == CSR_S_FP_ICTL    ? esr
                                                         : 64;

            tile_csr_put(t, LANE_SUPER, 'S', csr[i], junk);
            assert_int_equal(tile_csr_get(t, LANE_SUPER, 'S', csr[i]), junk);
        }
    }
    emit_fixture_finish(&r);
    assert_true(emit_fixture_word(&r, to, 0) == 9 && emit_fixture_word(&r, to, 1) == 8);
    for (uint32_t i = 0; i < EMU_COUNT_OF(csr); i++) {
        uint32_t want = csr[i] == CSR_S_INCOMING_MUX ? r.g.arch.null_source : 0;

        assert_int_equal(tile_csr_get(machine_tile(r.run->machine, 0), LANE_SUPER, 'S', csr[i]),
                         want);
    }
    code_at(&r, 0, START_WORDS + own_code_bytes(&r, 0) / 4 - 1, &in);
    assert_true(in.op == INSN_bri &&
                (uint32_t)in.i == image_find_tile(r.im, 0, 0)->entry + 4 * START_WORDS);
    emit_fixture_free(&r);
}

/* ---- launches ---- */

/* Many launches in a row, two codelets in turns: nothing but the launches costs time. */
static void test_launches_lose_no_cycle(void **state)
{
    uint64_t cycles[2];

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct emit_fixture r;
        uint32_t n;

        emit_fixture_new(&r, "toy4", 1, 1, 4);
        n = emit_fixture_notes(&r, 0);
        emit_fixture_step(&r, STEP_CALLS, 1, "work");
        for (unsigned i = 0; i < 10 + 20 * k; i++) {
            emit_fixture_call_value(&r, 0, i % 2 ? EMIT_SET : EMIT_ADD, n, i);
            if (i % 4 == 1) /* the state of the call before once more */
                r.l.call.at[i].state = r.l.call.at[i - 1].state;
        }
        emit_fixture_main(&r);
        emit_fixture_compare(&r, 1, 1);
        cycles[k] = machine_cycles(r.run->machine);
        /* two entries; state (but for those that are there already), launch, wait; sync, jump */
        assert_int_equal(own_code_bytes(&r, 0), 4 * (2 + (k ? 3 * 30 - 8 : 3 * 10 - 3) + 2));
        if (k) {
            /* worker 0 issues 7 slots in EMIT_SET, 9 in EMIT_ADD (docs/timing.md 4) */
            uint64_t want =
                10 * (codelet_multi_cycles(&r.g.arch, 7) + codelet_multi_cycles(&r.g.arch, 9));

            want -= 20 * (r.g.arch.workers - 1); /* it is not the last one in its round */
            assert_int_equal(cycles[1] - cycles[0], want);
        }
        emit_fixture_free(&r);
    }
}

/* A loop that begins with a launch: an iteration is its codelets and a taken branch. */
static void test_loops_lose_no_cycle(void **state)
{
    (void)state;
    for (unsigned calls = 1; calls <= 2; calls++) {
        uint64_t cycles[2], want = 0;

        for (unsigned k = 0; k < 2; k++) {
            struct emit_fixture r;
            uint32_t n;

            emit_fixture_new(&r, "toy4", 1, 1, 4);
            n = emit_fixture_notes(&r, 0);
            emit_fixture_repeat(&r, 1, 10 + 20 * k);
            emit_fixture_step(&r, STEP_CALLS, 1, "work");
            for (unsigned i = 0; i < calls; i++)
                emit_fixture_call_value(&r, 0, i % 2 ? EMIT_SET : EMIT_ADD, n, i);
            emit_fixture_end(&r, 1);
            emit_fixture_main(&r);
            emit_fixture_compare(&r, 1, 1);
            cycles[k] = machine_cycles(r.run->machine);
            want = codelet_multi_cycles(&r.g.arch, 9) - (r.g.arch.workers - 1);
            if (calls == 2)
                want += codelet_multi_cycles(&r.g.arch, 7) - (r.g.arch.workers - 1);
            want += arch_sup_branch_cycles(&r.g.arch);
            emit_fixture_free(&r);
        }
        assert_int_equal(cycles[1] - cycles[0], 20 * want);
    }
}

static void test_supervisor_codelets(void **state)
{
    struct emit_fixture r;
    uint32_t n;

    (void)state;
    emit_fixture_new(&r, "toy4", 1, 1, 4);
    n = emit_fixture_notes(&r, 0);
    emit_fixture_step(&r, STEP_CALLS, 1, "work");
    for (unsigned i = 0; i < 12; i++)
        emit_fixture_call_value(&r, 0, i % 3 ? EMIT_NOTE_SUPER : EMIT_NOTE, n, i);
    emit_fixture_repeat(&r, 1, 3);
    emit_fixture_step(&r, STEP_CALLS, 1, "work");
    emit_fixture_call_value(&r, 0, EMIT_NOTE_SUPER, n, 77);
    emit_fixture_call_value(&r, 0, EMIT_NOTE, n, 78);
    emit_fixture_end(&r, 1);
    emit_fixture_main(&r);
    emit_fixture_compare(&r, 1, 2);
    emit_fixture_free(&r);
}

/* ---- loops ---- */

/* Loops with counters, `depth` deep, with a call before and after each inner loop. */
static void nest(struct emit_fixture *r, const uint32_t *n, uint32_t depth, uint32_t value)
{
    static const uint32_t times[] = { 2, 3, 2, 1, 2, 3, 2, 2 };

    emit_fixture_repeat(r, 1, times[depth]);
    emit_fixture_step(r, STEP_CALLS, 1, "work");
    emit_fixture_call_value(r, 0, EMIT_NOTE, n[0], value + depth);
    emit_fixture_call_value(r, 1, EMIT_NOTE, n[1], 3 * depth);
    if (depth) {
        nest(r, n, depth - 1, value);
        emit_fixture_step(r, STEP_CALLS, 1, "work");
        emit_fixture_call_value(r, 0, EMIT_NOTE_SUPER, n[0], 100 + depth);
    }
    emit_fixture_end(r, 1);
}

static void test_nested_loops(void **state)
{
    (void)state;
    for (uint32_t depth = 0; depth < 8; depth++) {
        struct emit_fixture r;
        uint32_t n[2];

        emit_fixture_new(&r, "toy4", 2, 1, 4);
        n[0] = emit_fixture_notes(&r, 0);
        n[1] = emit_fixture_notes(&r, 1);
        nest(&r, n, depth, 5);
        nest(&r, n, depth, 500);
        emit_fixture_main(&r);
        emit_fixture_compare(&r, 1, 2);
        emit_fixture_free(&r);
    }
}

/* Counts at the limits of the counter: none, one, and more than setzi can hold are compiled; the
 * last is only looked at. */
static void test_repeat_counts(void **state)
{
    static const uint32_t times[] = { 0, 1, 2, 300 };
    struct emit_fixture r;
    uint32_t bytes, n;

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(times); i++) {
        emit_fixture_new(&r, "toy4", 1, 1, 4);
        n = emit_fixture_notes(&r, 0);
        emit_fixture_repeat(&r, 1, times[i]);
        emit_fixture_step(&r, STEP_CALLS, 1, "work");
        emit_fixture_call_value(&r, 0, EMIT_NOTE, n, 3);
        emit_fixture_end(&r, 1);
        emit_fixture_main(&r);
        emit_fixture_compare(&r, 1, 2);
        assert_int_equal(r.model[n][0], 1 + 2 * times[i]);
        bytes = own_code_bytes(&r, 0);
        /* setzi, setzi, runall, sync, host sync, jump; with a loop a counter and a branch */
        assert_int_equal(bytes, 4 * (times[i] ? times[i] > 1 ? 8 : 6 : 2));
        emit_fixture_free(&r);
    }
    emit_fixture_new(&r, "toy4", 1, 1, 4);
    n = emit_fixture_notes(&r, 0);
    emit_fixture_repeat(&r, 1, 0x12345679);
    emit_fixture_step(&r, STEP_CALLS, 1, "work");
    emit_fixture_call_value(&r, 0, EMIT_NOTE, n, 3);
    emit_fixture_end(&r, 1);
    emit_fixture_main(&r);
    {
        struct insn in;

        code_at(&r, 0, START_WORDS, &in);
        assert_true(in.op == INSN_setzi_m && in.d == 6 && in.i == 0x45678);
        code_at(&r, 0, START_WORDS + 1, &in);
        assert_true(in.op == INSN_or_mh12 && in.d == 6 && in.a == 6 && in.i == 0x12300000);
    }
    emit_fixture_free(&r);
}

/* ---- tiles without a part ---- */

/* 3 exchanges between tiles 0 and 1, 1,000 times; tile 2 has nothing to do but is in the group: it
 * walks through the loop. */
static void test_idle_tile_votes(void **state)
{
    static const uint32_t data[4] = { 9, 8, 7, 6 };
    struct emit_fixture r;
    uint32_t from, to, bytes;

    (void)state;
    emit_fixture_new(&r, "toy4", 3, 1, 4);
    from = emit_fixture_object(&r, 0, 4, CATEGORY_VARIABLE, "from", data);
    to = emit_fixture_object(&r, 1, 4, CATEGORY_VARIABLE, "to", data);
    emit_fixture_repeat(&r, 1, 1000);
    for (unsigned i = 0; i < 3; i++) {
        emit_fixture_step(&r, STEP_EXCHANGE, 1, "move");
        emit_fixture_transfer(&r, from, 4 * i, 4);
        emit_fixture_dest(&r, to, 12 - 4 * i);
    }
    emit_fixture_step(&r, STEP_CALLS, 1, "work");
    emit_fixture_call_value(&r, 0, EMIT_NOTE, from, 1);
    emit_fixture_end(&r, 1);
    emit_fixture_main(&r);
    emit_fixture_compare(&r, 1, 2);
    bytes = own_code_bytes(&r, 2);
    /* counter; sync, vote for two, sync ANS, branch; sync of the host, jump */
    assert_int_equal(bytes, 4 * (1 + 4 + 2));
    assert_int_equal(machine_supersteps(r.run->machine, 0), 2 * 3001);
    emit_fixture_free(&r);
}

/* Constants are loaded after a vote and in front of what waits for it; one sync needs no vote, and
 * nobody votes for more than two at once. */
static void test_votes_come_first(void **state)
{
    static const uint16_t three[] = { INSN_sync,   INSN_sans, INSN_setzi_m, INSN_setzi_m, INSN_sync,
                                      INSN_runall, INSN_sync, INSN_sync,    INSN_bri };
    static const uint16_t two[] = { INSN_sans,   INSN_setzi_m, INSN_setzi_m, INSN_sync,
                                    INSN_runall, INSN_sync,    INSN_sync,    INSN_bri };
    static const uint16_t one[] = { INSN_setzi_m, INSN_setzi_m, INSN_sync, INSN_runall,
                                    INSN_sync,    INSN_sync,    INSN_bri };
    static const struct {
        const uint16_t *op;
        size_t count;
    } code[] = { { one, EMU_COUNT_OF(one) },
                 { two, EMU_COUNT_OF(two) },
                 { three, EMU_COUNT_OF(three) } };
    static const uint32_t data[1] = { 9 };

    (void)state;
    for (unsigned k = 1; k <= EMU_COUNT_OF(code); k++) {
        struct emit_fixture r;
        uint32_t from, to, n;

        emit_fixture_new(&r, "toy4", 3, 1, 4);
        from = emit_fixture_object(&r, 0, 1, CATEGORY_VARIABLE, "from", data);
        to = emit_fixture_object(&r, 1, 1, CATEGORY_VARIABLE, "to", data);
        n = emit_fixture_notes(&r, 2);
        for (unsigned i = 0; i < k; i++) {
            emit_fixture_step(&r, STEP_EXCHANGE, 1, "move");
            emit_fixture_transfer(&r, from, 0, 4);
            emit_fixture_dest(&r, to, 0);
        }
        emit_fixture_step(&r, STEP_CALLS, 1, "work");
        emit_fixture_call_value(&r, 2, EMIT_NOTE, n, 5);
        emit_fixture_main(&r);
        emit_fixture_compare(&r, 1, 2);
        expect_code(&r, 2, code[k - 1].op, code[k - 1].count);
        emit_fixture_free(&r);
    }
}

/* A loop of few syncs is written out on a tile without a part, a loop of more stays a loop; both
 * cost the others nothing. */
static void test_many_votes(void **state)
{
    static const uint32_t data[1] = { 9 };
    static const uint32_t times[] = { VOTES_MAX, VOTES_MAX + 1 };
    static const uint32_t words[] = { VOTES_MAX, 3 }; /* syncs; counter, sync, branch */

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(times); i++) {
        uint64_t cycles[2];

        for (uint32_t idle = 0; idle < 2; idle++) {
            struct emit_fixture r;
            uint32_t from, to;

            emit_fixture_new(&r, "toy4", 2 + idle, 1, 4);
            from = emit_fixture_object(&r, 0, 1, CATEGORY_VARIABLE, "from", data);
            to = emit_fixture_object(&r, 1, 1, CATEGORY_VARIABLE, "to", data);
            emit_fixture_repeat(&r, 1, times[i]);
            emit_fixture_step(&r, STEP_EXCHANGE, 1, "move");
            emit_fixture_transfer(&r, from, 0, 4);
            emit_fixture_dest(&r, to, 0);
            emit_fixture_end(&r, 1);
            emit_fixture_main(&r);
            emit_fixture_compare(&r, 1, 1);
            cycles[idle] = machine_cycles(r.run->machine);
            if (idle) /* and the sync of the host, the jump */
                assert_int_equal(own_code_bytes(&r, 2), 4 * (words[i] + 2));
            emit_fixture_free(&r);
        }
        assert_int_equal(cycles[0], cycles[1]);
    }
}

/* Nobody has a part in an exchange: somebody must wait in it all the same. */
static void test_empty_exchange(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct emit_fixture r;

        emit_fixture_new(&r, "toy4", 3, 1, 4);
        emit_fixture_repeat(&r, 1, 4);
        emit_fixture_step(&r, k ? STEP_HOST : STEP_EXCHANGE, 1, "nothing");
        emit_fixture_step(&r, k ? STEP_HOST : STEP_EXCHANGE, 1, "nothing");
        emit_fixture_step(&r, k ? STEP_HOST : STEP_EXCHANGE, 2, "of a group that has no tiles");
        emit_fixture_end(&r, 1);
        emit_fixture_main(&r);
        emit_fixture_compare(&r, 1, 2);
        assert_int_equal(machine_supersteps(r.run->machine, 0), 2 * 9);
        assert_int_equal(own_code_bytes(&r, 0), 4 * 6); /* counter, two syncs, branch; sync, jump */
        /* six syncs, a vote for two, sync ANS; sync, jump */
        assert_int_equal(own_code_bytes(&r, 1), 4 * (6 + 2 + 2));
        emit_fixture_free(&r);
    }
}

/* ---- the end of an exchange ---- */

/* RECV issues one event before the last word is in memory, or as soon as the instructions before it
 * are over: what follows it finds all words even if RECV does not wait. By the code of one tile,
 * which takes part in all exchanges; step 2i is exchange i. */
static void expect_timed_receives(const struct emit_fixture *r, uint32_t tile, uint32_t exchanges)
{
    uint32_t at = START_WORDS, delays = 0;
    struct insn in;

    for (uint32_t i = 0; i < exchanges; i++) {
        const struct tile_schedule *s = exchange_schedule_of(&r->schedule[2 * i], r->used[tile]);
        uint32_t events = s->end_event, least = events;

        do
            at = code_at(r, tile, at, &in);
        while (in.op != INSN_sync || in.i != SYNC_INTERNAL);
        for (uint32_t k = 0; k < s->insns; k++)
            at = code_at(r, tile, at, &in);
        at = code_at(r, tile, at, &in);
        for (; in.op != INSN_sync; at = code_at(r, tile, at, &in)) {
            events += in.op == INSN_delay ? (uint32_t)in.i + 1 : 1;
            least += in.op != INSN_delay;
            delays += in.op == INSN_delay;
        }
        assert_int_equal(in.i, SYNC_RECV);
        assert_true(s->arrival > s->end_event);
        assert_int_equal(events, s->arrival > least + 1 ? s->arrival - 1 : least);
    }
    assert_int_equal(delays, exchanges);
}

/* Exchanges among four tiles of a chip, one after another, with launches between some of them. */
static void test_exchanges_end_by_time(void **state)
{
    enum { TILES = 4, EXCHANGES = 6, WORDS = 5 };
    static const uint32_t data[WORDS] = { 9, 8, 7, 6, 5 };
    struct emit_fixture r;
    uint32_t from[TILES], to[TILES], notes[TILES];

    (void)state;
    emit_fixture_new(&r, "mk2", TILES, 350, TILES);
    for (uint32_t t = 0; t < TILES; t++) {
        from[t] = emit_fixture_object(&r, t, WORDS, CATEGORY_VARIABLE, "from", data);
        to[t] = emit_fixture_object(&r, t, WORDS, CATEGORY_VARIABLE, "to", NULL);
        notes[t] = emit_fixture_notes(&r, t);
    }
    for (uint32_t i = 0; i < EXCHANGES; i++) {
        emit_fixture_step(&r, STEP_EXCHANGE, 1, "move");
        for (uint32_t t = 0; t < TILES; t++) {
            emit_fixture_transfer(&r, from[t], 0, 4 * (1 + i % WORDS));
            emit_fixture_dest(&r, to[(t + 1 + i % (TILES - 1)) % TILES], 0);
        }
        emit_fixture_step(&r, STEP_CALLS, 1, "work");
        for (uint32_t t = 0; t < TILES && i % 2; t++)
            emit_fixture_call(&r, t, EMIT_NOTE_WORD, notes[t], (struct object_word){ to[t], 0 });
    }
    emit_fixture_main(&r);
    emit_fixture_compare(&r, 1, 1);
    for (uint32_t t = 0; t < TILES; t++)
        expect_timed_receives(&r, t, EXCHANGES);
    emit_fixture_free(&r);
}

/* ---- the host ---- */

/* Rounds that some tiles do not take part in; the order on the link is that of rounds, then tiles.
 */
static void test_host_rounds(void **state)
{
    static const uint32_t data[32] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    struct emit_fixture r;
    uint32_t o[4];

    (void)state;
    emit_fixture_new(&r, "toy4", 4, 1, 4);
    emit_fixture_streams(&r);
    for (uint32_t i = 0; i < 4; i++)
        o[i] = emit_fixture_object(&r, i, 32, CATEGORY_VARIABLE, "block", data);
    emit_fixture_repeat(&r, 1, 3);
    emit_fixture_step(&r, STEP_HOST, 1, "read");
    emit_fixture_request(&r, 0, 0, 0, o[0], 0, 4);
    emit_fixture_request(&r, 0, 4, 0, o[0], 8, 12);
    emit_fixture_request(&r, 1, 1, 0, o[1], 0, 16);
    emit_fixture_request(&r, 3, 0, 0, o[3], 0, 20);
    emit_fixture_request(&r, 3, 1, 0, o[3], 24, 4);
    emit_fixture_request(&r, 3, 4, 0, o[3], 32, 64);
    emit_fixture_step(&r, STEP_CALLS, 1, "work");
    emit_fixture_call_value(&r, 3, EMIT_ADD, o[3], 11);
    emit_fixture_step(&r, STEP_HOST, 1, "write");
    emit_fixture_request(&r, 0, 2, 1, o[0], 0, 64);
    emit_fixture_request(&r, 1, 0, 1, o[1], 0, 16);
    emit_fixture_request(&r, 3, 0, 1, o[3], 0, 128);
    emit_fixture_request(&r, 3, 2, 1, o[3], 0, 4);
    emit_fixture_end(&r, 1);
    emit_fixture_main(&r);
    emit_fixture_compare(&r, 1, 2);
    assert_true(r.taken == 2 * 3 * 120 && r.given == 2 * 3 * 212);
    assert_int_equal(image_stream_count(r.im), 2);
    assert_string_equal(image_text(r.im, image_stream_at(r.im, 1)->name), "results");
    assert_int_equal(image_stream_at(r.im, 0)->depth, 6); /* all requests of one transfer */
    emit_fixture_free(&r);
}

/* ---- the image ---- */

/* The owner of a byte by the map of the image; NULL in a gap. */
static const char *owner_of(const struct emit_fixture *r, uint32_t tile, uint32_t addr,
                            const char **category)
{
    const struct image_tile *t = image_find_tile(r->im, 0, r->used[tile]);
    size_t n;
    const struct image_range *m = image_map_of(r->im, t->map, &n);

    for (size_t i = 0; i < n; i++) {
        if (m[i].addr <= addr && addr - m[i].addr < m[i].bytes) {
            *category = image_text(r->im, m[i].category);
            return image_text(r->im, m[i].owner);
        }
    }
    *category = NULL;
    return NULL;
}

static void test_map_and_symbols(void **state)
{
    static const uint32_t data[4] = { 9, 8, 7, 6 };
    struct emit_fixture r;
    uint32_t o, n, code, offset;
    const struct image_tile *t;
    const char *category;

    (void)state;
    emit_fixture_new(&r, "toy4", 2, 1, 4);
    o = emit_fixture_object(&r, 0, 4, CATEGORY_VARIABLE, "net/weights", data);
    n = emit_fixture_object(&r, 1, 4, CATEGORY_CONSTANT, "net/table", data);
    emit_fixture_streams(&r);
    emit_fixture_step(&r, STEP_CALLS, 1, "net/first");
    emit_fixture_call_value(&r, 0, EMIT_NOTE, o, 3);
    emit_fixture_step(&r, STEP_EXCHANGE, 1, "net/second");
    emit_fixture_transfer(&r, o, 0, 8);
    emit_fixture_dest(&r, n, 8);
    emit_fixture_step(&r, STEP_HOST, 1, "net/third");
    emit_fixture_request(&r, 0, 0, 1, o, 0, 16);
    emit_fixture_step(&r, STEP_CALL, 1, "net/fourth")->n = 1;
    emit_fixture_function(&r, "program");
    emit_fixture_step(&r, STEP_CALL, 1, "net/fifth")->n = 2;
    emit_fixture_function(&r, "outer");
    emit_fixture_step(&r, STEP_CALLS, 1, "net/sixth");
    emit_fixture_call_value(&r, 0, EMIT_NOTE, o, 3);
    emit_fixture_function(&r, "inner");
    emit_fixture_place(&r, 1);
    emit_fixture_emit(&r, 1);
    emit_fixture_compare(&r, 1, 2);
    emit_fixture_check_maps(&r);
    t = image_find_tile(r.im, 0, 0);
    code = t->entry;
    assert_int_equal(code, ss_arch_loader_base(&r.g.arch) + (r.codelets.bytes + 7) / 8 * 8);
    assert_string_equal(owner_of(&r, 0, r.codelets.addr, &category), "rig");
    assert_string_equal(category, "vertex code");
    assert_string_equal(owner_of(&r, 0, code, &category), "program"); /* start state, */
    code += 4 * START_WORDS;
    assert_string_equal(owner_of(&r, 0, code, &category), "program"); /* address of the stack */
    assert_string_equal(owner_of(&r, 0, code + 4, &category), "net/first");
    assert_string_equal(category, "control code");
    assert_string_equal(owner_of(&r, 0, r.l.object.at[o].addr + 3, &category), "net/weights");
    assert_string_equal(category, "variable");
    assert_string_equal(owner_of(&r, 1, r.l.object.at[n].addr, &category), "net/table");
    assert_string_equal(category, "constant");
    assert_int_equal(image_category_bytes(r.im, t, image_find_string(r.im, "stack")), 4);
    assert_int_equal(image_category_bytes(r.im, t, image_find_string(r.im, "host code")),
                     8 + 3 * 4); /* header; sync, send, sync RECV */
    assert_string_equal(image_symbolize(r.im, t, r.l.object.at[o].addr + 4, &offset),
                        "net/weights");
    assert_int_equal(offset, 4);
    assert_string_equal(image_symbolize(r.im, t, code, &offset), "program");
    assert_string_equal(image_symbolize(r.im, t, code + 4, &offset), "net/first");
    assert_string_equal(image_symbolize(r.im, t, r.codelets.entry[EMIT_SET], &offset), "set");
    assert_string_equal(image_source(r.im, t, r.codelets.addr, &offset), "rig.S");
    emit_fixture_free(&r);
}

/* The codelets of the project: each is the owner of its code, no byte of it is without one. */
static void test_map_of_real_codelets(void **state)
{
    const struct codelet *set[] = { &codelet_table[1], &codelet_table[0] };
    struct emit_fixture r;
    struct codelet_code own;
    const char *category;

    (void)state;
    for (unsigned with = 0; with < 2; with++) {
        emit_fixture_new(&r, "toy4", 1, 1, 4);
        own = r.codelets;
        if (codelet_link(&r.g.arch, set, 2 * with, ss_arch_loader_base(&r.g.arch), &r.codelets) !=
            EMU_OK)
            fail_msg("%s", ss_error());
        emit_fixture_step(&r, STEP_CALLS, 1, "nothing");
        emit_fixture_main(&r);
        emit_fixture_check_maps(&r);
        for (uint32_t i = 0; i < 2 * with; i++) {
            const char *owner = owner_of(&r, 0, r.codelets.entry[i], &category);

            assert_string_equal(owner, set[i]->name);
            assert_string_equal(category, "vertex code");
        }
        for (uint32_t k = 0; k < r.codelets.bytes; k += 4)
            assert_non_null(owner_of(&r, 0, r.codelets.addr + k, &category));
        codelet_code_free(&r.codelets);
        r.codelets = own;
        emit_fixture_free(&r);
    }
}

/* Objects that share bytes: the one alive at the peak is named, where that is not there, the first.
 */
static void test_map_of_overlapping_objects(void **state)
{
    struct emit_fixture r;
    struct object *o;
    uint32_t first, second, top;
    const char *category;

    (void)state;
    for (uint32_t peak = 0; peak < 2; peak++) {
        emit_fixture_new(&r, "toy4", 1, 1, 4);
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(VEC_PUSH(&r.l.live_range, (struct live_range){ i, i + 1 }), EMU_OK);
            assert_int_equal(VEC_PUSH(&r.l.live_set, (struct live_set){ i, 1 }), EMU_OK);
        }
        first = emit_fixture_object(&r, 0, 8, CATEGORY_MESSAGE_BUFFER, "first", NULL);
        second = emit_fixture_object(&r, 0, 4, CATEGORY_VARIABLE, "second", NULL);
        emit_fixture_step(&r, STEP_CALLS, 1, "a");
        emit_fixture_step(&r, STEP_CALLS, 1, "b");
        emit_fixture_function(&r, "main");
        emit_fixture_place(&r, 1);
        o = r.l.object.at;
        top = o[first].addr;
        o[first].live = 1;
        o[second].live = 2;
        o[second].addr = top + 8;
        r.place.tile[0].peak_step = peak;
        emit_fixture_emit(&r, 1);
        assert_string_equal(owner_of(&r, 0, top + 4, &category), "first");
        assert_string_equal(owner_of(&r, 0, top + 8, &category), peak ? "second" : "first");
        assert_string_equal(owner_of(&r, 0, top + 23, &category), peak ? "second" : "first");
        assert_string_equal(owner_of(&r, 0, top + 24, &category), "first");
        assert_null(owner_of(&r, 0, top - 1, &category));
        emit_fixture_free(&r);
    }
}

/* Equal contents are stored once, numbers and addresses come out as they should. */
static void test_contents(void **state)
{
    static uint32_t data[2048];
    struct emit_fixture r;
    uint32_t large[2], small, table, far;

    (void)state;
    for (uint32_t i = 0; i < EMU_COUNT_OF(data); i++)
        data[i] = 3 * i + 1;
    emit_fixture_new(&r, "toy4", 2, 1, 4);
    emit_fixture_step(&r, STEP_CALLS, 1, "nothing");
    emit_fixture_function(&r, "main");
    small = emit_fixture_object(&r, 0, 3, CATEGORY_CONSTANT, "small", data);
    for (uint32_t i = 0; i < 2; i++)
        large[i] = emit_fixture_object(&r, i, 2048, CATEGORY_CONSTANT, "large", data);
    (void)emit_fixture_object(&r, 0, 5, CATEGORY_VARIABLE, "hole", NULL);
    table = emit_fixture_state(&r, 0, large[0], (struct object_word){ small, 8 });
    far = emit_fixture_object(&r, 0, 2, CATEGORY_CONSTANT, "far", data + 7);
    emit_fixture_place(&r, 1);
    r.l.object.at[far].addr -= 4096;
    emit_fixture_emit(&r, 1);
    emit_fixture_run(&r, 1, 1);
    for (uint32_t i = 0; i < 2048; i++)
        assert_true(emit_fixture_word(&r, large[0], i) == data[i] &&
                    emit_fixture_word(&r, large[1], i) == data[i]);
    assert_int_equal(emit_fixture_word(&r, small, 2), data[2]);
    assert_int_equal(emit_fixture_word(&r, table, 0), r.l.object.at[large[0]].addr);
    assert_int_equal(emit_fixture_word(&r, table, 1), r.l.object.at[small].addr + 8);
    assert_int_equal(emit_fixture_word(&r, far, 1), data[8]);
    assert_int_equal(image_find_tile(r.im, 0, 0)->segments, 6); /* two of code, four of contents */
    for (uint32_t i = 0; i < 2; i++) {
        const struct image_tile *t = image_find_tile(r.im, 0, i);
        uint32_t blob[2] = { 0, 1 };

        for (uint32_t k = 0; k < t->segments; k++) {
            if (image_segment_at(r.im, t->first_segment + k)->addr == r.l.object.at[large[i]].addr)
                blob[i] = image_segment_at(r.im, t->first_segment + k)->blob;
        }
        large[i] = blob[i];
    }
    assert_int_equal(large[0], large[1]);
    emit_fixture_free(&r);
}

/* ---- refusals ---- */

static void expect_failure(struct emit_fixture *r, enum emu_status want, const char *message)
{
    struct emit_input in;
    uint32_t bytes[EMIT_TILES];

    r->schedule = emu_alloc(r->l.step.count + 1, sizeof(*r->schedule));
    in = emit_fixture_input(r);
    assert_int_equal(emit_measure(&in, 2, bytes), want);
    if (!strstr(ss_error(), message))
        fail_msg("'%s' instead of '%s'", ss_error(), message);
    emit_fixture_free(r);
}

static void test_refusals(void **state)
{
    struct emit_fixture r;
    struct image *im;
    struct emit_input in;

    (void)state;
    emit_fixture_new(&r, "toy4", 2, 1, 4);
    emit_fixture_step(&r, STEP_CALL, 1, "call")->n = 1;
    emit_fixture_function(&r, "main");
    emit_fixture_step(&r, STEP_CALL, 1, "call")->n = 1;
    emit_fixture_function(&r, "again");
    expect_failure(&r, EMU_BAD_PROGRAM, "function again calls itself");

    emit_fixture_new(&r, "toy4", 3, 1, 2);
    r.l.groups = 7;
    emit_fixture_step(&r, STEP_EXCHANGE, 3, "some");
    emit_fixture_function(&r, "main");
    expect_failure(&r, EMU_BAD_PROGRAM, "step 0 (some): groups 0x3 of 0x7");

    emit_fixture_new(&r, "toy4", 1, 1, 4);
    emit_fixture_streams(&r);
    emit_fixture_step(&r, STEP_HOST, 1, "much");
    emit_fixture_request(&r, 0, 0, 1, emit_fixture_object(&r, 0, 1, CATEGORY_VARIABLE, "x", NULL),
                         0, 1u << 21);
    emit_fixture_function(&r, "main");
    expect_failure(&r, EMU_BAD_PROGRAM, "stream results: a request of 2097152 bytes");

    emit_fixture_new(&r, "toy4", 1, 1, 4);
    emit_fixture_step(&r, STEP_CALLS, 1, "nothing");
    emit_fixture_function(&r, "main");
    r.g.arch.mem_bytes = 0x180000;
    r.g.arch.region0_bytes = 0xc0000;
    expect_failure(&r, EMU_BAD_MACHINE, "code up to 0x10c000, expected at most 0x100000");

    emit_fixture_new(&r, "toy4", 1, 1, 4);
    emit_fixture_step(&r, STEP_CALLS, 1, "nothing");
    emit_fixture_function(&r, "main");
    emit_fixture_place(&r, 1);
    r.place.fits = 0;
    in = emit_fixture_input(&r);
    assert_int_equal(emit_image(&in, &r.place, 1, &im), EMU_USAGE);
    assert_null(im);
    emit_fixture_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_state),
        cmocka_unit_test(test_launches_lose_no_cycle),
        cmocka_unit_test(test_loops_lose_no_cycle),
        cmocka_unit_test(test_supervisor_codelets),
        cmocka_unit_test(test_nested_loops),
        cmocka_unit_test(test_repeat_counts),
        cmocka_unit_test(test_idle_tile_votes),
        cmocka_unit_test(test_votes_come_first),
        cmocka_unit_test(test_many_votes),
        cmocka_unit_test(test_empty_exchange),
        cmocka_unit_test(test_exchanges_end_by_time),
        cmocka_unit_test(test_host_rounds),
        cmocka_unit_test(test_map_and_symbols),
        cmocka_unit_test(test_map_of_real_codelets),
        cmocka_unit_test(test_map_of_overlapping_objects),
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
