/* test_pod.c - systems of several chips: when their syncs release, what they carry, and when words
 * that tiles send to other chips are in memory. Cycles are counted by hand from docs/timing.md.
 */
#include "tests/fixtures/pod_fixture.h"

#include "emu/arch/arch_numbers.h"
#include "emu/bsp/machine_state.h"

enum { NOTES = 0x3000, WORDS = 0x3100, IN = 0x3400 };

#define START     "start: setzi $m11, BASE + 0x3000\n"
#define BUSY(n)   "setzi $m1, " #n "\n1: brnzdec $m1, 1b\n"
#define CLOCK(k)  "get $m0, $SCOUNT_L\nst32 $m0, $m11, " #k "\n"
#define SSR(k)    "get $m0, $SSR\nst32 $m0, $m11, " #k "\n"
#define SET_LC    "setzi $m2, 2\nput $CR, $m2\n"
#define CLEAR_LC  "setzi $m2, 1\nput $CR, $m2\n"
#define EXPECT(n) "setzi $m3, " #n "\nput $INCOMING_DCOUNT, $m3\n"
#define NOTHING   "sync 0\n"
/* The word at $OUTGOING_BASE + x; that register is 0. */
#define SEND(header, words, n) "send 1, " header ", 4\nsend " #n " - 1, " words ", 4\n"
#define HOST                   "sync 7\n"

static uint32_t note(struct chips *c, uint32_t chip, uint32_t tile, unsigned k)
{
    return chips_word(c, chip, tile, NOTES + 4 * k);
}

/* ---- syncs ---- */

/* On every chip one tile that comes after so many turns of a loop, and one that comes at once. */
static void run_sync(struct chips *c, const char *set, uint32_t replica, unsigned zone,
                     const unsigned *turns, unsigned no_lc)
{
    const struct pod_options po = { .replica_chips = replica };

    chips_new(c, "toy4", set, NULL, &po);
    for (uint32_t chip = 0; chip < c->count; chip++) {
        char text[256];

        snprintf(text, sizeof(text),
                 START "%s\nsetzi $m1, %u\n1: brnzdec $m1, 1b\nsync %u\n" CLOCK(0) SSR(1) HOST,
                 no_lc >> chip & 1 ? CLEAR_LC : SET_LC, turns[chip], zone);
        chips_program(c, chip, 0, 0, text);
        snprintf(text, sizeof(text), START SET_LC "sync %u\n" CLOCK(0) SSR(1) HOST, zone);
        chips_program(c, chip, 3, 1, text);
    }
    chips_stop(c, MACHINE_HOST);
}

static void check_sync(const struct chips *c, size_t i, uint32_t first_chip, uint32_t chips,
                       const unsigned *turns)
{
    const struct pod_outer *o = pod_outer_at(c->pod, i);
    uint32_t late = first_chip, early = first_chip;
    const struct arch *a = &c->chip[0].arch;

    for (uint32_t chip = first_chip; chip < first_chip + chips; chip++) {
        late = turns[chip] > turns[late] ? chip : late;
        early = turns[chip] < turns[early] ? chip : early;
    }
    assert_int_equal(o->first_chip, first_chip);
    assert_int_equal(o->chips, chips);
    assert_int_equal(o->last_chip, late);
    assert_int_equal(o->latest - o->first, 6 * (turns[late] - turns[early]));
    assert_int_equal(o->release - o->latest, arch_sync_chips_cycles(a));
    assert_int_equal(o->packets, 0);
}

static void test_releases(void **state)
{
    static const unsigned turns[] = { 10, 300, 20, 40 };
    struct chips c;

    (void)state;
    run_sync(&c, "chips=4", 2, 6, turns, 0);
    assert_int_equal(pod_outer_count(c.pod), 1);
    assert_int_equal(pod_outer_at(c.pod, 0)->scope, SCOPE_POD);
    check_sync(&c, 0, 0, 4, turns);
    for (uint32_t chip = 0; chip < 4; chip++) {
        assert_int_equal(note(&c, chip, 0, 0), pod_outer_at(c.pod, 0)->release);
        assert_int_equal(note(&c, chip, 3, 0), pod_outer_at(c.pod, 0)->release);
        assert_true(note(&c, chip, 0, 1) & SSR_GC);
    }
    chips_free(&c);

    run_sync(&c, "chips=4", 2, 5, turns, 0);
    assert_int_equal(pod_outer_count(c.pod), 2);
    for (uint32_t r = 0; r < 2; r++) {
        assert_int_equal(pod_outer_at(c.pod, r)->scope, SCOPE_REPLICA);
        check_sync(&c, r, 2 * r, 2, turns);
        assert_int_equal(note(&c, 2 * r + 1, 3, 0), pod_outer_at(c.pod, r)->release);
    }
    chips_free(&c);
}

/* One tile without LC, and no tile of the chips that its sync joins has GC. */
static void test_consensus(void **state)
{
    static const unsigned turns[] = { 10, 3, 20, 40 };

    (void)state;
    for (unsigned zone = 5; zone <= 6; zone++) {
        for (unsigned without = 0; without < 4; without++) {
            struct chips c;

            run_sync(&c, "chips=4", 2, zone, turns, 1u << without);
            for (uint32_t chip = 0; chip < 4; chip++) {
                int joined = zone == 6 || chip / 2 == without / 2;

                assert_int_equal((note(&c, chip, 0, 1) & SSR_GC) != 0, !joined);
                assert_int_equal((note(&c, chip, 3, 1) & SSR_GC) != 0, !joined);
            }
            chips_free(&c);
        }
    }
}

static void test_sync_cycles(void **state)
{
    struct arch a = *ss_arch_preset("mk2");
    uint64_t hop = ss_arch_cycles_from_ns(&a, arch_sync_hop_ns(&a)), near;

    (void)state;
    near = arch_sync_chips_cycles(&a);
    assert_int_equal(arch_sync_chips_near(&a), 16);
    assert_int_equal(link_sync_cycles(&a, 2), near);
    assert_int_equal(link_sync_cycles(&a, 16), near);
    assert_int_equal(ss_arch_set(&a, "rail=mesh"), EMU_OK);
    assert_int_equal(link_sync_cycles(&a, 18), near + 2 * hop);
    assert_int_equal(link_sync_cycles(&a, 64), near + 48 * hop);
    assert_int_equal(ss_arch_set(&a, "rail=torus"), EMU_OK);
    assert_int_equal(link_sync_cycles(&a, 18), near + 2 * hop);
    assert_int_equal(link_sync_cycles(&a, 64), near + 24 * hop);
}

/* ---- words ---- */

/* Every tile sends 3 + 5 words to the same tile of the next chip, and notes, with NOTES, when it
 * has those of the chip before. */
static const char ring[] = START "sync 6\n" EXPECT(8) SEND("head", "words", 3)
    SEND("head + 8", "words + 12", 5) "sync 0\n.ifdef NOTES\n" CLOCK(
        0) ".endif\n" HOST ".align 8\n"
           "head:\n" POD_HEADER("(CHIP + 1) % COUNT", "TILE", "BASE + 0x3400", "3") POD_HEADER(
               "(CHIP + 1) % COUNT", "TILE", "BASE + 0x3420",
               "5") "words:\n.rept 8\n.long CHIP << 16 | TILE << 8 | (. - words) / 4\n.endr\n";

static void ring_program(struct chips *c, int notes)
{
    char text[sizeof(ring) + 64];

    snprintf(text, sizeof(text), ".set COUNT, %u\n%s%s", c->count, notes ? ".set NOTES, 1\n" : "",
             ring);
    chips_program_all(c, text);
}

static void ring_check(struct chips *c)
{
    for (uint32_t chip = 0; chip < c->count; chip++) {
        for (uint32_t tile = 0; tile < c->chip[0].arch.tiles; tile++) {
            uint32_t from = (chip + c->count - 1) % c->count;

            for (uint32_t k = 0; k < 8; k++)
                assert_int_equal(
                    chips_word(c, chip, tile, k < 3 ? IN + 4 * k : IN + 0x20 + 4 * (k - 3)),
                    from << 16 | tile << 8 | k);
        }
    }
}

/* The cycle after the release in which a tile has its 8 words and has issued RECV, by the model of
 * links alone. */
static void ring_times(const struct chips *c, uint64_t *arrived)
{
    uint32_t tiles = c->chip[0].arch.tiles, n = 0;
    struct link_packet packet[2 * 16 * POD_CHIPS_MAX] = { { .chip = 0 } };
    /* The header is the first instruction after setzi and put. */
    uint32_t least = arch_host_send_min_events(&c->chip[0].arch), put_cycles;

    put_cycles = 6 + arch_sup_put_cycles(&c->chip[0].arch); /* put waits for the result of setzi */
    for (uint32_t chip = 0; chip < c->count; chip++) {
        for (uint32_t tile = 0; tile < tiles; tile++) {
            for (uint32_t k = 0; k < 2; k++)
                packet[n++] = (struct link_packet){ .chip = chip,
                                                    .tile = tile,
                                                    .to_chip = (chip + 1) % c->count,
                                                    .to_tile = tile,
                                                    .bytes = k ? 20 : 12,
                                                    .issued = put_cycles + k * least };
        }
    }
    assert_int_equal(link_time(pod_links(c->pod), packet, n), EMU_OK);
    for (uint32_t i = 0; i < tiles * c->count; i++)
        arrived[i] = put_cycles + 2 * least + 1;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t *at = &arrived[packet[i].to_chip * tiles + packet[i].to_tile];

        *at = packet[i].arrived > *at ? packet[i].arrived : *at;
    }
}

static void test_ring(void **state)
{
    static const char *const sets[] = { "chips=2", "chips=4", "chips=8;rail=mesh",
                                        "chips=2;link_bundles=4;link_latency_ns=0" };

    (void)state;
    for (size_t s = 0; s < EMU_COUNT_OF(sets); s++) {
        uint64_t arrived[16 * POD_CHIPS_MAX] = { 0 };
        const struct pod_outer *o;
        struct chips c;

        chips_new(&c, "toy16", sets[s], NULL, NULL);
        ring_program(&c, 1);
        chips_stop(&c, MACHINE_HOST);
        ring_check(&c);
        ring_times(&c, arrived);
        assert_int_equal(pod_outer_count(c.pod), 1);
        o = pod_outer_at(c.pod, 0);
        assert_int_equal(o->packets, 2 * 16 * c.count);
        assert_int_equal(o->bytes, 32 * 16 * c.count);
        assert_int_equal(o->chip_bytes, 32 * 16); /* a ring: each chip sends to one */
        for (uint32_t i = 0; i < 16 * c.count; i++)
            assert_int_equal(note(&c, i / 16, i % 16, 0), o->release + arrived[i]);
        assert_int_equal(pod_finish(c.pod), EMU_OK);
        chips_free(&c);
    }
}

/* A run that stops before words arrive does not have them, and the tile waits; later it has. */
static void test_position(void **state)
{
    uint64_t arrived[2 * 16] = { 0 }, last, release;
    struct chips c;

    (void)state;
    chips_new(&c, "toy16", "chips=2;link_latency_ns=1000000", NULL, NULL);
    ring_program(&c, 1);
    ring_times(&c, arrived);
    assert_int_equal(pod_run_all(c.pod, 1000), MACHINE_LIMIT);
    assert_int_equal(pod_outer_count(c.pod), 1);
    release = pod_outer_at(c.pod, 0)->release;
    last = release + arrived[16]; /* of tile 0 of chip 1 */
    for (uint64_t at = last - 1; at <= last + 1; at++) {
        struct machine_place p;

        assert_int_equal(pod_run_all(c.pod, at), MACHINE_LIMIT);
        p = machine_place(c.chip[1].m, 0);
        assert_int_equal(chips_word(&c, 1, 0, IN + 0x20 + 16), at >= last ? 7 : 0);
        assert_int_equal(p.waits != NULL, at < last);
        if (p.waits)
            assert_non_null(strstr(p.waits, "words of other chips"));
    }
    chips_stop(&c, MACHINE_HOST);
    ring_check(&c);
    assert_int_equal(note(&c, 1, 0, 0), last);
    chips_free(&c);
}

/* What the record says of the ring: the wait for words is link, and the parts add up. */
static void test_ring_record(void **state)
{
    struct chips c;

    (void)state;
    chips_new(&c, "toy16", "chips=2", NULL, NULL);
    ring_program(&c, 1);
    chips_stop(&c, MACHINE_HOST);
    assert_int_equal(pod_finish(c.pod), EMU_OK);
    for (uint32_t chip = 0; chip < 2; chip++) {
        const struct record *r = c.chip[chip].record;

        assert_int_equal(record_count(r), 2);
        assert_int_equal(record_at(r, 0)->scope, SCOPE_POD);
        assert_int_equal(record_at(r, 1)->scope, SCOPE_HOST);
        for (uint32_t tile = 0; tile < 16; tile++) {
            struct tile_step t = record_tile(r, 1, tile);
            uint64_t span = record_at(r, 1)->end - record_at(r, 1)->release;

            assert_true(t.link_cycles > 0);
            assert_int_equal((uint64_t)t.exchange_cycles + t.link_cycles + t.compute_cycles +
                                 t.wait_cycles,
                             span);
        }
    }
    chips_free(&c);
}

/* Of the ring without notes. */
static struct hash128 ring_digest(const char *set, const struct machine_options *mo,
                                  const struct pod_options *po, uint64_t *cycles)
{
    struct hash128 digest;
    struct chips c;

    chips_new(&c, "toy16", set, mo, po);
    ring_program(&c, 0);
    chips_stop(&c, MACHINE_HOST);
    ring_check(&c);
    digest = pod_digest(c.pod);
    *cycles = pod_cycles(c.pod);
    chips_free(&c);
    return digest;
}

/* Values do not depend on how fast links are, nor do they or cycles on threads and ways to run. */
static void test_values_without_time(void **state)
{
    static const char *const sets[] = { "chips=4;link_mbytes_per_s=160000",
                                        "chips=4;link_mbytes_per_s=1600",
                                        "chips=4;link_latency_ns=0", "chips=4;link_bundles=1",
                                        "chips=4;rail=mesh;links_pair=1" };
    const struct pod_options jitter = { .jitter_cycles = 1000, .seed = 3 };
    uint64_t cycles, other;
    struct hash128 want = ring_digest("chips=4", NULL, NULL, &cycles);

    (void)state;
    for (unsigned k = 0; k < 6; k++) {
        const struct machine_options mo = { .threads = 1 + k % 2,
                                            .plain = k >= 2,
                                            .check = k >= 4 };

        assert_true(hash128_equal(want, ring_digest("chips=4", &mo, NULL, &other)));
        assert_int_equal(other, cycles);
    }
    for (size_t s = 0; s < EMU_COUNT_OF(sets); s++)
        assert_true(hash128_equal(want, ring_digest(sets[s], NULL, NULL, &other)));
    assert_true(hash128_equal(want, ring_digest("chips=4", NULL, &jitter, &other)));
    assert_true(other > cycles);
}

/* The timing engine, which has no values, has the same cycles on every tile. */
static void test_timing_engine(void **state)
{
    struct chips values, timing;

    (void)state;
    chips_new(&values, "toy16", "chips=4", NULL, NULL);
    ring_program(&values, 1);
    chips_stop(&values, MACHINE_HOST);
    assert_int_equal(pod_finish(values.pod), EMU_OK);
    chips_new_timing(&timing, "toy16", "chips=4", 0);
    ring_program(&timing, 1);
    chips_stop(&timing, MACHINE_HOST);
    assert_int_equal(pod_finish(timing.pod), EMU_OK);
    chips_same_cycles(&values, &timing);
    assert_int_equal(pod_cycles(values.pod), pod_cycles(timing.pod));
    chips_free(&timing);
    chips_free(&values);
}

/* A system of one chip is a machine. */
static void test_one_chip(void **state)
{
    static const unsigned turns[] = { 10 };

    (void)state;
    for (unsigned zone = 4; zone <= 6; zone++) {
        struct chips c;

        run_sync(&c, "chips=1", 0, zone, turns, 0);
        assert_int_equal(pod_outer_count(c.pod), 0);
        assert_int_equal(note(&c, 0, 0, 0), note(&c, 0, 3, 0));
        assert_true(hash128_equal(pod_digest(c.pod), machine_digest(pod_machine(c.pod, 0))));
        assert_int_equal(pod_cycles(c.pod), machine_cycles(pod_machine(c.pod, 0)));
        chips_free(&c);
    }
}

/* ---- mistakes ---- */

/* Tile 1 of chip 0 sends as `text` says; tile 2 of chip 1 does what `receiver` says; the others
 * wait at once. */
static void mistake(struct chips *c, const char *text, const char *receiver)
{
    static const char idle[] = START "sync 6\nsync 0\n" HOST;

    chips_new(c, "toy4", "chips=2", NULL, NULL);
    for (uint32_t chip = 0; chip < 2; chip++)
        for (uint32_t tile = 0; tile < 4; tile++)
            chips_program(c, chip, tile, chip == 0 && tile == 1,
                          chip == 0 && tile == 1   ? text
                          : chip == 1 && tile == 2 ? receiver
                                                   : idle);
}

#define SENDER(body, header)                                                                       \
    START "sync 6\n" body "sync 0\n" HOST ".align 8\nhead:\n" header "words:\n.long 1, 2, 3, 4\n"
#define RECEIVER(n) START "sync 6\n" EXPECT(n) "sync 0\n" HOST
#define GOOD_HEADER POD_HEADER("1", "2", "BASE + 0x3400", "4")
#define GOOD_SEND   SEND("head", "words", 4)

static void test_faults(void **state)
{
    static const struct {
        const char *sender, *receiver;
        enum exchange_fault_kind kind;
        uint32_t chip, tile, other_chip, other;
    } bad[] = {
        { SENDER("sync 3\n" GOOD_SEND, GOOD_HEADER), RECEIVER(4), EXCHANGE_FAULT_OUTSIDE_OUTER, 0,
          1, 1, 2 },
        { SENDER(SEND("head", "words", 4), POD_HEADER("2", "2", "BASE + 0x3400", "4")), RECEIVER(4),
          EXCHANGE_FAULT_NO_CHIP, 0, 1, 2, 2 },
        { SENDER(SEND("head", "words", 4), POD_HEADER("0", "2", "BASE + 0x3400", "4")), RECEIVER(4),
          EXCHANGE_FAULT_NO_CHIP, 0, 1, 0, 2 },
        { SENDER(SEND("head", "words", 4), POD_HEADER("1", "4", "BASE + 0x3400", "4")), RECEIVER(4),
          EXCHANGE_FAULT_NO_TILE, 0, 1, 1, 4 },
        { SENDER(SEND("head", "words", 4), POD_HEADER("1", "2", "BASE - 4", "4")), RECEIVER(4),
          EXCHANGE_FAULT_CHIP_ADDRESS, 0, 1, 1, 2 },
        { SENDER(SEND("head", "words", 3), GOOD_HEADER), RECEIVER(4), EXCHANGE_FAULT_LENGTH, 0, 1,
          1, 2 },
        { SENDER("send 1, head, 4\n", GOOD_HEADER), RECEIVER(4), EXCHANGE_FAULT_LENGTH, 0, 1, 1,
          2 },
        { SENDER("send 1, head, 4\nsetzi $m0, 1\nsend 3, words, 4\n", GOOD_HEADER), RECEIVER(4),
          EXCHANGE_FAULT_LENGTH, 0, 1, 1, 2 },
        { SENDER("send 1, head, 4\nsend 3, words, 1\n", GOOD_HEADER), RECEIVER(4),
          EXCHANGE_FAULT_LENGTH, 0, 1, 1, 2 },
        { SENDER(GOOD_SEND GOOD_SEND, GOOD_HEADER), RECEIVER(8), EXCHANGE_FAULT_CHIP_TWICE, 1, 2, 0,
          1 },
        { SENDER(GOOD_SEND SEND("head + 8", "words", 4),
                 GOOD_HEADER POD_HEADER("1", "2", "BASE + 0x3408", "4")),
          RECEIVER(8), EXCHANGE_FAULT_CHIP_TWICE, 1, 2, 0, 1 }, /* the last words of the first */
        { SENDER(GOOD_SEND, GOOD_HEADER), RECEIVER(3), EXCHANGE_FAULT_LEFT_OVER, 1, 2, 0, 1 },
        { SENDER(GOOD_SEND, GOOD_HEADER), START "sync 6\nsync 0\n" HOST, EXCHANGE_FAULT_LEFT_OVER,
          1, 2, 0, 1 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        struct pod_fault f;
        char text[320], part[64];
        struct chips c;

        mistake(&c, bad[i].sender, bad[i].receiver);
        chips_stop(&c, MACHINE_FAULT);
        f = pod_fault(c.pod);
        assert_non_null(f.fault.exchange);
        exchange_fault_print(f.fault.exchange, text, sizeof(text));
        if (f.fault.exchange->kind != bad[i].kind)
            print_error("row %zu: %s\n", i, text);
        assert_int_equal(f.fault.exchange->kind, bad[i].kind);
        assert_int_equal(f.chip, bad[i].chip);
        assert_int_equal(f.fault.tile, bad[i].tile);
        assert_true(f.fault.exchange->is_far);
        assert_int_equal(f.fault.exchange->chip, bad[i].other_chip);
        assert_int_equal(f.fault.exchange->other, bad[i].other);
        snprintf(part, sizeof(part), "tile %u ", bad[i].tile);
        assert_non_null(strstr(text, part));
        snprintf(part, sizeof(part), "chip %u", bad[i].other_chip);
        assert_non_null(strstr(text, part));
        chips_free(&c);
    }
}

static void expect_deadlock(struct chips *c, const char *const *part)
{
    chips_stop(c, MACHINE_DEADLOCK);
    for (; *part; part++) {
        if (!strstr(ss_error(), *part))
            print_error("no '%s' in: %s\n", *part, ss_error());
        assert_non_null(strstr(ss_error(), *part));
    }
    chips_free(c);
}

#define EXPECT_DEADLOCK(c, ...) expect_deadlock(c, (const char *const[]){ __VA_ARGS__, NULL })

static void test_deadlocks(void **state)
{
    struct chips c;

    (void)state;
    /* A receiver that expects a word more. */
    mistake(&c, SENDER(GOOD_SEND, GOOD_HEADER), RECEIVER(5));
    EXPECT_DEADLOCK(&c, "chip 1: tile 2 (group 0) waits for words of other chips",
                    "tile 2 lacks 1 of 5 words; it has 4 of chip 0",
                    "chip 0: tiles 0, 2-3 (group 0) wait for a sync with the host");
    /* A sender that does not send. */
    mistake(&c, SENDER("", GOOD_HEADER), RECEIVER(4));
    EXPECT_DEADLOCK(&c, "tile 2 lacks 4 of 4 words; no chip has sent it any");
    /* A chip that never comes to the sync. */
    mistake(&c, START HOST, RECEIVER(4));
    EXPECT_DEADLOCK(&c, "chip 0: tiles 0, 2-3 (group 0) wait for a sync of all chips of the pod",
                    "missing there: 1", "chip 0: tile 1 (group 1) waits for a sync with the host",
                    "chip 1: tiles 0-3 (group 0) wait for a sync of all chips");
}

/* Checking mode: code that reads or writes where words come to, before its RECV has ended. */
static void test_early(void **state)
{
    static const struct {
        const char *code;
        uint32_t reports;
    } row[] = {
        { EXPECT(4) "sync 0\nld32 $m4, $m5, 0\n", 0 },
        { EXPECT(4) "ld32 $m4, $m5, 4\nsync 0\n", 0 },
        { EXPECT(4) "ld32 $m4, $m5, 3\nsync 0\n", 1 },
        { EXPECT(4) "st32 $m3, $m5, 0\nsync 0\n", 1 },
        { EXPECT(4) "ld32 $m4, $m5, 0\nld32 $m4, $m5, 1\nsync 0\n", 2 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        const struct machine_options mo = { .threads = 1, .check = 1 };
        const struct tile *t;
        struct chips c;
        char text[256];

        snprintf(text, sizeof(text), START "setzi $m5, BASE + 0x3400\nsync 6\n%s" HOST,
                 row[i].code);
        chips_new(&c, "toy4", "chips=2", &mo, NULL);
        chips_program(&c, 0, 1, 0, SENDER(GOOD_SEND, GOOD_HEADER));
        chips_program(&c, 1, 2, 0, text);
        chips_stop(&c, MACHINE_HOST);
        t = machine_tile(c.chip[1].m, 2);
        assert_int_equal(tile_check_count(t), row[i].reports);
        for (size_t k = 0; k < row[i].reports; k++) {
            assert_int_equal(tile_check_report(t, k)->kind, TILE_CHECK_EARLY);
            assert_int_equal(tile_check_report(t, k)->lane, LANE_SUPER);
        }
        assert_int_equal(tile_check_count(machine_tile(c.chip[0].m, 1)), 0);
        chips_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_releases),      cmocka_unit_test(test_consensus),
        cmocka_unit_test(test_sync_cycles),   cmocka_unit_test(test_ring),
        cmocka_unit_test(test_ring_record),   cmocka_unit_test(test_values_without_time),
        cmocka_unit_test(test_timing_engine), cmocka_unit_test(test_one_chip),
        cmocka_unit_test(test_faults),        cmocka_unit_test(test_deadlocks),
        cmocka_unit_test(test_early),         cmocka_unit_test(test_position),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
