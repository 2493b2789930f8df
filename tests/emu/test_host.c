/* test_host.c - streams: what tiles may not ask, files, the order of bytes, memory of the host.
 */
#include "tests/fixtures/host_fixture.h"

/* --- what goes wrong --- */

static void expect_error(enum emu_status want, enum emu_status got, const char *const *words)
{
    assert_int_equal(got, want);
    for (; *words; words++) {
        if (!strstr(ss_error(), *words))
            print_error("no '%s' in: %s\n", *words, ss_error());
        assert_non_null(strstr(ss_error(), *words));
    }
}

#define EXPECT_ERROR(want, got, ...)                                                               \
    expect_error(EMU_##want, got, (const char *const[]){ __VA_ARGS__, NULL })

static void test_bad_requests(void **state)
{
    static const struct {
        uint32_t stream, off, bytes;
        int to_host;
        const char *why;
    } bad[] = {
        { .stream = 6, .bytes = 4, .why = "no such stream" },
        { .stream = 8191, .bytes = 4, .to_host = 1, .why = "no such stream" },
        { .stream = 5, .bytes = 4, .to_host = 1, .why = "to the host on a stream to tiles" },
        { .stream = 100, .bytes = 4, .why = "to a tile on a stream to the host" },
        { .stream = 5, .why = "no bytes" },
        { .stream = 5, .off = 65536, .bytes = 4, .why = "outside the memory" },
        { .stream = 5, .off = 65532, .bytes = 8, .why = "outside the memory" },
        { .stream = 5, .bytes = 65540, .why = "outside the memory" },
        { .stream = 5, .off = 0xfffc, .bytes = 0x1ffffc, .why = "outside the memory" },
        { .stream = 5, .off = 2, .bytes = 4, .why = "misaligned" },
        { .stream = 5, .off = 1u << 24, .bytes = 4, .why = "reserved" },
    };
    uint32_t below_memory[2] = { 0, 5u << HOST_HEADER_WORDS_BITS | 1 };
    struct host_fixture r;

    (void)state;
    host_fixture_new(&r, NULL, NULL);
    from_memory(&r, 5, 1);
    assert_int_equal(host_stream_to_memory(r.h, 100, 1), EMU_OK);
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        char stream[20];

        snprintf(stream, sizeof(stream), "stream %u:", bad[i].stream);
        EXPECT_ERROR(
            FAULT, try_ask(&r, 3, 123456, bad[i].stream, bad[i].off, bad[i].bytes, bad[i].to_host),
            stream, bad[i].why, "tile 3", "cycle 123456");
    }
    EXPECT_ERROR(FAULT, host_request(r.h, 0, 1, below_memory, NULL), "outside the memory");
    assert_int_equal(try_ask(&r, 3, 1, 5, 65532, 4, 0), EMU_OK); /* the last word */
    host_fixture_free(&r);
}

static void test_bad_streams(void **state)
{
    struct host_fixture r;

    (void)state;
    host_fixture_new(&r, NULL, NULL);
    EXPECT_ERROR(USAGE, host_stream_to_memory(r.h, HOST_MAX_STREAMS, 1), "8192");
    EXPECT_ERROR(USAGE, host_stream_to_memory(r.h, 1, 0), "stream 1", "depth 0");
    EXPECT_ERROR(USAGE, host_stream_from_memory(r.h, 1, HOST_MAX_DEPTH + 1, pattern, 4, 0),
                 "65537");
    assert_int_equal(host_stream_to_memory(r.h, 8191, HOST_MAX_DEPTH), EMU_OK);
    EXPECT_ERROR(USAGE, host_stream_from_memory(r.h, 8191, 1, pattern, 4, 0), "8191", "exists");
    EXPECT_ERROR(IO, host_stream_from_file(r.h, 2, 1, "/nowhere/at/all", 0), "/nowhere/at/all");
    EXPECT_ERROR(IO, host_stream_to_file(r.h, 2, 1, "/nowhere/at/all"), "/nowhere/at/all");
    assert_null(host_record(r.h, 2));
    assert_null(host_record(r.h, 1u << 30));
    assert_non_null(host_record(r.h, 8191));
    host_fixture_free(&r);
}

/* --- bytes --- */

static void temp_name(char name[32])
{
    int fd;

    strcpy(name, "/tmp/test_host_XXXXXX");
    fd = mkstemp(name);
    assert_true(fd >= 0);
    close(fd);
}

static void write_file(const char *name, size_t bytes)
{
    FILE *f = fopen(name, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(pattern, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

/* 10,000 bytes, read by transfers of 1,500 to four tiles in turn, over and over or once. */
static void test_sources(void **state)
{
    const uint32_t size = 10000, bytes = 1500, n = 24;
    char name[32];

    (void)state;
    for (int k = 0; k < 4; k++) {
        int file = k & 1, repeat = k >> 1;
        struct host_fixture r;
        uint8_t got[1500];

        host_fixture_new(&r, NULL, NULL);
        temp_name(name);
        write_file(name, size);
        assert_int_equal(file ? host_stream_from_file(r.h, 1, 3, name, repeat)
                              : host_stream_from_memory(r.h, 1, 3, pattern, size, repeat),
                         EMU_OK);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(try_ask(&r, i % 4, 1000 + 100 * i, 1, i / 4 * bytes, bytes, 0),
                             EMU_OK);
        if (!repeat) { /* the seventh transfer, tile 2, is cut off */
            EXPECT_ERROR(FAULT, host_advance(r.h, r.m, UINT64_MAX), "stream 1",
                         "end after 10000 bytes", "tile 2", "cycle 1600");
        } else {
            advance(&r, UINT64_MAX);
            for (uint32_t i = 0; i < n; i++) {
                place_apply_arrivals(r.m, i % 4, UINT64_MAX);
                assert_true(tile_read(machine_tile(r.m, i % 4), r.arch.mem_base + i / 4 * bytes,
                                      got, bytes));
                for (uint32_t b = 0; b < bytes; b++)
                    assert_int_equal(got[b], pattern[(i * bytes + b) % size]);
            }
        }
        unlink(name);
        host_fixture_free(&r);
    }
}

static void test_odd_sources(void **state)
{
    static const char dir[] = "/tmp";
    char name[32];
    struct host_fixture r;

    (void)state;
    host_fixture_new(&r, NULL, NULL);
    temp_name(name);
    assert_int_equal(host_stream_from_file(r.h, 1, 1, name, 1), EMU_OK); /* empty, for ever */
    ask(&r, 0, 5, 1, 4);
    EXPECT_ERROR(FAULT, host_advance(r.h, r.m, 100000), "stream 1", "after 0 bytes", "tile 0");
    assert_int_equal(host_stream_from_memory(r.h, 2, 1, NULL, 0, 1), EMU_OK);
    ask(&r, 0, 100000, 2, 4);
    EXPECT_ERROR(FAULT, host_advance(r.h, r.m, 200000), "stream 2", "after 0 bytes");
    assert_int_equal(host_stream_from_file(r.h, 3, 1, dir, 0), EMU_OK);
    ask(&r, 0, 200000, 3, 4);
    EXPECT_ERROR(IO, host_advance(r.h, r.m, 300000), dir);
    write_file(name, 3); /* repeats within one transfer */
    assert_int_equal(host_stream_from_file(r.h, 4, 1, name, 1), EMU_OK);
    ask(&r, 3, 300000, 4, 8);
    advance(&r, UINT64_MAX);
    place_apply_arrivals(r.m, 3, UINT64_MAX);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(machine_tile(r.m, 3)->mem[i], pattern[i % 3]);
    unlink(name);
    host_fixture_free(&r);
}

/* New data for a stream begin at their start, whatever was left of the old ones. */
static void test_refill(void **state)
{
    char name[32];
    struct host_fixture r;

    (void)state;
    host_fixture_new(&r, NULL, NULL);
    assert_int_equal(host_stream_from_memory(r.h, 1, 1, pattern, 12, 0), EMU_OK);
    ask(&r, 0, 5, 1, 8);
    advance(&r, 100000);
    assert_int_equal(host_stream_refill(r.h, 1, pattern + 100, 16), EMU_OK);
    assert_int_equal(try_ask(&r, 0, 100000, 1, 8, 16, 0), EMU_OK);
    advance(&r, UINT64_MAX);
    place_apply_arrivals(r.m, 0, UINT64_MAX);
    assert_memory_equal(machine_tile(r.m, 0)->mem, pattern, 8);
    assert_memory_equal(machine_tile(r.m, 0)->mem + 8, pattern + 100, 16);
    temp_name(name);
    assert_int_equal(host_stream_from_file(r.h, 2, 1, name, 0), EMU_OK);
    assert_int_equal(host_stream_to_memory(r.h, 3, 1), EMU_OK);
    EXPECT_ERROR(USAGE, host_stream_refill(r.h, 2, pattern, 4), "stream 2");
    EXPECT_ERROR(USAGE, host_stream_refill(r.h, 3, pattern, 4), "stream 3");
    EXPECT_ERROR(USAGE, host_stream_refill(r.h, 4, pattern, 4), "stream 4");
    EXPECT_ERROR(USAGE, host_stream_refill(r.h, HOST_MAX_STREAMS, pattern, 4), "memory");
    unlink(name);
    host_fixture_free(&r);
}

/* Bytes to the host stand in the order of issue, though requests come in another one; also those
 * that the link has not carried when the run is over. */
static void test_sinks(void **state)
{
    char name[32];

    (void)state;
    for (int file = 0; file < 2; file++) {
        uint8_t got[40], want[40], data[4];
        const uint8_t *bytes = NULL;
        size_t n = 0;
        struct host_fixture r;

        host_fixture_new(&r, NULL, NULL);
        temp_name(name);
        assert_int_equal(file ? host_stream_to_file(r.h, 100, 1, name)
                              : host_stream_to_memory(r.h, 100, 1),
                         EMU_OK);
        for (uint32_t i = 0; i < 10; i++) {
            uint32_t k = (i * 7 + 3) % 10; /* issued k-th */
            const struct host_header h = {
                .stream = 100, .addr = r.arch.mem_base, .bytes = 4, .to_host = 1
            };
            uint32_t word[2];

            memset(data, (int)k, 4);
            memset(want + 4 * i, (int)i, 4);
            host_header_pack(&h, word);
            assert_int_equal(host_request(r.h, k % 2, 50 + k / 2 * 1000, word, data), EMU_OK);
        }
        advance(&r, 8000 + host_latency_cycles(r.h)); /* some of them */
        assert_int_equal(host_finish(r.h), EMU_OK);
        if (file) {
            FILE *f = fopen(name, "rb");

            assert_int_equal(fgetc(f), EOF); /* as it was before */
            fclose(f);
            assert_int_equal(host_commit(r.h), EMU_OK);
            f = fopen(name, "rb");
            assert_non_null(f);
            n = fread(got, 1, sizeof(got), f);
            assert_int_equal(fgetc(f), EOF);
            fclose(f);
            assert_null(host_stream_bytes(r.h, 100, &(size_t){ 0 }));
        } else {
            bytes = host_stream_bytes(r.h, 100, &n);
            memcpy(got, bytes, n);
        }
        assert_int_equal(n, sizeof(got));
        assert_memory_equal(got, want, sizeof(got));
        advance(&r, UINT64_MAX); /* nothing is written twice */
        assert_int_equal(host_finish(r.h), EMU_OK);
        if (!file)
            assert_true(host_stream_bytes(r.h, 100, &n) && n == sizeof(got));
        assert_int_equal(last_of(&r, 1)->words, 1);
        unlink(name);
        host_fixture_free(&r);
    }
}

static void test_full_disk(void **state)
{
    struct host_fixture r;

    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    host_fixture_new(&r, NULL, NULL);
    assert_int_equal(host_stream_to_file(r.h, 100, 1, "/dev/full"), EMU_OK);
    assert_int_equal(host_stream_to_memory(r.h, 101, 1), EMU_OK);
    ask(&r, 0, 5, 100, 4);
    advance(&r, UINT64_MAX); /* still in the buffer */
    EXPECT_ERROR(IO, host_finish(r.h), "/dev/full", "No space");
    EXPECT_ERROR(IO, host_finish(r.h), "/dev/full");
    host_fixture_free(&r);

    host_fixture_new(&r, NULL, NULL);
    assert_int_equal(host_stream_to_file(r.h, 100, 1, "/dev/full"), EMU_OK);
    ask(&r, 0, 5, 100, 60000); /* more than a buffer */
    EXPECT_ERROR(IO, host_advance(r.h, r.m, UINT64_MAX), "/dev/full", "No space");
    host_fixture_free(&r);
}

/* --- memory of the host --- */

/* Half a million transfers, a few at a time: nothing grows. */
static void test_memory_is_what_is_in_flight(void **state)
{
    struct host_options j = { .seed = 3, .jitter_ns = 500 };
    struct host_fixture r;
    uint64_t cycle = 0;
    long blocks = 0;

    (void)state;
    host_fixture_new(&r, NULL, &j);
    from_memory(&r, 0, 4);
    assert_int_equal(host_stream_to_memory(r.h, 100, 4), EMU_OK);
    for (uint32_t i = 0; i < 250000; i++, cycle += 2500) {
        r.h->stream[100]->sink.bytes = 0;
        ask(&r, i % 4, cycle, 0, 2048);
        ask(&r, i % 4, cycle + 1, 100, 2048);
        advance(&r, cycle + host_latency_cycles(r.h));
        /* the machine always has something left that it has not reached */
        for (uint32_t tile = 0; tile < 4; tile++)
            place_apply_arrivals(r.m, tile, cycle);
        if (i == 100)
            blocks = alloc_live();
    }
    assert_in_range(alloc_live(), blocks - 20, blocks + 20);
    assert_true(r.h->arrivals.cap <= 64 && r.h->link[0].ahead.cap <= 64);
    assert_true(r.h->stream[0]->waiting.cap <= 64 && r.h->stream[100]->waiting.cap <= 64);
    for (uint32_t tile = 0; tile < 4; tile++)
        assert_true(place(&r, tile)->arrival_cap <= 64 && place(&r, tile)->packet_cap <= 65536);
    assert_int_equal(host_record(r.h, 0)->latency_cycles_max <= 20000, 1);
    host_fixture_free(&r);
}

/* The queue of a tile: packets of changing size, some always ahead of those that are applied. */
static void test_queue_of_a_tile(void **state)
{
    uint32_t put = 0, taken = 0, at = 0;
    uint8_t got[1024];
    struct host_fixture r;

    (void)state;
    host_fixture_new(&r, NULL, NULL);
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t bytes = i % 7 == 3 ? 0 : 4 + i * 52 % 1020, ahead = 1 + i / 20 % 30;

        assert_int_equal(machine_arrival(r.m, 1, i / 2, r.arch.mem_base + put % 32768,
                                         pattern + put % 32768, bytes, 1),
                         EMU_OK);
        put += bytes;
        for (; place(&r, 1)->arrivals - place(&r, 1)->next_arrival > ahead; at++) {
            uint32_t n = at % 7 == 3 ? 0 : 4 + at * 52 % 1020;

            memset(machine_tile(r.m, 1)->mem, 0, r.arch.mem_bytes);
            place_apply_one(r.m, 1);
            assert_true(tile_read(machine_tile(r.m, 1), r.arch.mem_base + taken % 32768, got, n));
            assert_memory_equal(got, pattern + taken % 32768, n);
            taken += n;
        }
    }
    assert_true(place(&r, 1)->arrival_cap <= 64 && place(&r, 1)->packet_cap <= 2 * 32 * 1024);
    host_fixture_free(&r);
}

static enum emu_status small_run(struct host_fixture *r)
{
    const struct host_header up = { 100, r->arch.mem_base, 2000, 1 };
    const struct host_header down = { 0, r->arch.mem_base, 2000, 0 };
    uint32_t word[2];

    TRY(host_new(&r->arch, NULL, &r->h));
    TRY(host_stream_from_file(r->h, 0, 1, "/dev/zero", 0));
    TRY(host_stream_to_memory(r->h, 100, 1));
    TRY(host_stream_to_file(r->h, 101, 1, "/dev/null"));
    for (uint32_t i = 0; i < 20; i++) {
        host_header_pack(&down, word);
        TRY(host_request(r->h, 0, i, word, NULL));
        host_header_pack(&up, word);
        TRY(host_request(r->h, 1, i, word, pattern));
    }
    TRY(host_advance(r->h, r->m, 60000));
    TRY(host_finish(r->h));
    return host_commit(r->h);
}

static void test_every_allocation_fails(void **state)
{
    struct host_fixture r;
    long n = 0;

    (void)state;
    for (;; n++) {
        enum emu_status s;

        host_fixture_new(&r, NULL, NULL);
        host_free(r.h);
        r.h = NULL;
        alloc_test_fail_at(n);
        s = small_run(&r);
        alloc_test_fail_at(-1);
        host_fixture_free(&r);
        if (s == EMU_OK)
            break;
        assert_int_equal(s, EMU_NO_MEMORY);
    }
    assert_in_range(n, 20, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_requests),    cmocka_unit_test(test_bad_streams),
        cmocka_unit_test(test_sources),         cmocka_unit_test(test_odd_sources),
        cmocka_unit_test(test_refill),          cmocka_unit_test(test_sinks),
        cmocka_unit_test(test_full_disk),       cmocka_unit_test(test_memory_is_what_is_in_flight),
        cmocka_unit_test(test_queue_of_a_tile), cmocka_unit_test(test_every_allocation_fails),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
