/* test_image_chips.c - images of several chips: the rules for zones, channels and links, files with
 * them, good and hostile, and headers completed by the loader.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emu/base/alloc.h"
#include "emu/bsp/machine.h"
#include "tests/fixtures/image_fixture.h"

static void refused(enum emu_status s, const char *part)
{
    if (s != EMU_BAD_IMAGE || !strstr(ss_error(), part))
        fail_msg("status %s, '%s', expected '%s'", ss_status_name(s), ss_error(), part);
}

/* ---- the rules ---- */

static void test_zones_are_checked(void **state)
{
    struct image *im = sample_two_chips(), *plain = sample_small();

    (void)state;
    refused(image_set_zone(im, 16, SCOPE_CHIP), "zone 16: expected 3 to 7 or 12 to 15");
    refused(image_set_zone(im, 9, SCOPE_CHIP), "zone 9");
    refused(image_set_zone(im, 2, SCOPE_CHIP), "zone 2");
    refused(image_set_zone(im, 4, SCOPE_RESERVED), "zone 4: scope 0, expected 1 to 5");
    refused(image_set_zone(im, 4, SCOPES), "zone 4: scope 6");
    refused(image_set_zone(im, 4, (enum sync_scope) - 1), "zone 4: scope 4294967295");
    refused(image_set_zone(im, 5, SCOPE_POD), "zone 5: expected every zone once");
    assert_int_equal(image_zone_scope(im, 3), SCOPE_GROUP);
    assert_int_equal(image_zone_scope(im, 4), SCOPE_RESERVED); /* others have a scope */
    assert_int_equal(image_zone_scope(im, 6), SCOPE_POD);
    assert_int_equal(image_zone_scope(plain, 4), SCOPE_CHIP);
    assert_int_equal(image_zone_scope(plain, 6), SCOPE_HOST);
    ss_image_free(im);
    ss_image_free(plain);
}

static void test_channels_are_checked(void **state)
{
    struct image *im = sample_two_chips();
    uint32_t b = im->arch.mem_base, end = (uint32_t)image_mem_end(&im->arch);
    const struct {
        struct image_channel c;
        struct image_channel_part part[3];
        const char *why;
    } bad[] = {
        { { 0, 2, 0 }, { { 0, 0, 1, b, 8 }, { 1, 1, 2, b, 8 } }, "channel 1: name 0" },
        { { 3, 2, 0 }, { { 0, 0, 1, b, 8 }, { 1, 1, 2, b, 8 } }, "channel 1: name 3" },
        { { 1, 2, 0 },
          { { 0, 0, 1, b, 8 }, { 1, 1, 2, b, 8 } },
          "two channels are called forward" },
        { { 2, 0, 0 }, { { 0 } }, "channel backward: 0 bytes are sent" },
        { { 2, 1, 0 }, { { 1, 1, 2, b, 8 } }, "0 bytes are sent, 8 received" },
        { { 2, 2, 0 }, { { 0, 0, 1, b, 8 }, { 1, 1, 2, b, 12 } }, "8 bytes are sent, 12 received" },
        { { 2, 2, 0 }, { { 0, 0, 1, b, 12 }, { 1, 1, 2, b, 8 } }, "12 bytes are sent, 8 received" },
        { { 2, 1, 0 }, { { 0, 0, 1, b, 8 } }, "8 bytes are sent, 0 received" },
        { { 2, 2, 0 }, { { 0, 0, 2, b, 8 }, { 1, 1, 2, b, 8 } }, "part 0: tile 2 of chip 0 takes" },
        { { 2, 2, 0 }, { { 0, 0, 1, b, 8 }, { 2, 1, 2, b, 8 } }, "part 1: tile 2 of chip 2 takes" },
        { { 2, 2, 0 }, { { 0, 0, 1, b, 8 }, { 1, 2, 2, b, 8 } }, "part 1: receives 2" },
        { { 2, 2, 0 }, { { 0, 0, 1, b, 8 }, { 1, 1, 2, end - 4, 8 } }, "part 1: 8 bytes at" },
        { { 2, 2, 0 }, { { 0, 0, 1, b - 4, 8 }, { 1, 1, 2, b, 8 } }, "part 0: 8 bytes at" },
        { { 2, 2, 0 }, { { 0, 0, 1, b + 2, 8 }, { 1, 1, 2, b, 8 } }, "expected words of memory" },
        { { 2, 2, 0 }, { { 0, 0, 1, b, 6 }, { 1, 1, 2, b, 6 } }, "expected words of memory" },
        { { 2, 2, 0 }, { { 0, 0, 1, b, 0 }, { 1, 1, 2, b, 8 } }, "expected words of memory" },
        { { 2, 2, 0 }, { { 0, 0, 1, b, -4u }, { 1, 1, 2, b, -4u } }, "expected words of memory" },
        { { 2, 3, 0 },
          { { 1, 1, 2, b + 4, 8 }, { 0, 0, 1, b, 16 }, { 1, 1, 2, b, 8 } },
          "tile 2 of chip 1 receives at 0x4c004 twice" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++)
        refused(image_add_channel(im, &bad[i].c, bad[i].part), bad[i].why);
    assert_int_equal(image_channel_count(im), 1);
    /* one place may be sent from twice */
    OK(image_add_channel(im, &(struct image_channel){ 2, 3, 0 },
                         (struct image_channel_part[]){
                             { 0, 0, 1, b, 8 }, { 1, 1, 2, b, 16 }, { 0, 0, 1, b + 4, 8 } }));
    assert_int_equal(image_channel_at(im, 1)->first_part, 2);
    assert_int_equal(image_channel_part_at(im, 3)->bytes, 16);
    assert_int_equal(image_channel_part_at(im, 0)->tile, 1);
    ss_image_free(im);
    assert_int_equal(alloc_live(), 0);
}

static void test_links_are_checked(void **state)
{
    struct image *im = sample_two_chips();
    uint32_t b = im->arch.mem_base, end = (uint32_t)image_mem_end(&im->arch);
    const struct {
        struct image_link l;
        const char *why;
    } bad[] = {
        { { 1, 1, b + 64, 0 }, "link 3: tile 1 of chip 1 takes no part" },
        { { 4096, 2, b + 64, 0 }, "link 3: tile 2 of chip 4096 takes no part" },
        { { 1, 2, b + 66, 0 }, "link 3: at 0x4c042 of tile 2 of chip 1, expected words of memory" },
        { { 1, 2, end - 4, 0 }, "expected words of memory" },
        { { 1, 2, b - 4, 0 }, "expected words of memory" },
        { { 1, 2, b + 64, 4 }, "replica 4, expected less than the 4 chips" },
        { { 1, 2, b + 64, -4 }, "replica -4" },
        { { 1, 2, b + 64, INT32_MIN }, "replica -2147483648" },
        { { 1, 2, b + 16, 0 }, "expected it behind the one before it" },
        { { 1, 2, b + 20, 0 }, "expected it behind" },
        { { 0, 1, b + 64, 0 }, "expected it behind" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++)
        refused(image_add_link(im, &bad[i].l), bad[i].why);
    assert_int_equal(image_link_count(im), 3);
    OK(image_add_link(im, &(struct image_link){ 1, 2, b + 24, 3 }));
    assert_int_equal(image_link_at(im, 3)->replica, 3);
    ss_image_free(im);
}

static void test_streams_belong_to_chips(void **state)
{
    struct image *im = sample_two_chips();

    (void)state;
    refused(image_add_stream(im, &(struct image_stream){ .id = 5, .chip = 1 }),
            "stream 5 of chip 1: expected every stream once");
    refused(image_add_stream(im, &(struct image_stream){ .id = 5, .chip = 4 }), "chip 4, expected");
    OK(image_add_stream(im, &(struct image_stream){ .id = 5, .chip = 2 }));
    assert_int_equal(image_chip_count(im), 2);
    ss_image_free(im);
}

/* ---- loading ---- */

/* The chip in the header at addr of a tile. */
static uint32_t chip_at(struct machine *m, uint32_t tile, uint32_t addr)
{
    struct link_header h;
    uint32_t word[2];

    assert_true(tile_read(machine_tile(m, tile), addr, word, sizeof(word)));
    assert_true(link_header_unpack(word, &h));
    return h.chip;
}

static struct machine *machine_of(const struct image *im)
{
    struct machine *m;

    OK(machine_new(ss_image_arch(im), &(struct machine_options){ .threads = 1 }, &m));
    return m;
}

static void test_headers_are_completed(void **state)
{
    struct image *im = sample_two_chips();
    uint32_t b = im->arch.mem_base;

    (void)state;
    for (uint32_t chip = 0; chip < 4; chip++) {
        struct machine *m = machine_of(im);
        uint32_t first = chip / 2 * 2, other = 2 - first;

        OK(image_load_chip(im, chip % 2, first, m));
        assert_int_equal(machine_tile_used(m, 1), chip % 2 == 0);
        assert_int_equal(machine_tile_used(m, 2), chip % 2 == 1);
        if (chip % 2 == 0) {
            assert_int_equal(chip_at(m, 1, b + 8), first + 1);
            assert_int_equal(chip_at(m, 1, b + 16), other);
        } else {
            assert_int_equal(chip_at(m, 2, b + 8), 1); /* no link: a header as it was */
            assert_int_equal(chip_at(m, 2, b + 16), other);
        }
        machine_free(m);
    }
    ss_image_free(im);
    assert_int_equal(alloc_live(), 0);
}

static void test_what_is_no_replica_is_refused(void **state)
{
    struct image *im = sample_two_chips();
    struct machine *m = machine_of(im);

    (void)state;
    refused(image_load(im, m), "a program for chip 1 too");
    refused(image_load_chip(im, 2, 0, m), "chip 2 of a program for 2 chips");
    refused(image_load_chip(im, 0, 1, m), "from chip 1 on, expected a multiple below 4");
    refused(image_load_chip(im, 0, 4, m), "from chip 4 on");
    OK(image_add_tile(im, &(struct image_tile){ .chip = 2, .entry = im->arch.mem_base }, NULL, 0));
    refused(image_load_chip(im, 0, 0, m), "3 chips, expected one whose replicas are the 4");
    machine_free(m);
    ss_image_free(im);
}

/* A header that an image does not hold, and one for a chip that it does not have. */
static void test_links_are_headers(void **state)
{
    static const struct {
        uint32_t at;
        const char *why;
    } bad[] = {
        { 0, "link 3: 0x00000001 0x00000002 at 0x4c000 of tile 0 of chip 2, expected the header" },
        { 4096, "link 3: 0x00000000 0x00000000 at 0x4d000" },
        { 28, "link 3: 0x00000000 0x00000000 at 0x4c01c" }, /* half of it in the segment */
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        struct image *im = sample_two_chips();
        uint32_t b = im->arch.mem_base;
        struct sample_file f;
        struct image *back;

        OK(image_add_tile(im, &(struct image_tile){ .chip = 2, .entry = b },
                          (struct image_segment[]){ { b, 32, 1 } }, 1));
        OK(image_add_link(im, &(struct image_link){ 2, 0, b + bad[i].at, 0 }));
        f = sample_write(im);
        refused(ss_image_read_bytes(f.data, f.bytes, "hostile", &back), bad[i].why);
        free(f.data);
        ss_image_free(im);
    }
    assert_int_equal(alloc_live(), 0);
}

/* ---- files ---- */

static struct sample_part *part_of(struct sample_parts *p, uint32_t type)
{
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->part[i].type == type)
            return &p->part[i];
    }
    fail_msg("no such section");
    return NULL;
}

static struct sample_parts take_two_apart(void)
{
    struct image *im = sample_two_chips(), *back;
    struct sample_file f = sample_write(im);
    struct sample_parts p;

    OK(ss_image_read_bytes(f.data, f.bytes, "sample", &back));
    assert_true(sample_same(im, back));
    assert_int_equal(sample_take_apart(f.data, f.bytes, 1 << 20, &p), 1);
    ss_image_free(im);
    ss_image_free(back);
    free(f.data);
    return p;
}

static void test_hostile_numbers_are_refused(void **state)
{
    static const struct {
        uint32_t type, at, value;
        const char *why;
    } bad[] = {
        { IMAGE_STRM, 84, 0, "section STRM item 1: stream 5 of chip 0: expected every" },
        { IMAGE_STRM, 84, 4096, "item 1: stream 5: chip 4096, expected one below 4" },
        { IMAGE_ZONE, 8, 9, "section ZONE item 1: zone 9: expected 3 to 7" },
        { IMAGE_ZONE, 8, 3, "item 1: zone 3, expected more than 3" },
        { IMAGE_ZONE, 16, 16, "item 2: zone 16" },
        { IMAGE_ZONE, 4, 0, "item 0: zone 3: scope 0" },
        { IMAGE_ZONE, 4, 6, "item 0: zone 3: scope 6" },
        { IMAGE_TILE, 48, 4096, "section TILE item 1: tile 2 of chip 4096" },
        { IMAGE_TILE, 48, 2, "section CHAN item 0: channel forward: part 1: tile 2 of chip 1" },
        { IMAGE_CHAN, 0, -1u, "section CHAN: 56 bytes, expected those of 4294967295 channels" },
        { IMAGE_CHAN, 4, -1u, "of 1 channels and 4294967295 parts" },
        { IMAGE_CHAN, 8, 3, "item 0: channel 0: name 3" },
        { IMAGE_CHAN, 12, 3, "item 0: 3 parts, expected at most the 2 left" },
        { IMAGE_CHAN, 12, 1, "item 0: channel forward: 8 bytes are sent, 0 received" },
        { IMAGE_CHAN, 16, 1, "part 0: tile 1 of chip 1 takes no part" },
        { IMAGE_CHAN, 20, 2, "part 0: receives 2" },
        { IMAGE_CHAN, 24, 3, "part 0: tile 3 of chip 0 takes no part" },
        { IMAGE_CHAN, 28, -4u, "part 0: 8 bytes at 0xfffffffc, expected words of memory" },
        { IMAGE_CHAN, 32, 1 << 30, "part 0: 1073741824 bytes" },
        { IMAGE_CHAN, 32, 12, "12 bytes are sent, 8 received" },
        { IMAGE_LINK, 0, 2, "section LINK item 0: link 0: tile 1 of chip 2 takes no part" },
        { IMAGE_LINK, 4, 4, "item 0: link 0: tile 4 of chip 0 takes no part" },
        { IMAGE_LINK, 8, -8u, "item 0: link 0: at 0xfffffff8 of tile 1" },
        { IMAGE_LINK, 12, 4, "item 0: link 0: replica 4" },
        { IMAGE_LINK, 24, 0x4c008, "item 1: link 1: at 0x4c008 of tile 1" },
        { IMAGE_LINK, 24, 0x4c0fc,
          "section LINK item 1: link 1: 0x00000000 0x00000000 at 0x4c0fc" },
    };
    struct sample_parts p = take_two_apart();

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        struct sample_part *s = part_of(&p, bad[i].type);
        struct sample_file f;
        struct image *im;
        uint32_t was;

        assert_true(bad[i].at + 4 <= s->bytes);
        memcpy(&was, s->data + bad[i].at, 4);
        memcpy(s->data + bad[i].at, &bad[i].value, 4);
        f = sample_seal(&p);
        refused(ss_image_read_bytes(f.data, f.bytes, "hostile", &im), bad[i].why);
        free(f.data);
        memcpy(s->data + bad[i].at, &was, 4);
    }
    sample_parts_free(&p);
    assert_int_equal(alloc_live(), 0);
}

/* Numbers are left out of what the timing engine reads, but not those with headers among them. */
static void test_headers_are_no_numbers(void **state)
{
    struct image *im = sample_two_chips(), *back;
    struct image_range range = { im->arch.mem_base, 4096, 0, 0 };
    struct image_tile t = { .chip = 1, .entry = im->arch.mem_base };
    uint32_t word[4] = { 7, 7 }, blob[2], bytes;
    struct sample_file f;

    (void)state;
    link_header_pack(&(struct link_header){ 1, 2, im->arch.mem_base, 1 }, word + 2);
    OK(image_string(im, "constant", &range.category));
    OK(image_map(im, &range, 1, &t.map));
    OK(image_blob(im, word, sizeof(word), &blob[0]));
    OK(image_blob(im, word, 8, &blob[1]));
    for (uint32_t i = 0; i < 2; i++) {
        t.tile = 2 + i + (i == 0);
        OK(image_add_tile(im, &t, (struct image_segment[]){ { range.addr, 16 - 8 * i, blob[i] } },
                          1));
        t.chip = 3;
    }
    OK(image_add_link(im, &(struct image_link){ 1, 3, range.addr + 8, 0 }));
    OK(image_add_note_text(im, IMAGE_NOTE_NUMBERS, "constant"));
    f = sample_write(im);
    OK(ss_image_read_bytes_for_timing(f.data, f.bytes, "memory", &back));
    assert_false(bytes_are_zero(image_blob_bytes(back, blob[0], &bytes), 16));
    assert_true(bytes_are_zero(image_blob_bytes(back, blob[1], &bytes), 8));
    ss_image_free(back);
    ss_image_free(im);
    free(f.data);
    assert_int_equal(alloc_live(), 0);
}

/* A file that was read is one that can be written and loaded, whatever it says. */
static void try_file(const struct sample_file *f, unsigned *read)
{
    struct image *im;

    if (ss_image_read_bytes(f->data, f->bytes, "flipped", &im) != EMU_OK) {
        assert_null(im);
        return;
    }
    for (uint32_t chip = 0; chip < image_chip_count(im); chip++) {
        struct machine *m = machine_of(im);
        enum emu_status s = image_load_chip(im, chip, 0, m);

        assert_true(s == EMU_OK || s == EMU_BAD_IMAGE);
        machine_free(m);
    }
    ss_image_free(im);
    ++*read;
}

/* Each bit of each byte of a section, with right checksums. The machine is JSON, which test_arch.c
 * damages. */
static void test_flipped_bits_are_refused_or_harmless(void **state)
{
    struct sample_parts p = take_two_apart();
    unsigned read = 0, tried = 0;

    (void)state;
    for (uint32_t i = 0; i < p.count; i++) {
        struct sample_part *s = &p.part[i];

        for (uint32_t bit = 0; s->type != IMAGE_MACH && bit < 8 * s->bytes; bit++) {
            struct sample_file f;

            s->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            f = sample_seal(&p);
            try_file(&f, &read);
            free(f.data);
            s->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            tried++;
        }
    }
    sample_parts_free(&p);
    assert_true(tried > 3000 && read > 100 && read < tried / 2);
    assert_int_equal(alloc_live(), 0);
}

/* As they stand in the file: each byte is under a checksum. */
static void test_flipped_bytes_are_refused(void **state)
{
    struct image *im = sample_two_chips();
    struct sample_file f = sample_write(im);
    unsigned read = 0;

    (void)state;
    ss_image_free(im);
    for (size_t i = 0; i < f.bytes; i++) {
        f.data[i] ^= 0xff;
        try_file(&f, &read);
        f.data[i] ^= 0xff;
    }
    assert_int_equal(read, 0);
    free(f.data);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zones_are_checked),
        cmocka_unit_test(test_channels_are_checked),
        cmocka_unit_test(test_links_are_checked),
        cmocka_unit_test(test_streams_belong_to_chips),
        cmocka_unit_test(test_headers_are_completed),
        cmocka_unit_test(test_what_is_no_replica_is_refused),
        cmocka_unit_test(test_links_are_headers),
        cmocka_unit_test(test_hostile_numbers_are_refused),
        cmocka_unit_test(test_headers_are_no_numbers),
        cmocka_unit_test(test_flipped_bits_are_refused_or_harmless),
        cmocka_unit_test(test_flipped_bytes_are_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
