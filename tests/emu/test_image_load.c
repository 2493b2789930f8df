/* test_image_load.c - programs put into machines: bytes, entries, groups, and which memory is left
 * untouched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emu/base/alloc.h"
#include "emu/bsp/machine.h"
#include "emu/bsp/replay.h"
#include "tests/fixtures/image_fixture.h"

static struct machine *new_machine(const struct arch *a)
{
    const struct machine_options o = { .threads = 1 };
    struct machine *m;

    OK(machine_new(a, &o, &m));
    return m;
}

/* What the host wrote when the image was made; touched: by page. */
static void put_inputs(const struct image *im, const struct image_tile *t, uint8_t *want,
                       uint8_t *touched)
{
    const struct arch *a = ss_image_arch(im);

    for (size_t k = 0; k < im->input.parts; k++) {
        const struct image_input_part *p = image_input_part_at(im, k);
        uint32_t at = p->addr - a->mem_base, bytes;
        const uint8_t *data = image_blob_bytes(im, p->blob, &bytes);

        for (uint32_t i = 0; p->blob && p->tile == t->tile && p->chip == t->chip && i < p->bytes;
             i++) {
            want[at + i] = data[i];
            touched[(at + i) >> DIRTY_PAGE_BITS] = 1;
        }
    }
}

/* What the memory of a tile must be, written byte by byte. */
static void check_memory(const struct image *im, const struct image_tile *t, struct tile *have)
{
    const struct arch *a = ss_image_arch(im);
    uint8_t *want = calloc(a->mem_bytes, 1);
    uint8_t *touched = calloc((a->mem_bytes >> DIRTY_PAGE_BITS) + 1, 1);

    for (uint32_t k = 0; k < t->segments; k++) {
        const struct image_segment *s = image_segment_at(im, t->first_segment + k);
        uint32_t bytes;
        const uint8_t *data = image_blob_bytes(im, s->blob, &bytes);

        for (uint32_t i = 0; i < s->bytes; i++)
            want[s->addr - a->mem_base + i] = data[i];
    }
    for (uint32_t p = 0; p < a->mem_bytes >> DIRTY_PAGE_BITS; p++)
        touched[p] = !bytes_are_zero(want + (p << DIRTY_PAGE_BITS), 1 << DIRTY_PAGE_BITS);
    put_inputs(im, t, want, touched);
    assert_memory_equal(want, have->mem, a->mem_bytes);
    for (uint32_t p = 0; p < a->mem_bytes >> DIRTY_PAGE_BITS; p++)
        assert_int_equal(have->dirty[p], touched[p]);
    free(touched);
    free(want);
}

static void test_random_programs_arrive(void **state)
{
    uint32_t loaded = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct image *im = sample_image(seed);

        for (uint32_t of_system = 0; of_system < 2; of_system++) {
            uint32_t chip = of_system % image_chip_count(im);
            struct machine *m = new_machine(ss_image_arch(im));

            OK(image_load_chip(im, chip, of_system - chip, m));
            for (uint32_t i = 0; i < 16; i++) {
                const struct image_tile *t = image_find_tile(im, chip, i);

                assert_int_equal(machine_tile_used(m, i), t != NULL);
                if (!t)
                    continue;
                check_memory(im, t, machine_tile(m, i));
                assert_int_equal(machine_tile(m, i)->pc[LANE_SUPER], t->entry);
                assert_int_equal(machine_tile_group(m, i), t->group);
                loaded++;
            }
            machine_free(m);
        }
        ss_image_free(im);
    }
    assert_true(loaded > 500);
    assert_int_equal(alloc_live(), 0);
}

static void test_other_machines_are_refused(void **state)
{
    struct image *im = sample_small(), *two = sample_image(1);
    struct arch other = *ss_image_arch(im);
    struct machine *m;

    (void)state;
    other.sync_chip_cycles++;
    m = new_machine(&other);
    assert_int_equal(image_load(im, m), EMU_BAD_IMAGE);
    assert_non_null(strstr(ss_error(), "sync_chip_cycles"));
    assert_false(machine_tile_used(m, 1));
    machine_free(m);
    m = new_machine(ss_image_arch(im));
    OK(image_load(im, m));
    assert_int_equal(image_load(im, m), EMU_BAD_IMAGE);
    assert_non_null(strstr(ss_error(), "new machine"));
    machine_free(m);
    m = new_machine(ss_image_arch(two));
    assert_int_equal(image_load(two, m), EMU_BAD_IMAGE);
    assert_non_null(strstr(ss_error(), "chip 1"));
    machine_free(m);
    ss_image_free(im);
    ss_image_free(two);
    assert_int_equal(alloc_live(), 0);
}

/* ---- for the timing engine ---- */

enum {
    MACHINE_TILES = 4,
    TILES = 3,
    CODE_BYTES = 3 * IMAGE_PAGE_BYTES,
    NUMBER_BYTES = 70 * IMAGE_PAGE_BYTES
};

/* The blob with the numbers of a tile. */
static uint32_t numbers_of(uint32_t tile)
{
    return 2 * tile + 2;
}

/* Code and numbers on each tile; tile 1 has the first numbers of tile 0 as code, too, and some
 * pages of the numbers of tile 2 are its code. */
static struct image *image_with_numbers(const char *note_name)
{
    struct arch a = *ss_arch_preset("mk2");
    static uint8_t code[TILES][CODE_BYTES], number[TILES][NUMBER_BYTES];
    struct image_range range[2] = { { a.mem_base, a.region0_bytes, 0, 0 },
                                    { a.mem_base + a.region0_bytes, NUMBER_BYTES, 0, 0 } };
    struct image_note note;
    uint64_t r = 1;
    struct image *im;
    uint32_t map;

    a.tiles = MACHINE_TILES;
    OK(image_new(&a, &im));
    OK(image_string(im, "vertex code", &range[0].category));
    OK(image_string(im, "constant", &range[1].category));
    OK(image_map(im, range, 2, &map));
    OK(image_string(im, note_name, &note.name));
    OK(image_string(im, "variable,constant", &note.text));
    OK(image_add_note(im, &note));
    for (uint32_t i = 0; i < TILES; i++) {
        struct image_segment s[3] = { { a.mem_base, CODE_BYTES, 0 },
                                      { range[1].addr, NUMBER_BYTES, 0 },
                                      { a.mem_base + CODE_BYTES, CODE_BYTES, 0 } };

        sample_fill(&r, code[i], CODE_BYTES);
        sample_fill(&r, number[i], NUMBER_BYTES);
        memcpy(number[i] + IMAGE_PAGE_BYTES, code[i], i == 2 ? CODE_BYTES : 0);
        OK(image_blob(im, code[i], CODE_BYTES, &s[0].blob));
        OK(image_blob(im, number[i], NUMBER_BYTES, &s[1].blob));
        assert_int_equal(s[1].blob, numbers_of(i));
        s[2].blob = numbers_of(0);
        OK(image_add_tile(im, &(struct image_tile){ .tile = i, .entry = a.mem_base, .map = map }, s,
                          i == 1 ? 3 : 2));
    }
    return im;
}

/* The machine of a timing engine with the image in its memories. */
static struct machine *machine_with(const struct image *im, struct replay **replay)
{
    struct machine_options o = { .threads = 1 };
    struct machine *m;

    OK(replay_new(MACHINE_TILES, replay));
    o.replay = *replay;
    OK(machine_new(ss_image_arch(im), &o, &m));
    OK(image_load(im, m));
    return m;
}

static void expect_same_memories(const struct image *a, const struct image *b)
{
    struct replay *replay[2];
    struct machine *x = machine_with(a, &replay[0]), *y = machine_with(b, &replay[1]);
    uint32_t bytes = ss_image_arch(a)->mem_bytes;

    for (uint32_t i = 0; i < TILES; i++)
        assert_memory_equal(machine_tile(x, i)->mem, machine_tile(y, i)->mem, bytes);
    machine_free(x);
    machine_free(y);
    replay_free(replay[0]);
    replay_free(replay[1]);
}

static void test_numbers_can_be_left_out(void **state)
{
    struct image *im = image_with_numbers(IMAGE_NOTE_NUMBERS), *part;
    struct sample_file f = sample_write(im);
    uint32_t bytes;

    (void)state;
    OK(ss_image_read_bytes_for_timing(f.data, f.bytes, "memory", &part));
    expect_same_memories(im, part);
    for (uint32_t i = 0; i < TILES; i++) {
        const uint8_t *data = image_blob_bytes(part, numbers_of(i), &bytes);

        assert_int_equal(bytes, NUMBER_BYTES);
        assert_int_equal(bytes_are_zero(data, bytes), i != 0);
    }
    ss_image_free(part);
    f.data[f.bytes - 100]++; /* the checksum of what is not unpacked */
    assert_int_equal(ss_image_read_bytes_for_timing(f.data, f.bytes, "memory", &part),
                     EMU_BAD_IMAGE);
    free(f.data);
    ss_image_free(im);
    assert_int_equal(alloc_live(), 0);
}

/* Of a program that the values engine has to run, nothing is left out. */
static void test_numbers_that_are_needed_are_read(void **state)
{
    struct image *im = image_with_numbers(IMAGE_NOTE_DEPENDS), *whole;
    struct sample_file f = sample_write(im);

    (void)state;
    OK(ss_image_read_bytes_for_timing(f.data, f.bytes, "memory", &whole));
    assert_true(sample_same(im, whole));
    ss_image_free(whole);
    free(f.data);
    ss_image_free(im);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs_arrive),
        cmocka_unit_test(test_other_machines_are_refused),
        cmocka_unit_test(test_numbers_can_be_left_out),
        cmocka_unit_test(test_numbers_that_are_needed_are_read),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
