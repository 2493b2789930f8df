/* test_image_memory.c - images without memory: whichever allocation fails, in the builder or in the
 * files, it is an error, and nothing is left behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emu/base/alloc.h"
#include "tests/fixtures/image_fixture.h"

static void test_every_allocation_of_the_builder_fails_once(void **state)
{
    static uint8_t data[300][40];
    const struct arch *a = ss_arch_preset("toy16");
    struct image *im;
    long n;

    (void)state;
    for (n = 0;; n++) {
        alloc_test_fail_at(n);
        if (image_new(a, &im) == EMU_OK)
            break;
        assert_null(im);
        assert_int_equal(alloc_live(), 0);
    }
    alloc_test_fail_at(-1);
    assert_in_range(n, 10, 20);
    /* enough of everything that all arrays and indices grow; a failure changes nothing */
    for (uint32_t i = 0; i < 300; i++) {
        struct image_segment s[2] = { { a->mem_base + 40, 40, 0 }, { a->mem_base, 40, 0 } };
        struct image_range r = { a->mem_base + i, 1, 1, 0 };
        struct image_symbol y = { a->mem_base + i, 1, 1 };
        struct image_line l = { a->mem_base + i, 1, 1 };
        uint32_t id[5];
        char text[8];

        snprintf(text, sizeof(text), "s%u", i);
        memcpy(data[i], &i, sizeof(i));
        data[i][20] = 1;
        for (n = 0;; n++) {
            struct image_tile t = { .tile = i, .entry = a->mem_base };
            size_t before = im->text.items + im->blob.items + im->map.items + im->symbols.items +
                            im->lines.items + im->tiles + im->segments + im->streams + im->scopes +
                            im->owners;
            uint64_t blob_bytes = im->blob_bytes;
            struct image_stream x = { .id = i, .depth = 1 };
            struct image_scope k = { i + 1, i };
            struct image_owner o = { i + 1, i + 1 };
            enum emu_status st;

            alloc_test_fail_at(n);
            if ((st = image_string(im, text, &id[0])) == EMU_OK &&
                (st = image_blob(im, data[i], 40, &id[1])) == EMU_OK &&
                (st = image_map(im, &r, 1, &id[2])) == EMU_OK &&
                (st = image_symbols(im, &y, 1, &id[3])) == EMU_OK &&
                (st = image_lines(im, &l, 1, &id[4])) == EMU_OK) {
                s[0].blob = s[1].blob = id[1];
                if (i < 16 && !image_find_tile(im, 0, i))
                    st = image_add_tile(im, &t, s, 2);
                if (st == EMU_OK && im->streams == i)
                    st = image_add_stream(im, &x);
                if (st == EMU_OK && im->scopes == i)
                    st = image_add_scope(im, &k);
                if (st == EMU_OK && im->owners == i)
                    st = image_add_owner(im, &o);
            }
            alloc_test_fail_at(-1);
            if (st == EMU_OK)
                break;
            assert_int_equal(st, EMU_NO_MEMORY);
            assert_true(im->text.items + im->blob.items + im->map.items + im->symbols.items +
                            im->lines.items + im->tiles + im->segments + im->streams + im->scopes +
                            im->owners <=
                        before + 9);
            assert_true(im->blob_bytes - blob_bytes <= 40);
        }
        for (int k = 0; k < 5; k++)
            assert_int_equal(id[k], i + 1);
    }
    assert_int_equal(im->segments, 32);
    assert_int_equal(im->streams, 300);
    assert_int_equal(im->scopes, 300);
    assert_int_equal(im->owners, 300);
    assert_true(im->blob_bytes == 300 * 40);
    ss_image_free(im);
    assert_int_equal(alloc_live(), 0);
}

static void test_every_allocation_of_the_files_fails_once(void **state)
{
    struct image *im = sample_image(4), *back;
    struct sample_file f = sample_write(im);
    long n, live = alloc_live();

    (void)state;
    for (n = 0;; n++) {
        enum emu_status s;

        alloc_test_fail_at(n);
        s = ss_image_read_bytes(f.data, f.bytes, "memory", &back);
        alloc_test_fail_at(-1);
        if (s == EMU_OK)
            break;
        assert_int_equal(s, EMU_NO_MEMORY);
        assert_null(back);
        assert_int_equal(alloc_live(), live);
    }
    assert_in_range(n, 30, 100);
    assert_true(sample_same(im, back));
    ss_image_free(back);
    for (n = 0;; n++) {
        int fd = memfd_create("image", 0);
        enum emu_status s;

        alloc_test_fail_at(n);
        s = image_write_fd(im, fd, "memory");
        alloc_test_fail_at(-1);
        close(fd);
        assert_int_equal(alloc_live(), live);
        if (s == EMU_OK)
            break;
        assert_int_equal(s, EMU_NO_MEMORY);
    }
    assert_true(n > 5);
    ss_image_free(im);
    free(f.data);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_of_the_builder_fails_once),
        cmocka_unit_test(test_every_allocation_of_the_files_fails_once),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
