/* test_image.c - building images, what they say, the rules they keep; files written and read back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "emu/base/alloc.h"
#include "emu/bsp/machine.h"
#include "tests/fixtures/image_fixture.h"

/* ---- building ---- */

static void test_equal_things_get_one_id(void **state)
{
    static const uint8_t zeros[10000];
    uint8_t data[10000] = { 1 };
    uint32_t a, b, c, bytes;
    struct image *im;
    size_t n;

    (void)state;
    OK(image_new(ss_arch_preset("toy4"), &im));
    OK(image_string(im, "", &a));
    assert_int_equal(a, 0);
    OK(image_string(im, "x", &a));
    OK(image_string(im, "xy", &b));
    OK(image_string(im, "x", &c));
    assert_int_equal(a, 1);
    assert_int_equal(b, 2);
    assert_int_equal(c, 1);
    assert_string_equal(image_text(im, 2), "xy");
    assert_int_equal(image_find_string(im, "xy"), 2);
    assert_true(image_find_string(im, "xyz") == UINT32_MAX);
    OK(image_blob(im, NULL, 0, &a));
    assert_int_equal(a, 0);
    OK(image_blob(im, data, sizeof(data), &a));
    OK(image_blob(im, zeros, sizeof(zeros), &b));
    OK(image_blob(im, data, sizeof(data), &c));
    assert_int_equal(a, 1);
    assert_int_equal(b, 2);
    assert_int_equal(c, 1);
    data[0] = 2; /* the image has a copy */
    assert_int_equal(image_blob_bytes(im, 1, &bytes)[0], 1);
    assert_int_equal(bytes, sizeof(data));
    assert_true(bytes_are_zero(image_blob_bytes(im, 2, &bytes), bytes));
    assert_true(im->blob_bytes == 20000);
    OK(image_map(im, NULL, 0, &a));
    assert_int_equal(a, 0);
    assert_null(image_map_of(im, 0, &n));
    assert_int_equal(n, 0);
    ss_image_free(im);
    assert_int_equal(alloc_live(), 0);
}

/* Enough strings that the index grows often, slabs fill up and some have the same 32 bits of hash;
 * earlier pointers must stay good. */
static void test_many_strings_stay_where_they_are(void **state)
{
    enum { N = 300000 };
    const char *first;
    struct image *im;
    char text[16];
    uint32_t id;

    (void)state;
    OK(image_new(ss_arch_preset("toy4"), &im));
    OK(image_string(im, "0", &id));
    first = image_text(im, id);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < N; i++) {
            snprintf(text, sizeof(text), "%u", i);
            OK(image_string(im, text, &id));
            assert_int_equal(id, i + 1);
        }
    }
    assert_ptr_equal(first, image_text(im, 1));
    assert_string_equal(first, "0");
    snprintf(text, sizeof(text), "%d", N - 1);
    assert_string_equal(image_text(im, N), text);
    ss_image_free(im);
}

static void test_views_say_what_was_built(void **state)
{
    struct image *im = sample_small();
    uint32_t base = ss_image_arch(im)->mem_base, offset, line, code = image_find_string(im, "code");
    const struct image_tile *t = image_find_tile(im, 0, 1);
    static const struct {
        uint32_t at;
        const char *symbol;
        uint32_t offset;
        const char *file;
        uint32_t line;
    } want[] = {
        { .symbol = "code", .file = "a.S", .line = 3 },
        { .at = 7, .symbol = "code", .offset = 7, .file = "a.S", .line = 3 },
        { .at = 8, .symbol = "heap" },
        { .at = 60000, .symbol = "heap", .offset = 59992 },
    };

    (void)state;
    assert_int_equal(image_tile_count(im), 2);
    assert_ptr_equal(t, image_tile_at(im, 0));
    assert_null(image_find_tile(im, 0, 3));
    assert_null(image_find_tile(im, 1, 1));
    for (size_t i = 0; i < EMU_COUNT_OF(want); i++) {
        const char *symbol = image_symbolize(im, t, base + want[i].at, &offset);
        const char *file = image_source(im, t, base + want[i].at, &line);

        assert_string_equal(symbol, want[i].symbol);
        assert_int_equal(offset, want[i].offset);
        assert_string_equal(file ? file : "-", want[i].file ? want[i].file : "-");
        assert_int_equal(line, want[i].line);
    }
    assert_null(image_symbolize(im, t, base - 1, &offset));
    assert_null(image_source(im, t, base - 1, &line));
    assert_null(image_symbolize(im, image_tile_at(im, 1), base, &offset));
    assert_int_equal(image_category_bytes(im, t, code), 100);
    assert_int_equal(image_category_bytes(im, t, image_find_string(im, "heap")), 50);
    assert_int_equal(image_category_bytes(im, t, 0), im->arch.mem_bytes - 150);
    assert_int_equal(image_category_bytes(im, t, image_find_string(im, "a.S")), 0);
    OK(image_check_map(im, t));
    OK(image_check_map(im, image_tile_at(im, 1)));
    assert_int_equal(t->first_segment, 0);
    assert_int_equal(t->segments, 2);
    assert_int_equal(image_tile_at(im, 1)->first_segment, 2);
    assert_int_equal(image_segment_at(im, 1)->bytes, 60);
    assert_int_equal(image_stream_count(im), 1);
    assert_int_equal(image_stream_at(im, 0)->depth, 2);
    assert_int_equal(image_scope_count(im), 3);
    assert_string_equal(image_text(im, image_scope_at(im, 2)->path), "heap");
    assert_int_equal(image_scope_at(im, 2)->parent, 1);
    assert_int_equal(image_scope_of(im, image_find_string(im, "a.S")), 2);
    assert_int_equal(image_scope_of(im, code), 0);
    assert_int_equal(image_scope_of(im, 0), 0);
    assert_int_equal(image_range_at(im, t, base + 99)->category, code);
    assert_null(image_range_at(im, t, base + 100));
    assert_null(image_range_at(im, t, base - 1));
    assert_int_equal(image_range_at(im, t, base + 249)->addr, base + 200);
    assert_null(image_range_at(im, t, base + 250));
    ss_image_free(im);
}

/* The proof must see damage that the builder would have refused. */
static void test_check_map_finds_damage(void **state)
{
    static const struct image_range bad[][2] = {
        { { .bytes = 100, .category = 1 },
          { .addr = 99, .bytes = 10, .category = 1 } }, /* overlap */
        { { .bytes = 100, .category = 1 }, { .addr = 200, .bytes = 0, .category = 1 } }, /* empty */
        { { .bytes = 100 }, { .addr = 200, .bytes = 10, .category = 1 } }, /* no category */
        { { .bytes = 100, .category = 1 },
          { .addr = 65530, .bytes = 10, .category = 1 } }, /* beyond the end */
        { { .addr = -4u, .bytes = 100, .category = 1 },
          { .addr = 200, .bytes = 10, .category = 1 } }, /* before the beginning */
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        struct image *im = sample_small();
        struct image_range *r = (struct image_range *)im->map.item[1].data;

        for (int k = 0; k < 2; k++) {
            r[k] = bad[i][k];
            r[k].addr += im->arch.mem_base;
        }
        assert_int_equal(image_check_map(im, image_tile_at(im, 0)), EMU_BAD_IMAGE);
        ss_image_free(im);
    }
}

/* ---- the rules ---- */

static void refused(enum emu_status s, const char *part)
{
    if (s != EMU_BAD_IMAGE || !strstr(ss_error(), part))
        fail_msg("status %s, '%s', expected '%s'", ss_status_name(s), ss_error(), part);
}

static void test_lists_are_checked(void **state)
{
    struct image *im = sample_small();
    uint32_t b = im->arch.mem_base, end = (uint32_t)image_mem_end(&im->arch), id;
    const struct {
        struct image_range r[2];
        const char *why;
    } maps[] = {
        { { { b, 0, 1, 0 }, { b, 1, 1, 0 } }, "range 0: 0 bytes" },
        { { { b - 1, 2, 1, 0 }, { b + 9, 1, 1, 0 } }, "in tile memory" },
        { { { b, 2, 1, 0 }, { end - 1, 2, 1, 0 } }, "range 1: 2 bytes" },
        { { { b, 2, 1, 0 }, { b + 9, -1u, 1, 0 } }, "range 1" },
        { { { b, 2, 1, 0 }, { b + 1, 2, 1, 0 } }, "or higher" },
        { { { b, 2, 1, 0 }, { b + 9, 2, 0, 0 } }, "category 0" },
        { { { b, 2, 1, 0 }, { b + 9, 2, 4, 0 } }, "category 4" },
        { { { b, 2, 1, 0 }, { b + 9, 2, 1, 4 } }, "owner 4" },
    };
    const struct {
        struct image_symbol s[2];
        const char *why;
    } symbols[] = {
        { { { b - 4, 4, 1 }, { b, 4, 1 } }, "symbol 0" },
        { { { b, 4, 1 }, { end, 1, 1 } }, "symbol 1" },
        { { { b + 4, 4, 1 }, { b, 4, 1 } }, "or higher" },
        { { { b, 4, 1 }, { b, 4, 0 } }, "name 0" },
        { { { b, 4, 1 }, { b, 4, 4 } }, "name 4" },
    };
    const struct {
        struct image_line l[2];
        const char *why;
    } lines[] = {
        { { { b, 1, 1 }, { b, 1, 2 } }, "more than" },
        { { { b - 4, 1, 1 }, { b, 1, 2 } }, "line 0" },
        { { { b, 1, 1 }, { end + 1, 1, 2 } }, "line 1" },
        { { { b, 1, 1 }, { b + 4, 4, 2 } }, "file 4" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(maps); i++)
        refused(image_map(im, maps[i].r, 2, &id), maps[i].why);
    for (size_t i = 0; i < EMU_COUNT_OF(symbols); i++)
        refused(image_symbols(im, symbols[i].s, 2, &id), symbols[i].why);
    for (size_t i = 0; i < EMU_COUNT_OF(lines); i++)
        refused(image_lines(im, lines[i].l, 2, &id), lines[i].why);
    OK(image_map(im, (struct image_range[]){ { b, end - b, 1, 1 } }, 1, &id));
    OK(image_symbols(im, (struct image_symbol[]){ { b, 4, 1 }, { end, 0, 1 } }, 2, &id));
    OK(image_lines(im, (struct image_line[]){ { end, 0, 0 } }, 1, &id));
    refused(image_map(im, NULL, IMAGE_LIST_ITEMS_MAX + 1, &id), "ranges");
    ss_image_free(im);
}

static void test_tiles_are_checked(void **state)
{
    struct image *im = sample_small();
    uint32_t b = im->arch.mem_base, r0 = im->arch.region0_bytes;
    uint32_t end = (uint32_t)image_mem_end(&im->arch);
    const struct {
        struct image_tile t;
        struct image_segment s[3];
        const char *why;
    } bad[] = {
        { { .tile = 4, .entry = b }, { { b, 4, 1 } }, "expected a tile below 4" },
        { { .tile = 0, .chip = 1, .entry = b }, { { b, 4, 1 } }, "of a chip below 1" },
        { { .tile = 2, .entry = b }, { { b, 4, 1 } }, "every tile once" },
        { { .group = MACHINE_MAX_GROUPS, .entry = b }, { { b, 4, 1 } }, "group 64" },
        { { .entry = b - 4 }, { { b, 4, 1 } }, "entry" },
        { { .entry = b + 2 }, { { b, 4, 1 } }, "entry" },
        { { .entry = b + r0 }, { { b, 4, 1 } }, "entry" },
        { { .entry = b, .map = 2 }, { { b, 4, 1 } }, "map 2" },
        { { .entry = b, .symbols = 2 }, { { b, 4, 1 } }, "symbols 2" },
        { { .entry = b, .lines = 2 }, { { b, 4, 1 } }, "lines 2" },
        { { .entry = b }, { { b, 4, 3 } }, "segment 0: blob 3" },
        { { .entry = b }, { { b, 61, 2 } }, "at most the 60" },
        { { .entry = b }, { { b, 4, 1 }, { b + 4, 0, 1 } }, "segment 1: 0 bytes" },
        { { .entry = b }, { { b - 1, 4, 1 } }, "segment 0: 4 bytes" },
        { { .entry = b }, { { b, 4, 1 }, { end - 3, 4, 1 } }, "segment 1: 4 bytes" },
        { { .entry = b }, { { b, 8, 1 }, { b + 7, 4, 1 } }, "disjoint" },
        { { .entry = b }, { { b + 7, 4, 1 }, { b, 8, 1 } }, "disjoint" },
        { { .entry = b }, { { b + 7, 4, 1 }, { b, 4, 1 }, { b + 10, 9, 1 } }, "disjoint" },
        { { .entry = b }, { { b, 8, 1 }, { b, 8, 1 } }, "disjoint" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        size_t n = 0;

        while (n < 3 && bad[i].s[n].addr)
            n++;
        refused(image_add_tile(im, &bad[i].t, bad[i].s, n), bad[i].why);
    }
    assert_int_equal(image_tile_count(im), 2);
    assert_int_equal(im->segments, 3);
    /* the last possible places, out of order */
    OK(image_add_tile(im, &(struct image_tile){ .group = 63, .entry = b + r0 - 4 },
                      (struct image_segment[]){ { end - 4, 4, 1 }, { b + 8, 4, 2 }, { b, 8, 1 } },
                      3));
    ss_image_free(im);
}

/* Views may be arguments though the arrays behind them move. */
static void test_tiles_can_be_made_like_others(void **state)
{
    struct image_segment first[3];
    struct image *im;

    (void)state;
    OK(image_new(ss_arch_preset("toy64"), &im));
    sample_blob(im, &(uint64_t){ 1 }, 5000);
    for (uint32_t i = 0; i < 3; i++)
        first[i] = (struct image_segment){ im->arch.mem_base + 8 * i, 8, 1 };
    OK(image_add_tile(im, &(struct image_tile){ .entry = im->arch.mem_base + 4 }, first, 3));
    for (uint32_t t = 1; t < 64; t++) {
        uint32_t last = (uint32_t)im->tiles - 1;

        im->tile[last].tile = t; /* what a caller would do to his copy */
        index_free(&im->tile_index);
        im->tile_index = (struct image_index){ NULL, 0, 0 };
        OK(image_add_tile(im, image_tile_at(im, last), image_segment_at(im, 3 * last), 3));
        assert_int_equal(image_tile_at(im, t)->entry, im->arch.mem_base + 4);
        assert_memory_equal(image_segment_at(im, 3 * t), first, sizeof(first));
    }
    ss_image_free(im);
}

static void test_the_rest_is_checked(void **state)
{
    struct image *im = sample_small();
    struct arch wrong = im->arch;
    uint32_t id;
    struct image *none;
    char *text = malloc(IMAGE_TEXT_BYTES_MAX + 1);

    (void)state;
    memset(text, 'x', IMAGE_TEXT_BYTES_MAX);
    text[IMAGE_TEXT_BYTES_MAX] = '\0';
    refused(image_string(im, text, &id), "a string of");
    OK(image_string(im, text + 1, &id));
    free(text);
    refused(image_blob(im, NULL, im->arch.mem_bytes + 1, &id), "a blob of");
    im->blob_bytes = IMAGE_BLOB_BYTES_MAX - 10;
    refused(image_blob(im, "12345678901", 11, &id), "blobs of more than");
    im->blob_bytes = 6060;
    refused(image_add_stream(im, &(struct image_stream){ .id = 8192, .name = 1, .depth = 1 }),
            "below 8192");
    refused(image_add_stream(im, &(struct image_stream){ .id = 5, .name = 1, .depth = 1 }), "once");
    refused(image_add_stream(im, &(struct image_stream){ .id = 6, .name = 9, .depth = 1 }),
            "name 9");
    refused(image_add_stream(
                im, &(struct image_stream){ .id = 6, .name = 1, .direction = 2, .depth = 1 }),
            "direction 2");
    refused(image_add_stream(im, &(struct image_stream){ .id = 6, .name = 1, .depth = 65537 }),
            "depth 65537");
    refused(image_add_scope(im, &(struct image_scope){ .path = 0 }), "path 0");
    refused(image_add_scope(im, &(struct image_scope){ .path = 9 }), "path 9");
    refused(image_add_scope(im, &(struct image_scope){ .path = 1, .parent = 3 }), "parent 3");
    refused(image_add_owner(im, &(struct image_owner){ .name = 3, .scope = 1 }), "above 3");
    refused(image_add_owner(im, &(struct image_owner){ .name = 9, .scope = 1 }), "name 9");
    im->owners = 0;
    refused(image_add_owner(im, &(struct image_owner){ .name = 0, .scope = 1 }), "name 0");
    refused(image_add_owner(im, &(struct image_owner){ .name = 1, .scope = 0 }), "scope 0");
    refused(image_add_owner(im, &(struct image_owner){ .name = 1, .scope = 3 }), "scope 3");
    wrong.mem_bytes = 12345;
    assert_int_equal(image_new(&wrong, &none), EMU_BAD_MACHINE);
    assert_null(none);
    ss_image_free(im);
}

static void test_inputs_are_checked(void **state)
{
    struct image *im = sample_small();
    uint32_t b = im->arch.mem_base, end = (uint32_t)image_mem_end(&im->arch);
    const struct {
        struct image_input in;
        struct image_input_part part[2];
        const char *why;
    } bad[] = {
        { { 0, 1, 2, 1, 0, 8 }, { { 0, 1, b, 16, 0 } }, "expected strings" },
        { { 1, 9, 2, 1, 0, 8 }, { { 0, 1, b, 16, 0 } }, "expected strings" },
        { { 1, 2, 0, 1, 0, 8 }, { { 0, 1, b, 16, 0 } }, "elements of 0 bytes" },
        { { 1, 2, 2, 1, 0, 9 }, { { 0, 1, b, 16, 0 } }, "parts of 16 bytes, expected the 18" },
        { { 1, 2, 2, 0, 0, 0 }, { { 0 } }, "parts of 0 bytes" },
        { { 1, 2, 2, 1, 0, 8 }, { { 0, 3, b, 16, 0 } }, "takes no part" },
        { { 1, 2, 2, 1, 0, 8 }, { { 0, 1, end - 8, 16, 0 } }, "expected some of memory" },
        { { 1, 2, 2, 1, 0, 8 }, { { 0, 1, b - 4, 16, 0 } }, "expected some of memory" },
        { { 1, 2, 2, 1, 0, 40 }, { { 0, 1, b, 80, 2 } }, "blob 2" },
        { { 1, 2, 2, 1, 0, 8 }, { { 0, 1, b, 16, 9 } }, "blob 9" },
    };
    const struct image_input good = { 1, 2, 2, 2, 0, 16 };
    const struct image_input_part part[] = { { 0, 1, b, 16, 2 }, { 0, 2, b + 64, 16, 0 } };
    const struct image_input_part room[] = { { 0, 1, b, 16, 0 }, { 0, 2, b + 64, 16, 0 } };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++)
        refused(image_add_input(im, &bad[i].in, bad[i].part), bad[i].why);
    assert_int_equal(image_input_count(im), 0);
    OK(image_add_input(im, &good, part));
    refused(image_add_input(im, &good, part), "two inputs are called code");
    assert_int_equal(image_input_count(im), 1);
    assert_int_equal(image_input_at(im, 0)->parts, 2);
    assert_int_equal(image_input_part_at(im, 1)->tile, 2);

    refused(image_add_output(im, &good, part), "part 0 of an output: blob 2, expected 0");
    OK(image_add_output(im, &good, room));
    refused(image_add_output(im, &good, room), "two outputs are called code");
    assert_int_equal(image_output_count(im), 1);
    assert_int_equal(image_output_at(im, 0)->elements, 16);
    assert_int_equal(image_output_part_at(im, 1)->tile, 2);

    refused(image_add_note(im, &(struct image_note){ 1, 0 }), "name 1 and text 0");
    refused(image_add_note(im, &(struct image_note){ 1000, 1 }), "name 1000 and text 1");
    assert_null(image_note(im, "code"));
    OK(image_add_note(im, &(struct image_note){ 1, 2 }));
    refused(image_add_note(im, &(struct image_note){ 1, 2 }), "two notes are called code");
    assert_string_equal(image_note(im, "code"), image_text(im, 2));
    ss_image_free(im);
}

/* ---- files ---- */

static void test_round_trips(void **state)
{
    uint32_t tried = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 150; seed++) {
        struct image *im = sample_image(seed), *back;
        struct sample_file f, again;

        tried += im->blob.items > 3 && im->tiles > 9;
        f = sample_write(im);
        if (ss_image_read_bytes(f.data, f.bytes, "memory", &back) != EMU_OK)
            fail_msg("seed %d: %s", (int)seed, ss_error());
        assert_true(sample_same(im, back));
        for (size_t i = 0; i < back->tiles; i++)
            OK(image_check_map(back, &back->tile[i]));
        again = sample_write(back);
        assert_int_equal(f.bytes, again.bytes);
        assert_memory_equal(f.data, again.data, f.bytes);
        ss_image_free(im);
        ss_image_free(back);
        free(f.data);
        free(again.data);
    }
    assert_in_range(tried, 70, 150);
    assert_int_equal(alloc_live(), 0);
}

/* What was read can be built on: equal things are found again. */
static void test_a_read_image_can_grow(void **state)
{
    struct image *im = sample_small(), *back;
    struct sample_file f = sample_write(im);
    uint32_t id, bytes;

    (void)state;
    OK(ss_image_read_bytes(f.data, f.bytes, "memory", &back));
    for (uint32_t i = 0; i < im->blob.items; i++) {
        const uint8_t *data = image_blob_bytes(im, i, &bytes);

        OK(image_blob(back, data, bytes, &id));
        assert_int_equal(id, i);
    }
    OK(image_string(back, "heap", &id));
    assert_int_equal(id, 2);
    OK(image_map(back, image_map_of(im, 1, &(size_t){ 0 }), 2, &id));
    assert_int_equal(id, 1);
    assert_non_null(image_find_tile(back, 0, 2));
    assert_int_equal(image_add_tile(back, image_tile_at(im, 0), NULL, 0), EMU_BAD_IMAGE);
    ss_image_free(im);
    ss_image_free(back);
    free(f.data);
}

/* Writes an image, reads it back, compares and frees both. Returns the bytes of the file. */
static size_t round_trip(struct image *im)
{
    struct sample_file f = sample_write(im);
    struct image *back;

    OK(ss_image_read_bytes(f.data, f.bytes, "memory", &back));
    assert_true(sample_same(im, back));
    ss_image_free(im);
    ss_image_free(back);
    free(f.data);
    return f.bytes;
}

/* 64 tiles of 60,000 random bytes that differ in one byte each: one copy and 64 pages. */
static void test_near_equal_tiles_share(void **state)
{
    enum { BYTES = 60000 };
    static uint8_t data[BYTES];
    const struct arch *a = ss_arch_preset("toy64");
    uint64_t r = 3;
    struct image *im;

    (void)state;
    sample_fill(&r, data, BYTES);
    OK(image_new(a, &im));
    for (uint32_t t = 0; t < 64; t++) {
        uint32_t id;

        data[t * 900] ^= 1;
        OK(image_blob(im, data, BYTES, &id));
        data[t * 900] ^= 1;
        OK(image_add_tile(im, &(struct image_tile){ .tile = t, .entry = a->mem_base },
                          (struct image_segment[]){ { a->mem_base, BYTES, id } }, 1));
    }
    assert_in_range(round_trip(im), 60000, 60000 + 64 * 4096 + 10000);
}

static void test_zeros_cost_nothing(void **state)
{
    static const uint8_t zeros[60000];
    const struct arch *a = ss_arch_preset("toy64");
    struct image *im;
    uint32_t id;

    (void)state;
    OK(image_new(a, &im));
    for (uint32_t t = 0; t < 64; t++) {
        OK(image_blob(im, zeros, 60000 - t, &id));
        OK(image_add_tile(im, &(struct image_tile){ .tile = t, .entry = a->mem_base },
                          (struct image_segment[]){ { a->mem_base, 60000 - t, id } }, 1));
    }
    assert_true(round_trip(im) < 4000);
}

static void test_blobs_of_no_tile_have_a_limit(void **state)
{
    static uint8_t data[65536];
    struct image *im;
    uint32_t id;
    int fd = memfd_create("image", 0);

    (void)state;
    OK(image_new(ss_arch_preset("toy4"), &im));
    OK(image_add_tile(im, &(struct image_tile){ .tile = 1, .entry = im->arch.mem_base }, NULL, 0));
    for (uint32_t i = 0; i < 2; i++) {
        OK(image_blob(im, data, (uint32_t)sizeof(data) - i, &id));
        assert_int_equal(image_write_fd(im, fd, "memory"), i ? EMU_BAD_IMAGE : EMU_OK);
    }
    close(fd);
    ss_image_free(im);
}

/* ---- paths ---- */

static char dir[] = "/tmp/test_image_XXXXXX";
static char path[64], link_path[64];

static int setup_dir(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/a.image", dir);
    snprintf(link_path, sizeof(link_path), "%s/b.image", dir);
    return 0;
}

static int teardown_dir(void **state)
{
    (void)state;
    unlink(path);
    unlink(link_path);
    return rmdir(dir);
}

static size_t files_in_dir(void)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2; /* . and .. */
}

static void test_written_files_are_whole(void **state)
{
    struct image *im = sample_small(), *back;
    struct stat st;

    (void)state;
    for (int pass = 0; pass < 2; pass++) {
        OK(ss_image_write(im, path));
        OK(ss_image_read(path, &back));
        assert_true(sample_same(im, back));
        ss_image_free(back);
    }
    assert_int_equal(symlink(path, link_path), 0);
    assert_int_equal(truncate(path, 5), 0);
    OK(ss_image_write(im, link_path));
    assert_int_equal(lstat(link_path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    OK(ss_image_read(path, &back));
    ss_image_free(back);
    ss_image_free(im);
}

static void test_failing_writes_leave_the_old_file(void **state)
{
    struct image *im = sample_small(), *big, *back;
    struct rlimit old, small = { 3000, 3000 };
    static uint8_t data[65536];
    uint64_t r = 1;
    uint32_t id;

    (void)state;
    OK(ss_image_write(im, path));
    OK(image_new(ss_arch_preset("toy4"), &big));
    sample_fill(&r, data, sizeof(data));
    OK(image_blob(big, data, sizeof(data), &id));
    OK(image_add_tile(big, &(struct image_tile){ .tile = 1, .entry = im->arch.mem_base }, NULL, 0));
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(ss_image_write(big, path), EMU_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_non_null(strstr(ss_error(), strerror(EFBIG)));
    OK(ss_image_read(path, &back));
    assert_true(sample_same(im, back));
    ss_image_free(back);
    assert_int_equal(ss_image_write(big, "/dev/full"), EMU_IO);
    assert_non_null(strstr(ss_error(), strerror(ENOSPC)));
    assert_int_equal(ss_image_write(big, "/nonexistent/x"), EMU_IO);
    assert_int_equal(ss_image_write(big, dir), EMU_IO);
    assert_int_equal(ss_image_read("/nonexistent/x", &back), EMU_IO);
    assert_null(back);
    assert_int_equal(ss_image_read(dir, &back), EMU_IO);
    assert_int_equal(files_in_dir(), 2); /* nothing temporary is left */
    ss_image_free(big);
    ss_image_free(im);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_things_get_one_id),
        cmocka_unit_test(test_many_strings_stay_where_they_are),
        cmocka_unit_test(test_views_say_what_was_built),
        cmocka_unit_test(test_check_map_finds_damage),
        cmocka_unit_test(test_lists_are_checked),
        cmocka_unit_test(test_tiles_are_checked),
        cmocka_unit_test(test_tiles_can_be_made_like_others),
        cmocka_unit_test(test_the_rest_is_checked),
        cmocka_unit_test(test_inputs_are_checked),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_a_read_image_can_grow),
        cmocka_unit_test(test_near_equal_tiles_share),
        cmocka_unit_test(test_zeros_cost_nothing),
        cmocka_unit_test(test_blobs_of_no_tile_have_a_limit),
        cmocka_unit_test(test_written_files_are_whole),
        cmocka_unit_test(test_failing_writes_leave_the_old_file),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup_dir, teardown_dir);
}
