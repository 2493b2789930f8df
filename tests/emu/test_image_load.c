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
    const struct arch *a = image_arch(im);

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
    const struct arch *a = image_arch(im);
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

        for (uint32_t chip = 0; chip < 2; chip++) {
            struct machine *m = new_machine(image_arch(im));

            OK(image_load_chip(im, chip, m));
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
        image_free(im);
    }
    assert_true(loaded > 500);
    assert_int_equal(alloc_live(), 0);
}

static void test_other_machines_are_refused(void **state)
{
    struct image *im = sample_small(), *two = sample_image(1);
    struct arch other = *image_arch(im);
    struct machine *m;

    (void)state;
    other.sync_chip_cycles++;
    m = new_machine(&other);
    assert_int_equal(image_load(im, m), EMU_BAD_IMAGE);
    assert_non_null(strstr(emu_error(), "sync_chip_cycles"));
    assert_false(machine_tile_used(m, 1));
    machine_free(m);
    m = new_machine(image_arch(im));
    OK(image_load(im, m));
    assert_int_equal(image_load(im, m), EMU_BAD_IMAGE);
    assert_non_null(strstr(emu_error(), "new machine"));
    machine_free(m);
    m = new_machine(image_arch(two));
    assert_int_equal(image_load(two, m), EMU_BAD_IMAGE);
    assert_non_null(strstr(emu_error(), "chip 1"));
    machine_free(m);
    image_free(im);
    image_free(two);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs_arrive),
        cmocka_unit_test(test_other_machines_are_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
