/* test_host_link.c - the link: rates, latency, turns, depth, jitter. Every schedule is also
 * compared with a slow second implementation (reference_*).
 */
#include "emu/arch/arch_numbers.h"
#include "tests/fixtures/host_fixture.h"

/* --- rates and latency --- */

static void test_latency(void **state)
{
    static const char *const sets[][3] = { { NULL },
                                           { "host_latency_ns=3" },
                                           { "host_latency_ns=0", "host_route_cycles=0" } };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(sets); k++) {
        struct host_fixture r;

        host_fixture_new(&r, sets[k], NULL);
        from_memory(&r, 0, 1);
        assert_int_equal(host_stream_to_memory(r.h, 100, 1), EMU_OK);
        assert_true(host_next(r.h) == UINT64_MAX);
        ask(&r, 2, 1000, 0, 4);
        ask(&r, 3, 1000, 100, 8);
        assert_true(host_next(r.h) <= 1000 + host_latency_cycles(r.h));
        advance(&r, 1000 + host_latency_cycles(r.h));
        assert_int_equal(place(&r, 2)->arrivals, 0);
        advance(&r, UINT64_MAX);
        assert_true(host_next(r.h) == UINT64_MAX);
        assert_int_equal(last_of(&r, 2)->cycle, 1000 + alone_cycles(&r.arch, 4));
        assert_int_equal(last_of(&r, 2)->cycle, 1000 + host_latency_cycles(r.h));
        assert_int_equal(last_of(&r, 2)->bytes, 4);
        assert_int_equal(last_of(&r, 2)->words, 1);
        assert_int_equal(last_of(&r, 3)->cycle, 1000 + alone_cycles(&r.arch, 8));
        assert_int_equal(last_of(&r, 3)->bytes, 0);
        assert_int_equal(last_of(&r, 3)->words, 2);
        host_fixture_free(&r);
    }
}

/* The last packet of a long stream comes when all bytes before it have taken exactly their time. */
static void test_rate_without_drift(void **state)
{
    static const char *const sets[][3] = { { NULL },
                                           { "host_link_mbytes_per_s=3900", "clock_mhz=1500" },
                                           { "host_link_mbytes_per_s=777", "clock_mhz=1999" },
                                           { "host_link_mbytes_per_s=99999" } };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(sets); k++) {
        const uint64_t transfers = 5000, bytes = 5 * 4096 + 12;
        const struct host_stream_record *record;
        uint64_t busy, last = 0;
        struct host_fixture r;

        host_fixture_new(&r, sets[k], NULL);
        from_memory(&r, 7, HOST_MAX_DEPTH);
        for (uint64_t i = 0; i < transfers; i++)
            ask(&r, 1, 50, 7, (uint32_t)bytes);
        for (uint64_t until = 0; host_next(r.h) != UINT64_MAX; until += 100000) {
            advance(&r, until);
            if (place(&r, 1)->arrivals)
                last = last_of(&r, 1)->cycle;
            place_apply_arrivals(r.m, 1, UINT64_MAX);
        }
        busy = link_cycles(&r.arch, transfers * bytes);
        assert_int_equal(last, 50 + alone_cycles(&r.arch, transfers * bytes));
        record = host_record(r.h, 7);
        assert_int_equal(record->transfers, transfers);
        assert_int_equal(record->bytes, transfers * bytes);
        assert_int_equal(record->packets, transfers * 21);
        assert_int_equal(record->busy_cycles, busy);
        assert_int_equal(record->waiting_cycles, 0);
        assert_int_equal(record->starved_cycles, last - 50 - busy);
        assert_int_equal(record->latency_cycles_max, last - 50);
        host_fixture_free(&r);
    }
}

/* Neither direction slows the other. */
static void test_both_directions(void **state)
{
    uint64_t alone[2] = { 0, 0 };

    (void)state;
    for (int which = 1; which <= 3; which++) {
        struct host_fixture r;

        host_fixture_new(&r, NULL, NULL);
        from_memory(&r, 0, 4);
        assert_int_equal(host_stream_to_memory(r.h, 100, 4), EMU_OK);
        for (uint64_t i = 0; i < 20; i++) {
            if (which & 1)
                ask(&r, 0, 100 * i, 0, 10000);
            if (which & 2)
                ask(&r, 1, 100 * i, 100, 20000);
        }
        advance(&r, UINT64_MAX);
        for (uint32_t d = 0; d < 2; d++) {
            if (which == 1 << d)
                alone[d] = last_of(&r, d)->cycle;
            else if (which == 3)
                assert_int_equal(last_of(&r, d)->cycle, alone[d]);
        }
        host_fixture_free(&r);
    }
    assert_true(alone[0] > 0 && alone[1] > alone[0]);
}

/* --- turns --- */

/* Streams 0 .. n - 1 to tiles of the same number, each with much to send from cycle start[k] on. */
static void test_turns(void **state)
{
    struct host_fixture r;
    uint64_t first[3], packet;

    (void)state;
    host_fixture_new(&r, NULL, NULL);
    packet = link_cycles(&r.arch, arch_host_packet_bytes(&r.arch));
    for (uint32_t k = 0; k < 3; k++) {
        from_memory(&r, k, 1);
        ask(&r, k, k * 20 * packet, k, 60 * 1024);
    }
    advance(&r, UINT64_MAX);
    for (uint32_t k = 0; k < 3; k++)
        first[k] = place(&r, k)->arrival[0].cycle;
    /* A stream that joins waits for one packet of each other stream at most. */
    assert_true(first[1] - alone_cycles(&r.arch, 1024) <= 21 * packet);
    assert_true(first[2] - alone_cycles(&r.arch, 1024) <= 42 * packet);
    /* Between two of its packets lies one of each stream that is active. */
    for (uint32_t k = 0; k < 3; k++) {
        const struct arrival *a = place(&r, k)->arrival;

        assert_int_equal(place(&r, k)->arrivals, 60);
        for (size_t i = 1; i < 60; i++) {
            uint64_t gap = a[i].cycle - a[i - 1].cycle;

            if (a[i].cycle < first[1])
                assert_in_range(gap, packet - 1, packet);
            else if (a[i - 1].cycle >= first[1] && a[i].cycle < first[2])
                assert_in_range(gap, 2 * packet - 2, 2 * packet);
            else if (a[i - 1].cycle >= first[2] && a[i].cycle <= last_of(&r, 0)->cycle)
                assert_in_range(gap, 3 * packet - 3, 3 * packet);
        }
    }
    /* All had 60 packets; the link was never idle. */
    assert_int_equal(last_of(&r, 2)->cycle, alone_cycles(&r.arch, 3 * 60 * 1024));
    host_fixture_free(&r);
}

/* A stream of small packets is not held up by one of large ones for more than one of them. */
static void test_turns_of_unequal_packets(void **state)
{
    struct host_fixture r;

    (void)state;
    host_fixture_new(&r, NULL, NULL);
    from_memory(&r, 0, 1);
    from_memory(&r, 1, HOST_MAX_DEPTH);
    ask(&r, 0, 0, 0, 32 * 1024);
    for (uint32_t i = 0; i < 32; i++)
        ask(&r, 1, 0, 1, 4);
    advance(&r, UINT64_MAX);
    for (uint32_t i = 1; i < 32; i++) {
        uint64_t gap = place(&r, 1)->arrival[i].cycle - place(&r, 1)->arrival[i - 1].cycle;

        assert_in_range(gap, link_cycles(&r.arch, 1028) - 1, link_cycles(&r.arch, 1028));
    }
    host_fixture_free(&r);
}

static void test_depth(void **state)
{
    const uint32_t bytes = 2000, n = 8;
    uint64_t latency, reach, half;

    (void)state;
    for (uint32_t depth = 1; depth <= 3; depth++) {
        const struct host_stream_record *record;
        uint64_t done[8], waiting = 0, free = 0;
        struct host_fixture r;

        host_fixture_new(&r, NULL, NULL);
        from_memory(&r, 9, depth);
        for (uint32_t i = 0; i < n; i++)
            ask(&r, i % 2, 10 + i, 9, bytes);
        advance(&r, UINT64_MAX);
        latency = ss_arch_cycles_from_ns(&r.arch, arch_host_latency_ns(&r.arch));
        half = latency / 2;
        for (uint32_t i = 0; i < n; i++) {
            const struct arrival *a = &place(&r, i % 2)->arrival[i / 2 * 2 + 1]; /* two packets */
            uint64_t ready;

            reach = 10 + i + arch_host_route_cycles(&r.arch) + half;
            ready = i >= depth && done[i - depth] > reach ? done[i - depth] : reach;
            waiting += ready - reach;
            free = free > ready ? free : ready;
            free += link_cycles(&r.arch, bytes);
            done[i] = a->cycle; /* within one cycle of what whole cycles give */
            assert_in_range(done[i], free + latency - half - i, free + latency - half);
        }
        record = host_record(r.h, 9);
        assert_int_equal(record->waiting_cycles, waiting);
        assert_int_equal(record->starved_cycles,
                         done[n - 1] - 10 - link_cycles(&r.arch, n * bytes));
        if (depth == 1)
            assert_true(waiting > 0);
        host_fixture_free(&r);
    }
}

/* --- against the reference --- */

struct reference_transfer {
    uint64_t issued, reach, ready, done;
    uint32_t tile, stream, bytes, sent;
    int state;               /* 0 on its way or after another, 1 waits for its turn, 2 sent */
    unsigned __int128 since; /* its turn is counted from here, in parts of a cycle */
    uint32_t kind, tie; /* equal since: 0 held by depth, 1 just asked, 2 had a turn; then tie */
};

struct reference_arrival {
    uint64_t cycle;
    uint32_t tile, bytes, words;
};

struct reference {
    const struct arch *arch;
    struct reference_transfer t[400];
    uint32_t transfers, depth[200];
    struct reference_arrival a[20000];
    size_t arrivals;
};

static int later_issue(const void *x, const void *y)
{
    const struct reference_transfer *a = x, *b = y;

    if (a->issued != b->issued)
        return a->issued < b->issued ? -1 : 1;
    return a->tile < b->tile ? -1 : a->tile > b->tile;
}

/* When transfer i could begin, from those of its stream before it; UINT64_MAX: not known yet.
 * *after: end of the transfer before it, in parts. */
static uint64_t reference_ready(struct reference *f, uint32_t i, const unsigned __int128 *end,
                                unsigned __int128 *after)
{
    uint32_t seen = 0, s = f->t[i].stream;
    uint64_t ready = f->t[i].reach;

    *after = 0;
    for (uint32_t k = i; k-- > 0;) {
        if (f->t[k].stream != s)
            continue;
        if (f->t[k].state != 2)
            return UINT64_MAX;
        if (!seen++)
            *after = end[k];
        if (seen == f->depth[s] && f->t[k].done > ready)
            ready = f->t[k].done;
    }
    return ready;
}

/* Sends everything of one direction, each packet after a look at all transfers. */
static void reference_run(struct reference *f, int to_host)
{
    const struct arch *a = f->arch;
    uint64_t latency = ss_arch_cycles_from_ns(a, arch_host_latency_ns(a)),
             rate = arch_host_link_mbytes_per_s(a);
    unsigned __int128 free = 0, end[400] = { 0 };

    for (;;) {
        struct reference_transfer *best = NULL;
        uint64_t next = UINT64_MAX;

        for (uint32_t i = 0; i < f->transfers; i++) {
            struct reference_transfer *t = &f->t[i];
            unsigned __int128 after;

            if ((t->stream >= 100) != to_host || t->state)
                continue;
            t->ready = reference_ready(f, i, end, &after);
            if (t->ready == UINT64_MAX || (unsigned __int128)t->ready * rate > free) {
                next = t->ready < next ? t->ready : next;
                continue;
            }
            t->state = 1;
            t->since = (unsigned __int128)t->ready * rate;
            t->kind = t->ready > t->reach ? 0 : 1;
            t->tie = t->kind ? t->tile : t->stream;
            if (after > t->since || (after && after == t->since)) {
                t->since = after;
                t->kind = 2;
            }
        }
        for (uint32_t i = 0; i < f->transfers; i++) {
            struct reference_transfer *t = &f->t[i];

            if ((t->stream >= 100) != to_host || t->state != 1)
                continue;
            if (!best || t->since < best->since ||
                (t->since == best->since &&
                 (t->kind < best->kind || (t->kind == best->kind && t->tie < best->tie))))
                best = t;
        }
        if (!best) {
            if (next == UINT64_MAX)
                return;
            free = (unsigned __int128)next * rate;
            continue;
        }
        uint32_t left = best->bytes - best->sent;
        uint32_t n = left < arch_host_packet_bytes(a) ? left : arch_host_packet_bytes(a);

        free += (uint64_t)n * a->clock_mhz;
        best->sent += n;
        best->since = free;
        best->kind = 2;
        best->done = (uint64_t)((free + rate - 1) / rate) + latency - latency / 2;
        if (n == left) {
            best->state = 2;
            end[best - f->t] = free;
        }
        if (!to_host || n == left)
            f->a[f->arrivals++] =
                (struct reference_arrival){ best->done, best->tile, to_host ? 0 : n,
                                            (to_host ? best->bytes : n) / 4 };
    }
}

static int by_cycle(const void *x, const void *y)
{
    const struct reference_arrival *a = x, *b = y;

    if (a->tile != b->tile)
        return a->tile < b->tile ? -1 : 1;
    if (a->cycle != b->cycle)
        return a->cycle < b->cycle ? -1 : 1;
    return a->bytes != b->bytes ? (a->bytes < b->bytes ? -1 : 1)
                                : (a->words > b->words) - (a->words < b->words);
}

/* Collects what the machine has queued and empties its queues. */
static void collect(struct host_fixture *r, struct reference_arrival *out, size_t *n)
{
    for (uint32_t tile = 0; tile < r->arch.tiles; tile++) {
        struct place *p = place(r, tile);

        for (size_t i = p->next_arrival; i < p->arrivals; i++)
            out[(*n)++] = (struct reference_arrival){ p->arrival[i].cycle, tile,
                                                      p->arrival[i].bytes, p->arrival[i].words };
        place_apply_arrivals(r->m, tile, UINT64_MAX);
    }
}

static uint32_t below(struct prng *p, uint32_t n)
{
    return (uint32_t)(prng_next(p) % n);
}

static void random_transfers(struct reference *f, struct prng *p, uint32_t streams)
{
    static const uint32_t sizes[] = { 4, 8, 1020, 1024, 1028, 4096, 20000 };
    uint32_t spread = below(p, 3) ? 25 : 3750;

    f->transfers = 40 + below(p, 200);
    for (uint32_t i = 0; i < f->transfers; i++) {
        struct reference_transfer *t = &f->t[i];

        *t = (struct reference_transfer){ .tile = i % 4 };
        t->issued = (uint64_t)below(p, spread) * 256 + i / 4; /* no two of a tile alike */
        t->reach = t->issued + arch_host_route_cycles(f->arch) +
                   ss_arch_cycles_from_ns(f->arch, arch_host_latency_ns(f->arch)) / 2;
        t->stream = below(p, streams) + (below(p, 3) ? 0 : 100);
        t->bytes = sizes[below(p, EMU_COUNT_OF(sizes))];
    }
    qsort(f->t, f->transfers, sizeof(f->t[0]), later_issue);
}

/* Feeds the host as the machine does: requests of a span of cycles, in any order, then all arrivals
 * that they allow. */
static void feed(struct host_fixture *r, struct reference *f, struct prng *p,
                 struct reference_arrival *got, size_t *n)
{
    uint32_t next = 0;

    for (uint64_t clock = 0; next < f->transfers; clock += 1 + below(p, 30000)) {
        uint64_t next_arrival = host_next(r->h), until = clock + host_latency_cycles(r->h);
        size_t before = *n;
        uint32_t end = next;

        advance(r, until);
        collect(r, got, n);
        for (size_t i = before; i < *n; i++)
            assert_true(got[i].cycle >= next_arrival);
        while (end < f->transfers && f->t[end].issued < clock + 30000)
            end++;
        for (uint32_t k = end; k-- > next;) /* last one first */
            ask(r, f->t[k].tile, f->t[k].issued, f->t[k].stream, f->t[k].bytes);
        next = end;
    }
    advance(r, UINT64_MAX);
    collect(r, got, n);
}

static void test_against_reference(void **state)
{
    static const char *const sets[][4] = {
        { NULL },
        { "host_latency_ns=100", "host_link_mbytes_per_s=3900", NULL },
        { "host_latency_ns=0", "host_route_cycles=1", "host_link_mbytes_per_s=300", NULL },
        { "host_packet_bytes=4096", "clock_mhz=1847", "host_latency_ns=3001", NULL }
    };
    static struct reference f;
    static struct reference_arrival got[20000];
    struct prng p;

    (void)state;
    prng_seed(&p, 4711);
    for (uint32_t round = 0; round < 120; round++) {
        uint32_t streams = 1 + below(&p, 6);
        size_t n = 0;
        struct host_fixture r;

        host_fixture_new(&r, sets[round % EMU_COUNT_OF(sets)], NULL);
        f.arch = &r.arch;
        f.arrivals = 0;
        for (uint32_t s = 0; s < streams; s++) {
            f.depth[s] = 1 + below(&p, 4);
            f.depth[100 + s] = 1 + below(&p, 4);
            from_memory(&r, s, f.depth[s]);
            assert_int_equal(host_stream_to_memory(r.h, 100 + s, f.depth[100 + s]), EMU_OK);
        }
        random_transfers(&f, &p, streams);
        reference_run(&f, 0);
        reference_run(&f, 1);
        feed(&r, &f, &p, got, &n);
        assert_int_equal(n, f.arrivals);
        qsort(f.a, n, sizeof(f.a[0]), by_cycle);
        qsort(got, n, sizeof(got[0]), by_cycle);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(got[i].tile, f.a[i].tile);
            assert_int_equal(got[i].cycle, f.a[i].cycle);
            assert_int_equal(got[i].bytes, f.a[i].bytes);
            assert_int_equal(got[i].words, f.a[i].words);
        }
        host_fixture_free(&r);
    }
}

/* --- jitter --- */

static void jitter_run(const struct host_options *o, uint64_t step, struct reference_arrival *got,
                       size_t *n)
{
    struct host_fixture r;

    *n = 0;
    host_fixture_new(&r, NULL, o);
    from_memory(&r, 3, 2);
    from_memory(&r, 4, 8);
    assert_int_equal(host_stream_to_memory(r.h, 100, 8), EMU_OK);
    for (uint32_t i = 0; i < 30; i++) {
        ask(&r, i % 4, 40 * i, 3, 5000);
        ask(&r, i % 4, 40 * i + 3, 4, 3000);
        ask(&r, i % 4, 40 * i + 7, 100, 3000);
    }
    for (uint64_t until = step; host_next(r.h) != UINT64_MAX; until += step) {
        advance(&r, until);
        collect(&r, got, n);
    }
    host_fixture_free(&r);
    qsort(got, *n, sizeof(*got), by_cycle);
}

static void test_jitter(void **state)
{
    static struct reference_arrival none[1000], some[1000], again[1000], other[1000];
    struct host_options o = { .seed = 1 }, j = { .seed = 1, .jitter_ns = 2000 };
    size_t n0, n1, n2, n3;
    uint64_t differs = 0, most = ss_arch_cycles_from_ns(ss_arch_preset("toy4"), 2000);

    (void)state;
    jitter_run(&o, 100000, none, &n0);
    jitter_run(&j, 100000, some, &n1);
    jitter_run(&j, 311, again, &n2);
    j.seed = 2;
    jitter_run(&j, 100000, other, &n3);
    assert_true(n0 == n1 && n1 == n2 && n2 == n3);
    assert_memory_equal(some, again, n1 * sizeof(some[0]));
    for (size_t i = 0; i < n0; i++)
        differs += some[i].cycle != other[i].cycle;
    assert_true(differs > n0 / 2);
    assert_true(some[0].cycle >= none[0].cycle && some[0].cycle <= none[0].cycle + most);
}

/* Packets keep their order, none is early, none later than the bound: on one stream, without depth.
 */
static void test_jitter_order(void **state)
{
    struct host_options j = { .seed = 5, .jitter_ns = 1500 };
    uint64_t most = ss_arch_cycles_from_ns(ss_arch_preset("toy4"), 1500), late = 0;
    struct host_fixture r;
    uint8_t got[60000];

    (void)state;
    host_fixture_new(&r, NULL, &j);
    from_memory(&r, 0, 1);
    ask(&r, 1, 77, 0, 60000);
    advance(&r, UINT64_MAX);
    for (size_t i = 0; i < place(&r, 1)->arrivals; i++) {
        const struct arrival *a = &place(&r, 1)->arrival[i];
        uint64_t on_time = 77 + alone_cycles(&r.arch, i < 58 ? 1024 * (i + 1) : 60000);

        assert_in_range(a->cycle, on_time, on_time + most);
        assert_int_equal(a->addr, r.arch.mem_base + 1024 * i);
        late += a->cycle - on_time;
    }
    assert_true(late > 58 * most / 10);
    place_apply_arrivals(r.m, 1, UINT64_MAX);
    assert_true(tile_read(machine_tile(r.m, 1), r.arch.mem_base, got, sizeof(got)));
    assert_memory_equal(got, pattern, sizeof(got));
    host_fixture_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_latency),
        cmocka_unit_test(test_rate_without_drift),
        cmocka_unit_test(test_both_directions),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_turns_of_unequal_packets),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_against_reference),
        cmocka_unit_test(test_jitter),
        cmocka_unit_test(test_jitter_order),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("host_link", tests, NULL, NULL);
}
