/* test_image_damage.c - the reader of image files against damage and hostile files: whatever is
 * wrong is refused with the place and the reason, and nothing is left behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emu/base/alloc.h"
#include "tests/fixtures/image_fixture.h"

static void assert_refused(const uint8_t *data, size_t bytes, const char *part)
{
    struct image *im = (struct image *)&im;
    enum emu_status s = ss_image_read_bytes(data, bytes, "hostile", &im);

    if (s != EMU_BAD_IMAGE || strncmp(ss_error(), "hostile: offset ", 16) != 0 ||
        !strstr(ss_error(), part))
        fail_msg("%s: '%s', expected '%s'", ss_status_name(s), ss_error(), part);
    assert_null(im);
    assert_int_equal(alloc_live(), 0);
}

/* ---- chance ---- */

static void test_every_byte_counts(void **state)
{
    struct image *im = sample_small();
    struct sample_file f = sample_write(im);

    (void)state;
    ss_image_free(im);
    for (size_t i = 0; i < f.bytes; i++) {
        uint8_t was = f.data[i];

        f.data[i] = (uint8_t)~was;
        assert_refused(f.data, f.bytes, "expected");
        f.data[i] = was ^ (uint8_t)(1 << i % 8);
        assert_refused(f.data, f.bytes, "expected");
        f.data[i] = was;
    }
    free(f.data);
}

static void test_every_truncation_is_seen(void **state)
{
    struct image *im = sample_small();
    struct sample_file f = sample_write(im);

    (void)state;
    ss_image_free(im);
    for (size_t n = 0; n < f.bytes; n++) {
        uint8_t *exact = malloc(n ? n : 1); /* so that reading on is seen by the address checker */

        memcpy(exact, f.data, n);
        assert_refused(exact, n, "expected");
        free(exact);
    }
    f.data = realloc(f.data, f.bytes + 8);
    memset(f.data + f.bytes, 0, 8);
    for (size_t n = 1; n <= 8; n++)
        assert_refused(f.data, f.bytes + n, "after the last section");
    free(f.data);
}

/* Sections of another file, each right in itself, are not taken for this one's. */
static void test_sections_of_two_files_do_not_mix(void **state)
{
    struct image *im = sample_small(), *other = sample_small();
    struct sample_file f, g;
    uint32_t id, fronts = 0;

    (void)state;
    OK(image_string(im, "one", &id));
    OK(image_string(other, "two", &id));
    f = sample_write(im);
    g = sample_write(other);
    assert_int_equal(f.bytes, g.bytes);
    ss_image_free(im);
    ss_image_free(other);
    for (size_t at = IMAGE_FILE_HEADER_BYTES; at < f.bytes;) {
        uint32_t stored;

        memcpy(&stored, f.data + at + 12, 4);
        at += IMAGE_SECTION_HEADER_BYTES + ((size_t)stored + 7) / 8 * 8 + 8;
        memcpy(g.data, f.data, at); /* the front of one, the back of the other */
        if (++fronts < 2 || at == f.bytes)
            continue; /* the machines are equal: still all of one file */
        assert_refused(g.data, g.bytes, "checksum");
    }
    assert_int_equal(fronts, IMAGE_FIXED_SECTIONS + 1);
    free(f.data);
    free(g.data);
}

/* ---- malice: checksums are right ---- */

static struct sample_part *part_of(struct sample_parts *p, uint32_t type)
{
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->part[i].type == type)
            return &p->part[i];
    }
    fail_msg("no such section");
    return NULL;
}

/* The small sample taken apart; its sections, sealed again, are good. */
static struct sample_parts take_small_apart(void)
{
    struct image *im = sample_small(), *back;
    struct sample_file f = sample_write(im), again;
    struct sample_parts p;

    assert_int_equal(sample_take_apart(f.data, f.bytes, 1 << 20, &p), 1);
    again = sample_seal(&p);
    OK(ss_image_read_bytes(again.data, again.bytes, "sealed", &back));
    assert_true(sample_same(im, back));
    ss_image_free(im);
    ss_image_free(back);
    free(f.data);
    free(again.data);
    return p;
}

static void test_hostile_numbers_are_refused(void **state)
{
    const uint32_t base = ss_arch_preset("toy4")->mem_base;
    const struct {
        uint32_t type;
        uint32_t at; /* bytes into the section */
        uint32_t value;
        const char *why;
    } bad[] = {
        { IMAGE_MACH, .value = 0x5a5a5a5a, .why = "machine:1:4" },
        { IMAGE_TEXT, .value = 4, .why = "item 4: expected 4 strings" },
        { IMAGE_TEXT, .value = -1u, .why = "expected 4294967295 strings" },
        { IMAGE_TEXT, .value = 2, .why = "after the last string" },
        { IMAGE_TEXT, .at = 4, .value = 0, .why = "item 1: equals string 0" },
        { IMAGE_TEXT, .at = 9, .value = 0x65646f63, .why = "item 2: equals string 1" },
        { IMAGE_MAPS, .value = -1u, .why = "4294967295 lists" },
        { IMAGE_MAPS, .value = 0, .why = "after the last list" },
        { IMAGE_MAPS, .value = 2, .why = "item 1: 2 entries, expected at most 1" },
        { IMAGE_MAPS, .at = 4, .value = 0, .why = "item 1: equals list 0" },
        { IMAGE_MAPS, .at = 4, .value = 1, .why = "16 bytes after" },
        { IMAGE_MAPS, .at = 4, .value = 0x10000000, .why = "entries" },
        { IMAGE_MAPS, .at = 8, .value = base - 1, .why = "range 0" },
        { IMAGE_MAPS, .at = 12, .value = 201, .why = "or higher" },
        { IMAGE_MAPS, .at = 16, .value = 4, .why = "category 4" },
        { IMAGE_MAPS, .at = 20, .value = 4, .why = "owner 4" },
        { IMAGE_SYMB, .at = 4, .value = 3, .why = "3 entries" },
        { IMAGE_SYMB, .at = 8, .value = 0xfffffff8, .why = "symbol 0" },
        { IMAGE_SYMB, .at = 16, .value = 0, .why = "name 0" },
        { IMAGE_LINE, .at = 8, .value = base + 9, .why = "more than" },
        { IMAGE_LINE, .at = 12, .value = 77, .why = "file 77" },
        { IMAGE_KEYS, .at = 8, .value = base + 10, .why = "key 0" },
        { IMAGE_KEYS, .at = 8, .value = base + ss_arch_preset("toy4")->region0_bytes,
          .why = "key 0" },
        { IMAGE_KEYS, .at = 20, .value = base + 8, .why = "key 1: at 0x4c008, expected more than" },
        { IMAGE_KEYS, .at = 4, .value = 3, .why = "3 entries" },
        { IMAGE_XCHG, .at = 8, .value = base + 26, .why = "part 0: 8 bytes at 0x4c01a, expected" },
        { IMAGE_XCHG, .at = 12, .value = 6, .why = "part 0: 6 bytes" },
        { IMAGE_XCHG, .at = 12, .value = -4u, .why = "part 0: 4294967292 bytes" },
        { IMAGE_XCHG, .at = 12, .value = 20, .why = "part 1: at 0x4c028, expected at least" },
        { IMAGE_XCHG, .at = 16, .value = 0, .why = "part 0: of exchange 0" },
        { IMAGE_XCHG, .at = 16, .value = 1 << 24, .why = "part 0: of exchange 16777216" },
        { IMAGE_XCHG, .at = 20, .value = 3, .why = "part 0: 3 instructions in 8 bytes" },
        { IMAGE_XCHG, .at = 20, .value = 0, .why = "part 0: 0 instructions" },
        { IMAGE_XCHG, .at = 24, .value = 1, .why = "part 0: 2 instructions in 8 bytes and 1" },
        { IMAGE_XCHG, .at = 24, .value = 1 << 30, .why = "part 0: events 1073741824 and 9" },
        { IMAGE_XCHG, .at = 28, .value = 1 << 30, .why = "part 0: events 5 and 1073741824" },
        { IMAGE_XCHG, .at = 40, .value = base + 8, .why = "part 1: at 0x4c008, expected" },
        { IMAGE_VERT, .at = 4, .value = 3, .why = "3 entries" },
        { IMAGE_VERT, .at = 8, .value = base + 10, .why = "vertex 0: at 0x4c00a, expected" },
        { IMAGE_VERT, .at = 12, .value = base + 2, .why = "vertex 0: state at 0x4c002" },
        { IMAGE_VERT, .at = 12, .value = 0, .why = "vertex 0: state at 0x0" },
        { IMAGE_VERT, .at = 16, .value = 0, .why = "vertex 0: form 0" },
        { IMAGE_VERT, .at = 16, .value = 4, .why = "vertex 0: form 4" },
        { IMAGE_VERT, .at = 20, .value = base + 8, .why = "vertex 1: at 0x4c008, expected more" },
        { IMAGE_ORDR, .at = 4, .value = 4, .why = "4 entries" },
        { IMAGE_ORDR, .at = 12, .value = 0, .why = "part 0 of an order: 0 bytes" },
        { IMAGE_ORDR, .at = 12, .value = 3, .why = "part 0 of its order: 3 bytes of element 4" },
        { IMAGE_ORDR, .at = 8, .value = 5, .why = "part 0 of its order: 4 bytes of element 5" },
        { IMAGE_ORDR, .at = 8, .value = -2u, .why = "bytes of element 4294967294 on, expected" },
        { IMAGE_ORDR, .at = 28, .value = -2u, .why = "part 2 of its order: 4294967294 bytes" },
        { IMAGE_ORDR, .at = 20, .value = -4u, .why = "4294967304 bytes in a transfer, expected" },
        { IMAGE_ORDR, .at = 20, .value = 8, .why = "20 bytes in a transfer, expected less than" },
        { IMAGE_PAIR, .value = 3, .why = "item 2: 0 bytes left, expected a record of 32" },
        { IMAGE_PAIR, .value = 1, .why = "39 bytes after the last list" },
        { IMAGE_PAIR, .at = 4, .value = 0, .why = "item 0: exchange 0, expected 1 to 16777215" },
        { IMAGE_PAIR, .at = 4, .value = 1 << 24, .why = "item 0: exchange 16777216" },
        { IMAGE_PAIR, .at = 4, .value = 3, .why = "item 1: exchange 3, expected more than 3" },
        { IMAGE_PAIR, .at = 8, .value = 0, .why = "item 0: 0 pairs of tiles, expected 1 to 12" },
        { IMAGE_PAIR, .at = 8, .value = 13, .why = "item 0: 13 pairs of tiles" },
        { IMAGE_PAIR, .at = 12, .value = 0, .why = "item 0: lists of 0 and 2 bytes" },
        { IMAGE_PAIR, .at = 12, .value = -1u, .why = "item 0: lists of 4294967295 and 2 bytes" },
        { IMAGE_PAIR, .at = 16, .value = 0, .why = "item 0: lists of 5 and 0 bytes" },
        { IMAGE_PAIR, .at = 16, .value = 43, .why = "item 0: lists of 5 and 43 bytes, expected" },
        { IMAGE_STRM, .value = 8192, .why = "item 0: stream 8192" },
        { IMAGE_STRM, .at = 4, .value = 9, .why = "name 9" },
        { IMAGE_STRM, .at = 8, .value = 2, .why = "direction 2" },
        { IMAGE_STRM, .at = 24, .value = 4, .why = "stream 5: type 4" },
        { IMAGE_STRM, .at = 28, .value = 0, .why = "stream 5: 6 elements of 0 bytes" },
        { IMAGE_STRM, .at = 28, .value = 1, .why = "4 bytes of element 4 on, expected some of 6" },
        { IMAGE_STRM, .at = 28, .value = 1 << 30, .why = "6 elements of 1073741824 bytes" },
        { IMAGE_STRM, .at = 32, .value = 0, .why = "stream 5: 0 elements of 2 bytes" },
        { IMAGE_STRM, .at = 32, .value = 5, .why = "some of 5 elements of 2 bytes" },
        { IMAGE_STRM, .at = 32, .value = 1u << 31, .why = "2147483648 elements of 2 bytes" },
        { IMAGE_STRM, .at = 36, .value = 2, .why = "order 2: expected them below 4, 2" },
        { IMAGE_SCOP, .value = 3, .why = "3 scopes and 1 owners" },
        { IMAGE_SCOP, .at = 4, .value = -1u, .why = "2 scopes and 4294967295 owners" },
        { IMAGE_SCOP, .value = 0, .why = "0 scopes and 1 owners" },
        { IMAGE_SCOP, .at = 8, .value = 0, .why = "item 0: scope 1: path 0" },
        { IMAGE_SCOP, .at = 16, .value = 4, .why = "item 1: scope 2: path 4" },
        { IMAGE_SCOP, .at = 20, .value = 2, .why = "parent 2" },
        { IMAGE_SCOP, .at = 24, .value = 4, .why = "item 0: owner 0: name 4" },
        { IMAGE_SCOP, .at = 24, .value = 0, .why = "name 0" },
        { IMAGE_SCOP, .at = 28, .value = 3, .why = "scope 3, expected 1 to 2" },
        { IMAGE_TILE, .value = 4, .why = "item 0: tile 4" },
        { IMAGE_TILE, .value = 2, .why = "item 1: tile 2 of chip 0: expected every tile once" },
        { IMAGE_TILE, .at = 4, .value = 1, .why = "chip 1" },
        { IMAGE_TILE, .at = 8, .value = 64, .why = "group 64" },
        { IMAGE_TILE, .at = 12, .value = base + ss_arch_preset("toy4")->region0_bytes,
          .why = "entry" },
        { IMAGE_TILE, .at = 16, .value = 4, .why = "item 0: 4 segments, expected at most the 3" },
        { IMAGE_TILE, .at = 16, .value = 1, .why = "item 2: belongs to no tile" },
        { IMAGE_TILE, .at = 16, .value = -1u, .why = "segments" },
        { IMAGE_TILE, .at = 20, .value = 2, .why = "map 2" },
        { IMAGE_TILE, .at = 24, .value = 2, .why = "symbols 2" },
        { IMAGE_TILE, .at = 28, .value = 2, .why = "lines 2" },
        { IMAGE_TILE, .at = 32, .value = 2, .why = "keys 2" },
        { IMAGE_TILE, .at = 36, .value = 2, .why = "parts 2" },
        { IMAGE_SEGM, .value = base - 1, .why = "item 0: segment 0" },
        { IMAGE_SEGM, .value = base + 60000, .why = "segment 0" },
        { IMAGE_SEGM, .at = 12, .value = base + 5999, .why = "disjoint" },
        { IMAGE_SEGM, .at = 4, .value = 6001, .why = "at most the 6000" },
        { IMAGE_SEGM, .at = 8, .value = 3, .why = "blob 3" },
        { IMAGE_BLOB, .value = -1u, .why = "4294967295 blobs" },
        { IMAGE_BLOB, .value = 3, .why = "bytes, expected" },
        { IMAGE_BLOB, .at = 4, .value = -1u, .why = "4294967295 chunks" },
        { IMAGE_BLOB, .at = 4, .value = 2, .why = "for 2 blobs and 2 chunks" },
        { IMAGE_BLOB, .at = 8, .value = -1u, .why = "bytes, expected" },
        { IMAGE_BLOB, .at = 8, .value = 8192,
          .why = "section DATA: 6060 bytes, expected the 8252 of chunks 1 to 3" },
        { IMAGE_BLOB, .at = 12, .value = 61, .why = "section DATA: 6060 bytes, expected the 6061" },
        { IMAGE_BLOB, .at = 12, .value = 4096, .why = "section DATA" },
        { IMAGE_BLOB, .at = 16, .value = 2, .why = "page 0: chunk 2, expected at most 1" },
        { IMAGE_BLOB, .at = 20, .value = 1, .why = "page 1: chunk 1 of 4096 bytes, expected 1904" },
        { IMAGE_BLOB, .at = 24, .value = 4, .why = "page 0: chunk 4, expected at most 3" },
        { IMAGE_BLOB, .at = 24, .value = 0, .why = "3 chunks, expected the 2" },
        { IMAGE_BLOB, .at = 28, .value = 0, .why = "item 1: expected bytes with the hash" },
        { IMAGE_DATA, .value = 0, .why = "item 1: expected bytes with the hash" },
        { IMAGE_DATA, .at = 6000, .value = 0, .why = "item 3: expected bytes with the hash" },
    };
    struct sample_parts p = take_small_apart();

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        struct sample_part *s = part_of(&p, bad[i].type);
        struct sample_file f;
        uint32_t was;

        if (bad[i].at + 4 > s->bytes)
            fail_msg("row %zu: beyond the section", i);
        memcpy(&was, s->data + bad[i].at, 4);
        memcpy(s->data + bad[i].at, &bad[i].value, 4);
        f = sample_seal(&p);
        assert_refused(f.data, f.bytes, bad[i].why);
        free(f.data);
        memcpy(s->data + bad[i].at, &was, 4);
    }
    sample_parts_free(&p);
}

/* Every section one to nine bytes shorter and longer. */
static void test_wrong_lengths_are_refused(void **state)
{
    struct sample_parts p = take_small_apart();

    (void)state;
    for (uint32_t i = 0; i < p.count; i++) {
        struct sample_part *s = &p.part[i];
        uint32_t bytes = s->bytes;

        s->data = realloc(s->data, bytes + 9);
        memset(s->data + bytes, 0, 9);
        for (int d = -9; d <= 9; d++) {
            struct sample_file f;

            if (d == 0 || (int)bytes + d < 0 || (s->type == IMAGE_MACH && d > 0))
                continue; /* JSON may have what jansson skips after it */
            s->bytes = bytes + (uint32_t)d;
            f = sample_seal(&p);
            assert_refused(f.data, f.bytes, s->type == IMAGE_MACH ? "machine:" : "expected");
            free(f.data);
        }
        s->bytes = bytes;
    }
    sample_parts_free(&p);
}

static void test_order_and_versions_are_fixed(void **state)
{
    struct sample_parts p = take_small_apart();
    struct sample_file f;

    (void)state;
    for (uint32_t i = 0; i < p.count; i++) {
        struct sample_part s = p.part[i];

        p.part[i].version = 2;
        f = sample_seal(&p);
        assert_refused(f.data, f.bytes, "version 2, expected 1");
        free(f.data);
        p.part[i] = p.part[i ? 0 : 1];
        f = sample_seal(&p);
        assert_refused(f.data, f.bytes, "expected");
        free(f.data);
        p.part[i] = s;
    }
    p.header[12]++;
    f = sample_seal(&p);
    assert_refused(f.data, f.bytes, "in a file of 25 sections, expected 24");
    free(f.data);
    sample_parts_free(&p);
}

/* Words of instructions changed with version 5; 6 has keys, 7 parts of exchanges, 8 pairs, 9
 * vertices, 10 orders of transfers, 11 several chips. */
static void test_other_versions_are_refused(void **state)
{
    static const char *const why[] = { [0] = "expected 11",
                                       [1] = "compile the program again",
                                       [4] = "compile the program again",
                                       [5] = "section KEYS, expected STRM",
                                       [6] = "section XCHG, expected STRM",
                                       [7] = "section VERT, expected STRM",
                                       [8] = "section VERT, expected PAIR",
                                       [9] = "section ORDR, expected PAIR",
                                       [10] = "expected a multiple of 40",
                                       [12] = "expected 11" };
    struct sample_parts p = take_small_apart();

    (void)state;
    for (uint8_t version = 0; version < EMU_COUNT_OF(why); version++) {
        struct sample_file f;

        p.header[8] = version;
        f = sample_seal(&p);
        if (why[version])
            assert_refused(f.data, f.bytes, why[version]);
        free(f.data);
    }
    sample_parts_free(&p);
}

/* Takes out a section, and the last word of all records of tiles. */
static void take_section_out(struct sample_parts *p, uint32_t type)
{
    struct sample_part *part = part_of(p, type);

    free(part->data);
    memmove(part, part + 1, (size_t)(p->part + p->count - (part + 1)) * sizeof(*part));
    p->count--;
    p->header[8]--;
    p->header[12]--;
}

/* And the lists' ids of the two tiles. */
static void take_out(struct sample_parts *p, uint32_t type)
{
    struct sample_part *tile = part_of(p, IMAGE_TILE);
    size_t record = tile->bytes / 2;

    memmove(tile->data + record - 4, tile->data + record, record - 4);
    tile->bytes -= 8;
    take_section_out(p, type);
}

/* And what records of streams say of the chip. */
static void take_chips_out(struct sample_parts *p)
{
    part_of(p, IMAGE_STRM)->bytes = IMAGE_STREAM_WITHOUT_CHIP_BYTES;
    take_section_out(p, IMAGE_ZONE);
    take_section_out(p, IMAGE_CHAN);
    take_section_out(p, IMAGE_LINK);
    p->header[8] = IMAGE_FORMAT_OF_ONE_CHIP;
}

/* And what records of streams say of the order. */
static void take_orders_out(struct sample_parts *p)
{
    part_of(p, IMAGE_STRM)->bytes = IMAGE_STREAM_WITHOUT_ORDER_BYTES;
    take_section_out(p, IMAGE_ORDR);
}

/* A file of version 10 is the same without what several chips need, one of version 9 also without
 * orders, one of version 8 without vertices, one of version
 * 7 also without pairs of tiles, one of version 6 without parts of exchanges, one of version 5
 * without keys. */
static void test_older_files_are_read(void **state)
{
    struct sample_parts p = take_small_apart();

    (void)state;
    for (unsigned version = 10; version >= 5; version--) {
        static const uint32_t lacks[] = { IMAGE_KEYS, IMAGE_XCHG, IMAGE_PAIR, IMAGE_VERT };
        struct sample_file f;
        struct image *im;

        if (version == 10)
            take_chips_out(&p);
        else if (version == 9)
            take_orders_out(&p);
        else if (version == 7)
            take_section_out(&p, lacks[version - 5]);
        else
            take_out(&p, lacks[version - 5]);
        f = sample_seal(&p);
        assert_int_equal(f.data[8], version);
        OK(ss_image_read_bytes(f.data, f.bytes, "an older version", &im));
        assert_int_equal(image_tile_count(im), 2);
        assert_int_equal(image_tile_at(im, 0)->keys, version >= 6);
        assert_int_equal(image_tile_at(im, 0)->parts, version >= 7);
        assert_int_equal(image_tile_at(im, 0)->vertices, version >= 9);
        assert_int_equal(image_traffic_count(im), version >= 8 ? 2 : 0);
        assert_int_equal(image_stream_at(im, 0)->bytes, 1 << 20);
        assert_int_equal(image_stream_at(im, 0)->elements, version == 10 ? 6 : 0);
        assert_int_equal(image_stream_at(im, 0)->order, version == 10);
        assert_int_equal(image_stream_at(im, 0)->chip, 0);
        assert_int_equal(image_chip_count(im), 1);
        for (unsigned z = 0; z < SYNC_ZONES; z++)
            assert_int_equal(image_zone_scope(im, z), sync_scope_default(z));
        assert_int_equal(image_tile_at(im, 1)->entry, ss_arch_preset("toy4")->mem_base);
        assert_string_equal(image_timing_obstacle(im), "calls without timing keys");
        ss_image_free(im);
        free(f.data);
    }
    sample_parts_free(&p);
}

/* Writes an image and reads it again. */
static struct sample_file write_and_read(const struct image *im)
{
    struct sample_file f = sample_write(im);
    struct image *back;

    assert_int_equal(f.data[8], IMAGE_FORMAT_VERSION);
    OK(ss_image_read_bytes(f.data, f.bytes, "sample", &back));
    assert_true(sample_same(im, back));
    ss_image_free(back);
    return f;
}

/* Inputs, outputs and notes may be there or not. */
static void test_host_sections(void **state)
{
    struct image *im = sample_small();
    uint64_t r = 3;
    struct sample_parts p;
    struct sample_file f = write_and_read(im);

    (void)state;
    free(f.data);
    sample_input(im, &r, 1, 0);
    f = write_and_read(im);
    free(f.data);
    sample_note(im, 1);
    f = write_and_read(im);
    free(f.data);
    sample_input(im, &r, 1, 1);
    f = write_and_read(im);
    ss_image_free(im);

    assert_int_equal(sample_take_apart(f.data, f.bytes, 1 << 20, &p), 1);
    free(f.data);
    part_of(&p, IMAGE_OPRT)->bytes -= 20;
    f = sample_seal(&p);
    assert_refused(f.data, f.bytes, "parts, expected at most");
    free(f.data);
    part_of(&p, IMAGE_OPRT)->bytes += 20;
    part_of(&p, IMAGE_OUTP)->bytes = 0;
    f = sample_seal(&p);
    assert_refused(f.data, f.bytes, "belongs to no output, expected 0 parts");
    free(f.data);
    part_of(&p, IMAGE_OPRT)->bytes = 0;
    part_of(&p, IMAGE_NOTE)->bytes -= 1;
    f = sample_seal(&p);
    assert_refused(f.data, f.bytes, "expected a multiple of 8");
    free(f.data);
    sample_parts_free(&p);
}

static void put_u32(struct sample_part *s, uint32_t at, uint32_t v)
{
    memcpy(s->data + at, &v, 4);
}

/* The blob table with other contents: what only its parts together make wrong. */
static void test_twisted_blobs_are_refused(void **state)
{
    struct sample_parts p = take_small_apart();
    struct sample_part *blob = part_of(&p, IMAGE_BLOB), *data = part_of(&p, IMAGE_DATA);
    struct sample_part *segm = part_of(&p, IMAGE_SEGM);
    struct hash128 h;
    struct sample_file f;

    (void)state;
    /* two chunks of one content */
    put_u32(blob, 12, 1904);
    blob->data = realloc(blob->data, 100);
    data->bytes = 6000 + 1904;
    data->data = realloc(data->data, data->bytes);
    memcpy(data->data + 6000, data->data + 4096, 1904);
    h = hash128(data->data + 6000, 1904);
    memcpy(blob->data + 28 + 32, &h, 16);
    f = sample_seal(&p);
    assert_refused(f.data, f.bytes, "chunks 2 and 3 have one hash");
    free(f.data);
    /* a chunk of zeros */
    memset(data->data + 6000, 0, 1904);
    h = hash128(data->data + 6000, 1904);
    memcpy(blob->data + 28 + 32, &h, 16);
    f = sample_seal(&p);
    assert_refused(f.data, f.bytes, "item 3: all zeros");
    free(f.data);
    /* two blobs of one content: 60 bytes of chunk 1, twice */
    memcpy(blob->data, (uint32_t[]){ 2, 1, 60, 60, 1, 1 }, 24);
    h = hash128(data->data, 60);
    memcpy(blob->data + 24, &h, 16);
    blob->bytes = 40;
    data->bytes = 60;
    put_u32(segm, 4, 60);
    f = sample_seal(&p);
    assert_refused(f.data, f.bytes, "item 2: equals blob 1");
    free(f.data);
    sample_parts_free(&p);
}

/* A blob of one chunk that is named again and again. */
static void test_blobs_need_no_more_than_the_tiles_have(void **state)
{
    enum { BLOBS = 100, PAGES = 16 };
    struct sample_parts p = take_small_apart();
    struct sample_part *blob = part_of(&p, IMAGE_BLOB), *data = part_of(&p, IMAGE_DATA);
    struct hash128 h;
    struct sample_file f;

    (void)state;
    blob->bytes = 8 + 4 * BLOBS * (1 + PAGES) + 16;
    blob->data = realloc(blob->data, blob->bytes);
    put_u32(blob, 0, BLOBS);
    put_u32(blob, 4, 1);
    for (uint32_t i = 0; i < BLOBS; i++) {
        put_u32(blob, 8 + 4 * i, PAGES * 4096);
        for (uint32_t k = 0; k < PAGES; k++)
            put_u32(blob, 8 + 4 * (BLOBS + i * PAGES + k), 1);
    }
    data->bytes = 4096;
    h = hash128(data->data, 4096);
    memcpy(blob->data + blob->bytes - 16, &h, 16);
    f = sample_seal(&p);
    assert_refused(f.data, f.bytes, "blobs of 6553600 bytes, expected at most the 131072");
    free(f.data);
    /* the memory of two tiles would do, but no tile can hold it */
    memset(blob->data, 0, blob->bytes);
    put_u32(blob, 0, 1);
    put_u32(blob, 8, PAGES * 4096 + 1);
    blob->bytes = 8 + 4 * (1 + PAGES + 1);
    f = sample_seal(&p);
    assert_refused(f.data, f.bytes, "in a file of 24 sections, expected 23");
    free(f.data);
    p.header[12]--;
    f = sample_seal(&p);
    assert_refused(f.data, f.bytes, "item 1: a blob of 65537 bytes");
    free(f.data);
    sample_parts_free(&p);
}

/* The sample up to a section, and instead of that one this header and payload as the last. */
static struct sample_file with_section(uint32_t type, uint32_t raw, uint32_t stored,
                                       const uint8_t *payload, uint32_t payload_bytes)
{
    struct sample_parts p = take_small_apart();
    struct sample_file f;
    uint64_t sum;
    size_t at;

    while (p.part[p.count - 1].type != type)
        free(p.part[--p.count].data);
    free(p.part[--p.count].data);
    f = sample_seal(&p);
    at = f.bytes;
    f.bytes += IMAGE_SECTION_HEADER_BYTES + (payload_bytes + 7) / 8 * 8 + 8;
    f.data = realloc(f.data, f.bytes);
    memset(f.data + at, 0, f.bytes - at);
    memcpy(f.data + at, (uint32_t[]){ type, 1, raw, stored }, 16);
    memcpy(f.data + at + 16, payload, payload_bytes);
    sum = hash64(f.data + at - 8, f.bytes - 8 - (at - 8));
    memcpy(f.data + f.bytes - 8, &sum, 8);
    sample_parts_free(&p);
    return f;
}

static void test_bombs_and_bad_frames_are_refused(void **state)
{
    static uint8_t zeros[4 << 20], frame[1 << 16];
    uint32_t n = (uint32_t)ZSTD_compress(frame, 1000, zeros, 6060, 1);
    uint32_t big =
        (uint32_t)ZSTD_compress(frame + 1000, sizeof(frame) - 1000, zeros, sizeof(zeros), 1);
    const uint32_t most = 262144 + 1024 * n;
    const struct {
        uint32_t type, raw, stored;
        const uint8_t *payload;
        uint32_t bytes; /* of the payload, if not as many as stored */
        const char *why;
    } bad[] = {
        { IMAGE_DATA, .raw = 6060, .stored = n, .payload = frame,
          .why = "expected bytes with the hash" }, /* the frame is good */
        { IMAGE_DATA, .raw = 6060, .stored = n - 1, .payload = frame, .why = "from zstd" },
        { IMAGE_DATA, .raw = 6061, .stored = n, .payload = frame, .why = "from zstd" },
        { IMAGE_DATA, .raw = 6059, .stored = n, .payload = frame, .why = "from zstd" },
        { IMAGE_DATA, .raw = 6060, .stored = 5, .payload = frame + 1, .why = "from zstd" },
        { IMAGE_DATA, .raw = 6060, .payload = frame, .why = "from zstd" },
        { IMAGE_DATA, .raw = 262144, .stored = big, .payload = frame + 1000,
          .why = "from zstd" }, /* 4 MiB for 256 KiB */
        { IMAGE_DATA, .raw = 262145, .stored = big, .payload = frame + 1000,
          .why = "expected at most 262144" },
        { IMAGE_DATA, .raw = 1u << 30, .stored = n, .payload = frame,
          .why = "expected at most 262144" },
        { IMAGE_DATA, .raw = 6060, .stored = 6060, .payload = zeros, .bytes = 6040,
          .why = "bytes stored" },
        { IMAGE_DATA, .raw = 6060, .stored = -1u, .payload = zeros, .bytes = 6060,
          .why = "bytes stored" },
        { IMAGE_DATA, .raw = 6060, .stored = 6061, .payload = zeros, .why = "bytes stored" },
        { IMAGE_DATA, .raw = -1u, .stored = -1u, .payload = zeros, .bytes = 6061,
          .why = "bytes stored" },
        { IMAGE_MAPS, .raw = 6060, .stored = n, .payload = frame,
          .why = "after the last list" }, /* good, too */
        { IMAGE_MAPS, .raw = most, .stored = n, .payload = frame, .why = "from zstd" },
        { IMAGE_MAPS, .raw = most + 1, .stored = n, .payload = frame,
          .why = "262144 + 1024 per byte" },
        { IMAGE_MAPS, .raw = (1u << 30) + 1, .stored = 1 << 20, .payload = zeros,
          .why = "expected at most 1073741824" },
        { IMAGE_MACH, .raw = (1u << 20) + 1, .stored = 1 << 19, .payload = zeros,
          .why = "expected at most 1048576" },
    };

    (void)state;
    assert_true(!ZSTD_isError(n) && !ZSTD_isError(big) && n < 100);
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        uint32_t bytes = bad[i].bytes ? bad[i].bytes : bad[i].stored;
        struct sample_file f =
            with_section(bad[i].type, bad[i].raw, bad[i].stored, bad[i].payload, bytes);

        assert_refused(f.data, f.bytes, bad[i].why);
        free(f.data);
    }
}

/* Nonzero bytes between a payload and its checksum. */
static void test_padding_is_zero(void **state)
{
    struct sample_parts p = take_small_apart();
    struct sample_part *s = &p.part[p.count - 1];
    struct sample_file f;
    uint64_t sum;
    size_t from;

    (void)state;
    assert_int_equal(s->bytes % 8, 4);
    f = sample_seal(&p);
    f.data[f.bytes - 9] = 1;
    from = f.bytes - 8 - 6064 - 16 - 8;
    sum = hash64(f.data + from, f.bytes - 8 - from);
    memcpy(f.data + f.bytes - 8, &sum, 8);
    assert_refused(f.data, f.bytes, "expected zeros after its bytes");
    free(f.data);
    sample_parts_free(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_byte_counts),
        cmocka_unit_test(test_every_truncation_is_seen),
        cmocka_unit_test(test_sections_of_two_files_do_not_mix),
        cmocka_unit_test(test_hostile_numbers_are_refused),
        cmocka_unit_test(test_wrong_lengths_are_refused),
        cmocka_unit_test(test_order_and_versions_are_fixed),
        cmocka_unit_test(test_other_versions_are_refused),
        cmocka_unit_test(test_older_files_are_read),
        cmocka_unit_test(test_host_sections),
        cmocka_unit_test(test_twisted_blobs_are_refused),
        cmocka_unit_test(test_blobs_need_no_more_than_the_tiles_have),
        cmocka_unit_test(test_bombs_and_bad_frames_are_refused),
        cmocka_unit_test(test_padding_is_zero),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
