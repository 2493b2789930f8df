/* test_pod_random.c - random transfers between the tiles of 2 to 8 chips, step after step, against
 * a model of nothing but memory; on any number of threads, with links of any speed, and by the
 * timing engine.
 */
#include <omp.h>

#include "tests/fixtures/pod_fixture.h"

#include "emu/base/random.h"
#include "emu/pod/pod_state.h"

enum { TILES = 4, HALF_WORDS = 64, DATA_OFF = 0x4000, STEPS = 6, PACKETS = 40, MOST_WORDS = 12 };

/* A machine makes no more threads than there are cores. Here it believes in sixteen. */
int omp_get_num_procs(void)
{
    return 16;
}

/* One packet of a step; offsets in words of the half that is sent from or received into. */
struct draw {
    uint32_t chip, tile, to_chip, to_tile, from, to, words;
};

struct plan {
    uint32_t chips, replica;
    uint32_t zone[STEPS];
    struct draw packet[STEPS][PACKETS];
    uint32_t packets[STEPS];
    uint32_t word[POD_CHIPS_MAX][TILES][2 * HALF_WORDS];
};

/* A place of so many words that no other packet of the step goes to; 0: there is none left. */
static int free_place(const struct plan *p, uint32_t step, struct draw *d, uint64_t *random)
{
    for (unsigned tries = 0; tries < 20; tries++) {
        int taken = 0;

        d->to = (uint32_t)random_below(random, HALF_WORDS - d->words + 1);
        for (uint32_t i = 0; i < p->packets[step] && !taken; i++) {
            const struct draw *o = &p->packet[step][i];

            taken = o->to_chip == d->to_chip && o->to_tile == d->to_tile &&
                    o->to < d->to + d->words && d->to < o->to + o->words;
        }
        if (!taken)
            return 1;
    }
    return 0;
}

static void draw_packet(struct plan *p, uint32_t step, uint64_t *random)
{
    struct draw d = { .chip = (uint32_t)random_below(random, p->chips),
                      .tile = (uint32_t)random_below(random, TILES),
                      .to_tile = (uint32_t)random_below(random, TILES),
                      .words = 1 + (uint32_t)random_below(random, MOST_WORDS) };
    uint32_t among = p->zone[step] == 5 ? p->replica : p->chips, first = d.chip - d.chip % among;

    if (among == 1)
        return;
    d.to_chip = first + (d.chip - first + 1 + (uint32_t)random_below(random, among - 1)) % among;
    d.from = (uint32_t)random_below(random, HALF_WORDS - d.words + 1);
    if (free_place(p, step, &d, random))
        p->packet[step][p->packets[step]++] = d;
}

/* Draws all steps and computes what memory is to hold: words go from one half into the other, and
 * the halves change their roles. */
static void draw_plan(struct plan *p, uint32_t chips, uint64_t seed)
{
    uint64_t random = seed;

    *p = (struct plan){ .chips = chips, .replica = chips > 2 ? chips / 2 : 2 };
    for (uint32_t chip = 0; chip < chips; chip++)
        for (uint32_t tile = 0; tile < TILES; tile++)
            for (uint32_t k = 0; k < 2 * HALF_WORDS; k++)
                p->word[chip][tile][k] = chip << 24 | tile << 16 | k;
    for (uint32_t s = 0; s < STEPS; s++) {
        p->zone[s] = 5 + (uint32_t)random_below(&random, 2);
        for (unsigned i = 0; i < PACKETS; i++)
            draw_packet(p, s, &random);
        for (uint32_t i = 0; i < p->packets[s]; i++) {
            const struct draw *d = &p->packet[s][i];
            uint32_t from = HALF_WORDS * (s % 2), to = HALF_WORDS - from;

            memcpy(&p->word[d->to_chip][d->to_tile][to + d->to],
                   &p->word[d->chip][d->tile][from + d->from], 4 * d->words);
        }
    }
}

static uint32_t words_for(const struct plan *p, uint32_t step, uint32_t chip, uint32_t tile)
{
    uint32_t words = 0;

    for (uint32_t i = 0; i < p->packets[step]; i++) {
        const struct draw *d = &p->packet[step][i];

        words += d->to_chip == chip && d->to_tile == tile ? d->words : 0;
    }
    return words;
}

/* The program of a tile, and behind it the headers that it sends. */
static char *program_of(const struct plan *p, uint32_t chip, uint32_t tile)
{
    char *text = NULL, *heads = NULL;
    size_t bytes, head_bytes;
    FILE *f = open_memstream(&text, &bytes), *h = open_memstream(&heads, &head_bytes);
    unsigned n = 0;

    assert_true(f && h);
    fprintf(f, "start: setzi $m0, 0\n");
    for (uint32_t s = 0; s < STEPS; s++) {
        uint32_t words = words_for(p, s, chip, tile), from = HALF_WORDS * (s % 2);

        fprintf(f, "sync %u\n", p->zone[s]);
        if (words)
            fprintf(f, "setzi $m3, %u\nput $INCOMING_DCOUNT, $m3\n", words);
        for (uint32_t i = 0; i < p->packets[s]; i++) {
            const struct draw *d = &p->packet[s][i];

            if (d->chip != chip || d->tile != tile)
                continue;
            fprintf(f, "send 1, heads + %u, 4\nsend %u, BASE + %u, 4\n", 8 * n++, d->words - 1,
                    DATA_OFF + 4 * (from + d->from));
            fprintf(h, ".long (1 << 30) | (BASE + %u)\n.long %u << 20 | %u << 7 | %u\n",
                    DATA_OFF + 4 * (HALF_WORDS - from + d->to), d->to_chip, d->to_tile, d->words);
        }
        fprintf(f, "sync 0\n");
    }
    fclose(h);
    fprintf(f, "sync 7\n.align 8\nheads:\n%s.long 0\n", heads);
    fclose(f);
    free(heads);
    return text;
}

static void load_plan(const struct plan *p, struct chips *c)
{
    for (uint32_t chip = 0; chip < p->chips; chip++) {
        for (uint32_t tile = 0; tile < TILES; tile++) {
            char *text = program_of(p, chip, tile);
            uint32_t word[2 * HALF_WORDS];

            chips_program(c, chip, tile, tile % 2, text);
            for (uint32_t k = 0; k < 2 * HALF_WORDS; k++)
                word[k] = chip << 24 | tile << 16 | k;
            assert_true(tile_write(machine_tile(c->chip[chip].m, tile),
                                   c->chip[chip].arch.mem_base + DATA_OFF, word, sizeof(word)));
            free(text);
        }
    }
}

static void check_plan(const struct plan *p, struct chips *c)
{
    for (uint32_t chip = 0; chip < p->chips; chip++)
        for (uint32_t tile = 0; tile < TILES; tile++)
            for (uint32_t k = 0; k < 2 * HALF_WORDS; k++)
                assert_int_equal(chips_word(c, chip, tile, DATA_OFF + 4 * k),
                                 p->word[chip][tile][k]);
}

static void run_plan(const struct plan *p, struct chips *c, const char *fields,
                     const struct machine_options *mo, const struct pod_options *po)
{
    char set[128];

    snprintf(set, sizeof(set), "chips=%u%s", p->chips, fields);
    chips_new(c, "toy4", set, mo, po);
    load_plan(p, c);
    chips_stop(c, MACHINE_HOST);
    assert_int_equal(pod_finish(c->pod), EMU_OK);
    check_plan(p, c);
}

static void check_timing(const struct plan *p, const struct chips *values)
{
    struct chips timing;
    char set[64];

    snprintf(set, sizeof(set), "chips=%u", p->chips);
    chips_new_timing(&timing, "toy4", set, p->replica);
    load_plan(p, &timing);
    chips_stop(&timing, MACHINE_HOST);
    assert_int_equal(pod_finish(timing.pod), EMU_OK);
    chips_same_cycles(values, &timing);
    assert_int_equal(pod_cycles(values->pod), pod_cycles(timing.pod));
    chips_free(&timing);
}

/* Every way to run leaves the same memory; those on the same links take the same cycles, too. */
static void check_ways(const struct plan *p, struct chips *want)
{
    static const char *const fields[] = { "",
                                          "",
                                          "",
                                          ";link_mbytes_per_s=1600",
                                          ";link_mbytes_per_s=160000",
                                          ";link_latency_ns=0",
                                          ";rail=mesh" };
    static const unsigned threads[] = { 16, 2, 3, 1, 2, 3, 16 };
    const struct hash128 digest = pod_digest(want->pod);

    for (unsigned k = 0; k < EMU_COUNT_OF(fields); k++) {
        const struct machine_options mo = { .threads = threads[k],
                                            .plain = k == 1,
                                            .check = k == 2 };
        const struct pod_options po = { .replica_chips = p->replica,
                                        .jitter_cycles = k == 5 ? 500 : 0,
                                        .seed = k };
        struct chips c;

        run_plan(p, &c, fields[k], &mo, &po);
        assert_true(hash128_equal(digest, pod_digest(c.pod)));
        if (!*fields[k])
            chips_same_cycles(want, &c);
        chips_free(&c);
    }
}

static void same_end(const struct plan *p, struct chips *want, struct chips *c)
{
    check_plan(p, c);
    assert_int_equal(pod_cycles(want->pod), pod_cycles(c->pod));
    assert_true(hash128_equal(pod_digest(want->pod), pod_digest(c->pod)));
}

static void begin_plan(const struct plan *p, struct chips *c)
{
    const struct pod_options po = { .replica_chips = p->replica };
    char set[64];

    snprintf(set, sizeof(set), "chips=%u", p->chips);
    chips_new(c, "toy4", set, NULL, &po);
    load_plan(p, c);
}

/* A run that stops every so many cycles ends as one that does not. */
static void check_positions(const struct plan *p, struct chips *want, uint64_t every)
{
    struct chips c;
    enum machine_stop stop = MACHINE_LIMIT;

    begin_plan(p, &c);
    for (uint64_t to = every; stop == MACHINE_LIMIT; to += every)
        stop = pod_run_all(c.pod, to);
    assert_int_equal(stop, MACHINE_HOST);
    assert_int_equal(pod_finish(c.pod), EMU_OK);
    same_end(p, want, &c);
    chips_same_cycles(want, &c);
    chips_free(&c);
}

/* What tiles hold; pod_save() has the rest. */
static void copy_memory(struct chips *c, uint8_t *store, int back)
{
    for (uint32_t chip = 0; chip < c->count; chip++) {
        for (uint32_t tile = 0; tile < TILES; tile++) {
            struct tile *t = machine_tile(c->chip[chip].m, tile);

            if (back)
                assert_true(tile_write(t, t->mem_base, store, t->mem_bytes));
            else
                assert_true(tile_read(t, t->mem_base, store, t->mem_bytes));
            store += t->mem_bytes;
        }
    }
}

/* Of all syncs; replicas find theirs in an order that depends on where a run stops. */
static uint64_t outer_sum(const struct pod *p)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < pod_outer_count(p); i++) {
        const struct pod_outer *o = pod_outer_at(p, i);

        sum += hash_mix(o->release * POD_CHIPS_MAX + o->first_chip) * (o->packets + 1) +
               o->bytes * o->arrived;
        for (size_t k = 0; k < o->loads; k++) {
            const struct pod_load *l = pod_load_at(p, o->first_load + k);

            sum += l->bytes * l->busy_cycles * (l->link.kind + 1) * (l->link.chip + 1);
        }
    }
    return sum;
}

/* A run that goes back to a cycle has the same end again. */
static void check_going_back(const struct plan *p, struct chips *want, uint64_t at)
{
    struct byte_store state = { .data = NULL };
    struct chips c;
    uint8_t *memory;

    begin_plan(p, &c);
    memory = malloc((size_t)c.count * TILES * c.chip[0].arch.mem_bytes);
    assert_non_null(memory);
    assert_int_equal(pod_run_all(c.pod, at), MACHINE_LIMIT);
    copy_memory(&c, memory, 0);
    pod_save(c.pod, &state);
    chips_stop(&c, MACHINE_HOST);
    same_end(p, want, &c);
    copy_memory(&c, memory, 1);
    assert_int_equal(pod_restore(c.pod, &state), EMU_OK);
    chips_stop(&c, MACHINE_HOST);
    same_end(p, want, &c);
    assert_int_equal(pod_outer_count(want->pod), pod_outer_count(c.pod));
    assert_int_equal(outer_sum(want->pod), outer_sum(c.pod));
    byte_store_free(&state);
    free(memory);
    chips_free(&c);
}

static void test_random_transfers(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        static const uint32_t chips[] = { 2, 4, 8 };
        const struct pod_options po = { .replica_chips =
                                            chips[seed % 3] > 2 ? chips[seed % 3] / 2 : 2 };
        struct plan p;
        struct chips c;

        draw_plan(&p, chips[seed % 3], seed);
        assert_int_equal(p.replica, po.replica_chips);
        run_plan(&p, &c, "", NULL, &po);
        check_timing(&p, &c);
        check_ways(&p, &c);
        check_positions(&p, &c, 7 + 50 * seed);
        for (uint64_t k = 1; k < 8; k++)
            check_going_back(&p, &c, pod_cycles(c.pod) * k / 8);
        chips_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_transfers) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
