/* test_host_machine.c - host transfers of programs that run: packets arrive while tiles compute,
 * RECV waits for them, and nothing depends on threads or on how a run is cut into pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "emu/arch/arch_numbers.h"
#include "emu/asm/asm.h"
#include "emu/base/alloc.h"
#include "emu/bsp/machine_internal.h"
#include "emu/host/host.h"

/* Where the programs below keep things, from the start of the memory. */
enum { HEADER = 0x3000, NOTES = 0x3100, SECOND = 0x3200, BUFFER = 0x8000 };
enum { STREAM_IN = 5, STREAM_IN2 = 6, STREAM_OUT = 9 };

struct host_chip {
    struct arch arch;
    struct machine *m;
    struct host *h;
    long live; /* allocations before */
};

static uint8_t pattern[1 << 16];

static void host_chip_new(struct host_chip *r, unsigned threads, const char *const *set)
{
    struct machine_options o = { .threads = threads };

    for (size_t i = 0; i < sizeof(pattern); i++)
        pattern[i] = (uint8_t)(1 + i * 7 + (i >> 8));
    r->live = alloc_live();
    r->arch = *ss_arch_preset("toy4");
    for (; set && *set; set++)
        assert_int_equal(ss_arch_set(&r->arch, *set), EMU_OK);
    assert_int_equal(machine_new(&r->arch, &o, &r->m), EMU_OK);
    assert_int_equal(host_new(&r->arch, NULL, &r->h), EMU_OK);
    assert_int_equal(host_stream_from_memory(r->h, STREAM_IN, 2, pattern, sizeof(pattern), 1),
                     EMU_OK);
    assert_int_equal(host_stream_from_memory(r->h, STREAM_IN2, 2, pattern, sizeof(pattern), 1),
                     EMU_OK);
    assert_int_equal(host_stream_to_memory(r->h, STREAM_OUT, 2), EMU_OK);
    host_attach(r->h, r->m);
}

static void host_chip_free(struct host_chip *r)
{
    machine_free(r->m);
    host_free(r->h);
    assert_int_equal(alloc_live(), r->live);
}

/* Puts a program into a tile and starts it at `start`. */
static void program(struct host_chip *r, uint32_t tile, unsigned group, const char *text)
{
    static const char names[] = ".set HEADER, BASE + 0x3000\n.set NOTES, BASE + 0x3100\n"
                                ".set SECOND, BASE + 0x3200\n.set BUFFER, BASE + 0x8000\n"
                                ".set DATA_WORD, BUFFER / 4\n.supervisor\n.align 8\n";
    struct asm_options o = { .arch = &r->arch, .raw = 1 };
    struct asm_unit *u;
    char head[64];

    snprintf(head, sizeof(head), ".set BASE, 0x%x\n", r->arch.mem_base);
    assert_int_equal(asm_unit_new(&o, &u), EMU_OK);
    char *all = emu_alloc(strlen(head) + sizeof(names) + strlen(text), 1);

    assert_non_null(all);
    strcat(strcat(strcat(all, head), names), text);
    if (asm_unit_add_text(u, "test", all, strlen(all)) != EMU_OK ||
        asm_unit_link(u, NULL) != EMU_OK)
        asm_diag_print(u, stderr);
    assert_non_null(asm_unit_image(u));
    for (size_t i = 0; i < asm_unit_image(u)->section_count; i++) {
        const struct asm_section *s = &asm_unit_image(u)->section[i];

        assert_true(tile_write(machine_tile(r->m, tile), s->addr, s->bytes, s->size));
    }
    machine_use(r->m, tile, (uint32_t)asm_symbol_find(asm_unit_image(u), "start")->value, group);
    ss_free(all);
    asm_unit_free(u);
}

/* The header of a transfer between a stream and BUFFER. */
static void header(struct host_chip *r, uint32_t tile, uint32_t at, uint32_t stream, uint32_t bytes)
{
    const struct host_header h = { .stream = stream,
                                   .addr = r->arch.mem_base + BUFFER,
                                   .bytes = bytes,
                                   .to_host = stream == STREAM_OUT };
    uint32_t word[2];

    host_header_pack(&h, word);
    assert_true(tile_write(machine_tile(r->m, tile), r->arch.mem_base + at, word, sizeof(word)));
}

static uint32_t note(struct host_chip *r, uint32_t tile, unsigned k)
{
    uint32_t v;

    assert_true(tile_read(machine_tile(r->m, tile), r->arch.mem_base + NOTES + 4 * k, &v, 4));
    return v;
}

static int buffer_holds(struct host_chip *r, uint32_t tile, const uint8_t *want, uint32_t bytes)
{
    return memcmp(machine_tile(r->m, tile)->mem + BUFFER, want, bytes) == 0;
}

static void stops_with(struct host_chip *r, enum machine_stop want, uint64_t max_cycle)
{
    enum machine_stop got = machine_run(r->m, max_cycle);

    if (got != want && got == MACHINE_FAULT)
        print_error("tile %u: %s\n", machine_fault(r->m).tile, machine_fault(r->m).fault->detail);
    else if (got != want)
        print_error("%s\n", ss_error());
    assert_int_equal(got, want);
}

/* Issue to the arrival of the last of some bytes, if the link is free. */
static uint64_t transfer_cycles(const struct arch *a, uint64_t bytes)
{
    return arch_host_route_cycles(a) + ss_arch_cycles_from_ns(a, arch_host_latency_ns(a)) +
           ss_arch_cycles_for_bytes(a, bytes, arch_host_link_mbytes_per_s(a));
}

/* Asks in cycle 0, and says when RECV was over: the get issues in the cycle in which it ends. */
static const char one_transfer[] = "start: send 1, HEADER, 4\n"
                                   "sync 0\n"
                                   "get $m0, $SCOUNT_L\n"
                                   "setzi $m1, NOTES\n"
                                   "st32 $m0, $m1, 0\n"
                                   "sync 6\n";

static void test_recv_ends_with_the_last_word(void **state)
{
    static const uint32_t sizes[] = { 4, 1024, 1028, 16384 };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(sizes); i++) {
        for (uint32_t stream = STREAM_IN; stream <= STREAM_OUT; stream += STREAM_OUT - STREAM_IN) {
            struct host_chip r;

            host_chip_new(&r, 1, NULL);
            program(&r, 3, 0, one_transfer);
            header(&r, 3, HEADER, stream, sizes[i]);
            stops_with(&r, MACHINE_HOST, UINT64_MAX);
            assert_int_equal(note(&r, 3, 0), transfer_cycles(&r.arch, sizes[i]));
            assert_int_equal(buffer_holds(&r, 3, pattern, sizes[i]), stream == STREAM_IN);
            assert_int_equal(host_record(r.h, stream)->latency_cycles_max,
                             transfer_cycles(&r.arch, sizes[i]));
            assert_int_equal(machine_tile(r.m, 3)->xcsr[PLACE_DCOUNT], 0);
            host_chip_free(&r);
        }
    }
}

/* Nothing to wait for: a request alone lasts host_send_min_events cycles, then RECV and get. */
static void test_request_costs_the_tile(void **state)
{
    struct host_chip r;

    (void)state;
    host_chip_new(&r, 1, NULL);
    program(&r, 0, 0,
            "start: send 1, HEADER, 4\n get $m0, $SCOUNT_L\n setzi $m1, NOTES\n"
            "st32 $m0, $m1, 0\n get $m2, $INCOMING_DCOUNT\n st32 $m2, $m1, 1\n sync 6\n");
    header(&r, 0, HEADER, STREAM_IN, 400);
    stops_with(&r, MACHINE_HOST, UINT64_MAX);
    assert_int_equal(note(&r, 0, 0), arch_host_send_min_events(&r.arch));
    assert_int_equal(note(&r, 0, 1), 100);
    assert_int_equal(buffer_holds(&r, 0, pattern, 1), 0);
    host_chip_free(&r);
}

/* What was sent is what the tile had at the request. */
static void test_bytes_to_the_host(void **state)
{
    const uint8_t *got;
    size_t n;
    struct host_chip r;

    (void)state;
    host_chip_new(&r, 1, NULL);
    program(&r, 1, 0,
            "start: setzi $m0, BUFFER\n setzi $m1, 2\n setzi $m3, 1\n"
            "loop: st32 $m3, $m0, 0\n"
            "send 1, HEADER, 4\n"
            "add $m3, $m3, 1\n"
            "brnzdec $m1, loop\n"
            "st32 $m3, $m0, 1\n"
            "sync 6\n");
    header(&r, 1, HEADER, STREAM_OUT, 8);
    stops_with(&r, MACHINE_HOST, UINT64_MAX);
    assert_int_equal(host_finish(r.h), EMU_OK);
    got = host_stream_bytes(r.h, STREAM_OUT, &n);
    assert_int_equal(n, 24);
    for (size_t k = 0; k < 24; k++)
        assert_int_equal(got[k], k % 8 ? 0 : 1 + k / 8);
    host_chip_free(&r);
}

/* --- streaming beside compute --- */

/* Workers look at the last word of the first packet until it is there and count how often, then
 * compute on. Notes: 0 the count of worker 5, 1 DCOUNT when all are done, 2 cycle of that. */
static const char computing[] = "start: send 1, HEADER, 4\n"
                                "setzi $m0, work\n"
                                "runall $m0, $mzero, 0\n"
                                "sync 2\n"
                                "get $m2, $INCOMING_DCOUNT\n"
                                "get $m3, $SCOUNT_L\n"
                                "setzi $m1, NOTES\n"
                                "st32 $m2, $m1, 1\n"
                                "st32 $m3, $m1, 2\n"
                                "sync 0\n"
                                "sync 3\n"
                                "sync 6\n"
                                ".worker\n"
                                ".align 8\n"
                                "work: setzi $m1, BUFFER + 1020\n"
                                "zero $m3\n"
                                "look: ld32 $m2, $m1, 0\n"
                                "add $m3, $m3, 1\n"
                                "brz $m2, look\n"
                                "setzi $m4, NOTES\n"
                                "st32 $m3, $m4, 0\n"
                                "setzi $m5, 3000\n"
                                "more: brnzdec $m5, more\n"
                                "exitz $mzero\n";

/* Twenty transfers of 3,000 bytes, one after the other. */
static const char streaming[] = "start: setzi $m1, 19\n"
                                "loop: send 1, HEADER, 4\n"
                                "sync 0\n"
                                "brnzdec $m1, loop\n"
                                "get $m0, $SCOUNT_L\n"
                                "setzi $m1, NOTES\n"
                                "st32 $m0, $m1, 0\n"
                                "sync 3\n"
                                "sync 6\n";

static void streaming_rig(struct host_chip *r, unsigned threads)
{
    host_chip_new(r, threads, NULL);
    program(r, 0, 1, streaming);
    header(r, 0, HEADER, STREAM_IN, 3000);
    program(r, 1, 0, computing);
    program(r, 2, 0, computing);
    header(r, 1, HEADER, STREAM_IN2, 4096);
    header(r, 2, HEADER, STREAM_IN2, 8192);
}

static void test_words_arrive_during_compute(void **state)
{
    struct host_chip r;
    uint64_t first, looks, round;

    (void)state;
    streaming_rig(&r, 1);
    stops_with(&r, MACHINE_HOST, UINT64_MAX);
    for (uint32_t tile = 1; tile <= 2; tile++) {
        /* Before the first packet of tile 1 goes one of tile 0 at most; that of tile 2 follows the
           four of tile 1 on the same stream and four of tile 0. A look takes three instructions of
           six cycles; the workers begin after send (18) and a few more. */
        uint64_t others = tile == 1 ? 1 : 8;

        first = transfer_cycles(&r.arch, 1024);
        looks = (first - 18 - 18) / 18;
        assert_in_range(note(&r, tile, 0), looks - 1, looks + others * 248 / 18 + 2);
        assert_int_equal(note(&r, tile, 1), 0); /* all of it came before the workers were done */
        round = (uint64_t)note(&r, tile, 0) * 18 + 3000 * 6;
        assert_in_range(note(&r, tile, 2), round, round + 120);
    }
    assert_true(buffer_holds(&r, 1, pattern, 4096));
    assert_true(buffer_holds(&r, 2, pattern + 4096, 8192));
    assert_true(buffer_holds(&r, 0, pattern + 19 * 3000, 3000));
    /* 18 cycles to issue the next request, or 6 after the branch */
    assert_in_range(note(&r, 0, 0), 20 * (transfer_cycles(&r.arch, 3000) + 1),
                    20 * (transfer_cycles(&r.arch, 3000) + 13) + 4 * 248);
    assert_int_equal(host_record(r.h, STREAM_IN)->transfers, 20);
    assert_int_equal(machine_supersteps(r.m, 0), 1);
    assert_int_equal(machine_supersteps(r.m, 1), 1);
    host_chip_free(&r);
}

static void test_threads_and_pieces(void **state)
{
    static const uint64_t pieces[] = { UINT64_MAX, UINT64_MAX, 1, 17, 1000, 13373 };
    struct hash128 want = { 0, 0 };
    uint64_t cycles = 0;

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(pieces); k++) {
        struct host_chip r;
        enum machine_stop stop = MACHINE_LIMIT;

        streaming_rig(&r, k == 1 ? 2 : 1);
        for (uint64_t limit = pieces[k]; stop == MACHINE_LIMIT; limit += pieces[k])
            stop = machine_run(r.m, limit);
        assert_int_equal(stop, MACHINE_HOST);
        if (!k) {
            want = machine_digest(r.m);
            cycles = machine_cycles(r.m);
        }
        assert_true(hash128_equal(want, machine_digest(r.m)));
        assert_int_equal(cycles, machine_cycles(r.m));
        host_chip_free(&r);
    }
}

/* One worker whose instructions take up to 36 cycles, beside a supervisor that issues all the time:
 * a limit between two issues of the worker lets the supervisor go on to it. */
static void test_pieces_of_a_cycle(void **state)
{
    uint64_t cycles[2];

    (void)state;
    for (int k = 0; k < 2; k++) {
        enum machine_stop stop = MACHINE_LIMIT;
        struct host_chip r;

        host_chip_new(&r, 1, NULL);
        program(&r, 0, 0,
                "start: setzi $m0, work\n run $m0, $mzero, 0\n setzi $m1, 30\n"
                "loop: brnzdec $m1, loop\n send 1, HEADER, 4\n sync 2\n sync 0\n sync 6\n"
                ".worker\n.align 8\n"
                "work: f32ln $a0, $a0\n f32ln $a1, $a1\n f32ln $a2, $a2\n f32ln $a3, $a3\n"
                "f32ln $a0, $a0\n f32ln $a1, $a1\n f32ln $a2, $a2\n exitz $mzero\n");
        header(&r, 0, HEADER, STREAM_IN, 64);
        for (uint64_t limit = k ? 1 : UINT64_MAX; stop == MACHINE_LIMIT; limit++)
            stop = machine_run(r.m, limit);
        assert_int_equal(stop, MACHINE_HOST);
        cycles[k] = machine_cycles(r.m);
        host_chip_free(&r);
    }
    assert_int_equal(cycles[0], cycles[1]);
}

/* --- tiles that wait for each other --- */

/* Tile 0 sends a word to tile 1, which asks the host then; tile 2 computes meanwhile without any
 * RECV, so that the exchange is resolved only when it reaches the next sync. */
static const char sender[] = "start: sync 4\n delay 199\n send 0, HEADER, 3\n sync 0\n sync 4\n"
                             "sync 6\n";
static const char receiver[] = "start: sync 4\n"
                               "delaypic 0, 0, DATA_WORD + 0x400\n"
                               "delayxpic 209, 0, 0\n"
                               "delayxpic 0, 0, 1600\n"
                               "sync 0\n"
                               "send 1, HEADER, 4\n"
                               "sync 0\n"
                               "get $m0, $SCOUNT_L\n"
                               "setzi $m1, NOTES\n"
                               "st32 $m0, $m1, 0\n"
                               "sync 4\n"
                               "sync 6\n";
static const char busy[] = "start: sync 4\n setzi $m0, 50000\n loop: brnzdec $m0, loop\n sync 4\n"
                           "sync 6\n";
/* The same, but with host data under way. */
static const char busy_awaiting[] = "start: send 1, HEADER, 4\n sync 4\n setzi $m0, 50000\n"
                                    "loop: brnzdec $m0, loop\n sync 4\n sync 0\n sync 6\n";

/* The same with a RECV for the data before it computes. */
static const char awaiting_busy[] = "start: send 1, HEADER, 4\n sync 4\n sync 0\n"
                                    "setzi $m0, 50000\n loop: brnzdec $m0, loop\n sync 4\n"
                                    "sync 6\n";
/* As the receiver, but with a RECV that has nothing to end. */
static const char listens_to_nobody[] = "start: sync 4\n"
                                        "sync 0\n"
                                        "send 1, HEADER, 4\n"
                                        "sync 0\n"
                                        "get $m0, $SCOUNT_L\n"
                                        "setzi $m1, NOTES\n"
                                        "st32 $m0, $m1, 0\n"
                                        "sync 4\n"
                                        "sync 6\n";
static const char no_sender[] = "start: sync 4\n sync 4\n sync 6\n";

struct trio {
    const char *first, *second, *third; /* programs; third may be NULL */
    uint32_t third_bytes;               /* that it asks for */
};

/* Runs three tiles of one group. Returns when the data of the second had come. */
static uint32_t second_done(const struct trio *t, unsigned threads, struct hash128 *digest)
{
    struct host_chip r;
    uint32_t done;

    host_chip_new(&r, threads, NULL);
    program(&r, 0, 0, t->first);
    program(&r, 1, 0, t->second);
    header(&r, 1, HEADER, STREAM_IN, 2048);
    if (t->third) {
        program(&r, 2, 0, t->third);
        header(&r, 2, HEADER, STREAM_IN2, t->third_bytes);
    }
    stops_with(&r, MACHINE_HOST, UINT64_MAX);
    assert_true(buffer_holds(&r, 1, pattern, 2048));
    if (t->third && t->third_bytes)
        assert_true(buffer_holds(&r, 2, pattern, t->third_bytes));
    *digest = machine_digest(r.m);
    done = note(&r, 1, 0);
    host_chip_free(&r);
    return done;
}

static void test_request_behind_a_late_exchange(void **state)
{
    const struct arch *a = ss_arch_preset("toy4");
    struct trio t = { sender, receiver, NULL, 0 };
    struct hash128 digest;
    uint32_t alone = second_done(&t, 1, &digest);

    (void)state;
    /* the sync, 212 events, RECV, then the request */
    assert_in_range(alone - transfer_cycles(a, 2048), a->sync_chip_cycles + 212,
                    a->sync_chip_cycles + 216);
    t.third = busy;
    assert_int_equal(second_done(&t, 1, &digest), alone);
    /* 4 bytes come before the second tile is held; 600 come when it is, but before any answer to
       it: in cycle 13,519, when it asks in cycle 350 or later */
    for (t.third_bytes = 4; t.third_bytes <= 600; t.third_bytes += 596) {
        t.third = awaiting_busy;
        alone = second_done(&t, 1, &digest);
        t.third = busy_awaiting;
        assert_int_equal(second_done(&t, 1, &digest), alone);
    }
}

/* A RECV without an exchange does not wait for the other tiles of the phase. */
static void test_recv_of_nothing(void **state)
{
    struct trio polite = { no_sender, listens_to_nobody, awaiting_busy, 20000 }, rude = polite;
    struct hash128 digest;

    (void)state;
    rude.third = busy_awaiting;
    assert_int_equal(second_done(&rude, 1, &digest), second_done(&polite, 1, &digest));
}

/* A circle: the third tile cannot go on without knowing what the second one asks, and that one
 * only goes on when the third has come to a sync. It ends, always in the same way. */
static void test_circle(void **state)
{
    struct trio t = { sender, receiver, busy_awaiting, 20000 };
    struct trio straight = { sender, receiver, awaiting_busy, 20000 };
    struct hash128 one, two;
    uint32_t done = second_done(&t, 1, &one);

    (void)state;
    assert_true(done > second_done(&straight, 1, &two) + 5000); /* later than need be */
    assert_int_equal(second_done(&t, 2, &two), done);
    assert_true(hash128_equal(one, two));
}

/* --- the end of a run --- */

/* Data on its way when the run stops arrives later; data that comes while other tiles still run is
 * there. */
static void test_host_sync_and_release(void **state)
{
    struct host_chip r;

    (void)state;
    host_chip_new(&r, 1, NULL);
    program(&r, 0, 0, "start: send 1, HEADER, 4\n sync 6\n sync 0\n sync 6\n");
    header(&r, 0, HEADER, STREAM_IN, 1024);
    stops_with(&r, MACHINE_HOST, UINT64_MAX);
    assert_false(buffer_holds(&r, 0, pattern, 4));
    machine_release_host(r.m);
    stops_with(&r, MACHINE_HOST, UINT64_MAX);
    assert_true(buffer_holds(&r, 0, pattern, 1024));
    assert_int_equal(machine_cycles(r.m), transfer_cycles(&r.arch, 1024));
    host_chip_free(&r);

    host_chip_new(&r, 1, NULL);
    program(&r, 0, 0, "start: send 1, HEADER, 4\n sync 6\n sync 0\n sync 6\n");
    program(&r, 1, 0, "start: setzi $m0, 5000\n loop: brnzdec $m0, loop\n sync 6\n sync 6\n");
    header(&r, 0, HEADER, STREAM_IN, 1024);
    stops_with(&r, MACHINE_HOST, UINT64_MAX);
    assert_true(buffer_holds(&r, 0, pattern, 1024));
    assert_int_equal(machine_tile(r.m, 0)->xcsr[PLACE_DCOUNT], 0);
    machine_release_host(r.m);
    stops_with(&r, MACHINE_HOST, UINT64_MAX);
    host_chip_free(&r);
}

static void test_errors_stop_the_run(void **state)
{
    struct machine_options o = { .threads = 1 };
    struct host_chip r;

    (void)state;
    host_chip_new(&r, 1, NULL);
    program(&r, 2, 0, one_transfer);
    header(&r, 2, HEADER, 77, 1024);
    stops_with(&r, MACHINE_ERROR, UINT64_MAX);
    assert_non_null(strstr(ss_error(), "stream 77"));
    assert_non_null(strstr(ss_error(), "tile 2, cycle 0"));
    host_chip_free(&r);

    host_chip_new(&r, 1, NULL);
    assert_int_equal(host_stream_from_memory(r.h, 70, 1, pattern, 1000, 0), EMU_OK);
    program(&r, 2, 0, one_transfer);
    header(&r, 2, HEADER, 70, 1024);
    stops_with(&r, MACHINE_ERROR, UINT64_MAX);
    assert_non_null(strstr(ss_error(), "stream 70: the data end after 1000 bytes"));
    host_chip_free(&r);

    host_chip_new(&r, 1, NULL); /* a machine without a host */
    machine_free(r.m);
    assert_int_equal(machine_new(&r.arch, &o, &r.m), EMU_OK);
    program(&r, 2, 0, one_transfer);
    header(&r, 2, HEADER, STREAM_IN, 1024);
    stops_with(&r, MACHINE_ERROR, UINT64_MAX);
    assert_non_null(strstr(ss_error(), "tile 2"));
    host_chip_free(&r);
}

/* A limit inside the wait of RECV stops there, and a RECV for nothing is a deadlock. */
static void test_limit_and_deadlock(void **state)
{
    struct host_chip r;

    (void)state;
    host_chip_new(&r, 1, NULL);
    program(&r, 0, 0, one_transfer);
    header(&r, 0, HEADER, STREAM_IN, 16384);
    stops_with(&r, MACHINE_LIMIT, 500);
    stops_with(&r, MACHINE_LIMIT, 14000);
    stops_with(&r, MACHINE_LIMIT, 14000);
    stops_with(&r, MACHINE_HOST, UINT64_MAX);
    assert_int_equal(note(&r, 0, 0), transfer_cycles(&r.arch, 16384));
    host_chip_free(&r);

    host_chip_new(&r, 1, NULL);
    program(&r, 0, 0, "start: setzi $m0, 1\n put $INCOMING_DCOUNT, $m0\n sync 0\n sync 6\n");
    program(&r, 1, 1, streaming);
    header(&r, 1, HEADER, STREAM_IN, 1024);
    stops_with(&r, MACHINE_DEADLOCK, UINT64_MAX);
    assert_non_null(strstr(ss_error(), "tile 0"));
    assert_non_null(strstr(ss_error(), "host data"));
    host_chip_free(&r);
}

/* The smallest latency there is: passes of a few cycles, same result as ever. */
static void test_no_latency(void **state)
{
    static const char *const set[] = { "host_latency_ns=0", "host_route_cycles=0", NULL };
    struct host_chip r;

    (void)state;
    host_chip_new(&r, 1, set);
    program(&r, 0, 1, streaming);
    header(&r, 0, HEADER, STREAM_IN, 3000);
    program(&r, 1, 0, computing);
    header(&r, 1, HEADER, STREAM_IN2, 4096);
    stops_with(&r, MACHINE_HOST, UINT64_MAX);
    assert_true(buffer_holds(&r, 1, pattern, 4096));
    assert_true(buffer_holds(&r, 0, pattern + 19 * 3000, 3000));
    assert_in_range(note(&r, 0, 0), 20 * transfer_cycles(&r.arch, 3000),
                    20 * transfer_cycles(&r.arch, 3000) + 20 * 13 + 4 * 248);
    host_chip_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recv_ends_with_the_last_word),
        cmocka_unit_test(test_request_costs_the_tile),
        cmocka_unit_test(test_bytes_to_the_host),
        cmocka_unit_test(test_words_arrive_during_compute),
        cmocka_unit_test(test_threads_and_pieces),
        cmocka_unit_test(test_pieces_of_a_cycle),
        cmocka_unit_test(test_request_behind_a_late_exchange),
        cmocka_unit_test(test_recv_of_nothing),
        cmocka_unit_test(test_circle),
        cmocka_unit_test(test_host_sync_and_release),
        cmocka_unit_test(test_errors_stop_the_run),
        cmocka_unit_test(test_limit_and_deadlock),
        cmocka_unit_test(test_no_latency),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("host_machine", tests, NULL, NULL);
}
