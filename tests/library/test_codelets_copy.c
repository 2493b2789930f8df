/* test_codelets_copy.c - fill, copy, copy_list and transposes: every size and place that matters,
 * bit by bit against the references, cycles against the formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "programs/library/kernel/codelet_ref.h"
#include "tests/fixtures/kernel_fixture.h"

static const uint32_t sizes[] = { 0,  1,  2,  3,  4,  5,   6,   7,   8,   11,  13,  23,   24,  25,
                                  47, 49, 64, 96, 97, 144, 150, 192, 193, 217, 251, 1001, 4099 };

/* Turns seed, layout and tameness. */
static void next_case(struct codelet_case *c)
{
    c->seed++;
    c->layout = (enum kernel_layout)(c->seed % LAYOUTS);
    c->tame = c->seed / LAYOUTS % 2;
}

/* ---- fill ---- */

static void fill_all(const char *name, unsigned bits)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("fill", bits);

    for (size_t s = 0; s < EMU_COUNT_OF(sizes); s++) {
        for (c.phase[fill__out] = 0; c.phase[fill__out] < 8; c.phase[fill__out] += bits / 8) {
            uint64_t cycles;

            c.seed++;
            c.elements[fill__out] = sizes[s];
            c.value[fill__value] = bits == 16 ? 0x7c017c01 : (uint32_t)c.seed * 0x9e3779b9;
            cycles = kernel_fixture_call(rig, &c);
            assert_int_equal(cycles, fill_cycles_at(&rig->arch, bits,
                                                    kernel_fixture_at(rig, fill__out), sizes[s]));
        }
    }
    kernel_fixture_free(rig);
}

static void test_fill(void **state)
{
    (void)state;
    fill_all("fill_u8", 8);
    fill_all("fill_f16", 16);
    fill_all("fill_f32", 32);
}

/* ---- copy ---- */

static void copy_all(const char *name, unsigned bits)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("copy", bits);

    for (size_t s = 0; s < EMU_COUNT_OF(sizes); s++) {
        for (uint32_t phase = 0; phase < 64; phase++) {
            uint64_t cycles;

            c.phase[copy__src] = phase % 8;
            c.phase[copy__dst] = phase / 8;
            if ((c.phase[copy__src] | c.phase[copy__dst]) % (bits / 8))
                continue;
            c.seed++;
            c.phase[copy__dst] += c.seed / LAYOUTS % 2 * 8;
            c.layout = (enum kernel_layout)(c.seed % LAYOUTS);
            c.elements[copy__src] = c.elements[copy__dst] = sizes[s];
            cycles = kernel_fixture_call(rig, &c);
            assert_int_equal(cycles,
                             copy_cycles_at(&rig->arch, bits, kernel_fixture_at(rig, copy__src),
                                            kernel_fixture_at(rig, copy__dst), sizes[s]));
        }
    }
    kernel_fixture_free(rig);
}

static void test_copy(void **state)
{
    (void)state;
    copy_all("copy_64", 64);
    copy_all("copy_32", 32);
    copy_all("copy_16", 16);
    copy_all("copy_8", 8);
}

/* ---- copy_list ---- */

enum { LIST_MOST = 700 };

struct list_case {
    uint32_t run[LIST_MOST], src_gap[LIST_MOST], dst_gap[LIST_MOST];
    uint32_t src[LIST_MOST], dst[LIST_MOST];
};

/* Runs of 1 to `longest` elements, with gaps of 0 to 2 elements between; all at multiples of 8
 * bytes for bits 64. */
static void list_make(struct list_case *l, struct kernel_fixture *rig, unsigned bits, uint32_t n,
                      uint32_t longest)
{
    uint32_t unit = bits == 64 ? 4 : bits / 8;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t pad;

        l->run[k] = 1 + kernel_random(rig) % longest;
        pad = bits == 64 ? l->run[k] % 2 * 4 : 0;
        l->src_gap[k] = pad + kernel_random(rig) % 3 * (bits == 64 ? 8 : unit);
        l->dst_gap[k] = pad + kernel_random(rig) % 3 * (bits == 64 ? 8 : unit);
    }
}

static void list_all(const char *name, unsigned bits)
{
    static const uint32_t runs[] = { 0, 1, 2, 5, 6, 7, 12, 13, 30, 64, 699 };
    static const uint32_t longest[] = { 1, 2, 5, 40 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct list_case *l = calloc(1, sizeof(*l));
    struct codelet_case c = codelet_case("list", bits);

    c.run[copy_list__src] = c.run[copy_list__dst] = l->run;
    c.gap[copy_list__src] = l->src_gap;
    c.gap[copy_list__dst] = l->dst_gap;
    for (unsigned i = 0; i < 8 * EMU_COUNT_OF(runs) * EMU_COUNT_OF(longest); i++) {
        uint32_t n = runs[i / 8 % EMU_COUNT_OF(runs)], unit = bits / 8;
        uint64_t cycles;

        c.seed++;
        c.layout = (enum kernel_layout)(i % LAYOUTS);
        c.phase[copy_list__src] = i % 8 / unit * unit;
        c.phase[copy_list__dst] = c.seed * 5 % 8 / unit * unit;
        list_make(l, rig, bits, n, longest[i / 8 / EMU_COUNT_OF(runs)]);
        c.elements[copy_list__src] = c.elements[copy_list__dst] = n;
        cycles = kernel_fixture_call(rig, &c);
        for (uint32_t k = 0; k < n; k++) {
            l->src[k] = rig->field[copy_list__src].run[k].at;
            l->dst[k] = rig->field[copy_list__dst].run[k].at;
        }
        assert_int_equal(cycles, copy_list_cycles_at(&rig->arch, bits, l->src, l->dst, l->run, n));
    }
    free(l);
    kernel_fixture_free(rig);
}

static void test_copy_list(void **state)
{
    (void)state;
    list_all("copy_list_64", 64);
    list_all("copy_list_32", 32);
    list_all("copy_list_16", 16);
    list_all("copy_list_8", 8);
}

/* ---- rows by number ---- */

static void rows_all(const char *name, uint32_t vector)
{
    static const uint32_t vectors[] = { 0, 1, 2, 5, 6, 7, 11, 12, 13, 100 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("row", 1);

    for (uint32_t i = 0; i < 4 * EMU_COUNT_OF(vectors); i++) {
        uint32_t n = vectors[i / 4] * vector, rows = 1 + i % 4 * 3, at = i % 4 * 2;

        next_case(&c);
        c.elements[row_get__row] = n;
        c.elements[row_get__rows] = rows * n;
        c.elements[row_get__at] = 1;
        c.data[row_get__at] = &at;
        c.phase[row_get__rows] = i % 2 * 8;
        c.phase[row_get__row] = i / 2 % 2 * 8;
        c.phase[row_get__at] = i % 3 * 4;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    kernel_fixture_free(rig);
}

static void test_rows(void **state)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "row_next");
    struct codelet_case c = codelet_case("next", 1);

    (void)state;
    rows_all("row_get_f16", 4);
    rows_all("row_get_f32", 2);
    rows_all("row_put_f16", 4);
    rows_all("row_put_f32", 2);
    c.elements[row_next__at] = 1;
    for (uint32_t at = 0; at < 5; at++) {
        c.data[row_next__at] = &at;
        c.value[row_next__rows] = 5;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    kernel_fixture_free(rig);
}

/* ---- transposes ---- */

static void test_transpose16(void **state)
{
    static const uint32_t blocks[] = { 0, 1, 2, 5, 6, 7, 11, 12, 13, 24, 50 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "transpose16_f16");
    struct codelet_case c = codelet_case("transpose16", 1);

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(blocks); i++) {
        next_case(&c);
        c.elements[transpose16__x] = c.elements[transpose16__y] = blocks[i] * 256;
        c.value[transpose16__blocks] = blocks[i];
        c.phase[transpose16__x] = i % 2 * 8;
        c.phase[transpose16__y] = i / 2 % 2 * 8;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    kernel_fixture_free(rig);
}

/* Blocks that begin where others do, that overlap, and in any order. */
static void test_transpose16_at(void **state)
{
    static const uint32_t blocks[] = { 0, 1, 2, 5, 6, 7, 11, 12, 13, 24, 50 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "transpose16_at_f16");
    struct codelet_case c = codelet_case("transpose16_at", 1);
    uint32_t at[50], places = 4096 / 16 - 15; /* of rows of 16 that are followed by 15 others */

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(blocks); i++) {
        next_case(&c);
        for (uint32_t b = 0; b < blocks[i]; b++)
            at[b] = (b * 67 + (uint32_t)i * 11) % places * 32;
        c.elements[transpose16_at__x] = 4096;
        c.elements[transpose16_at__y] = blocks[i] * 256;
        c.elements[transpose16_at__at] = blocks[i];
        c.data[transpose16_at__at] = at;
        c.value[transpose16_at__blocks] = blocks[i];
        c.phase[transpose16_at__x] = i % 2 * 8;
        c.phase[transpose16_at__y] = i / 2 % 2 * 8;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    kernel_fixture_free(rig);
}

static void transpose_all(const char *name, uint32_t bytes)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("transpose", 1);

    for (uint32_t i = 0; i < 16 * 27; i++) {
        uint32_t rows = i % 16, cols = i / 16;

        next_case(&c);
        rows = rows == 15 ? 77 : rows;
        c.elements[transpose__x] = c.elements[transpose__y] = rows * cols;
        c.value[transpose__rows] = rows;
        c.value[transpose__cols] = cols;
        c.phase[transpose__x] = i % 4 * bytes;
        c.phase[transpose__y] = i / 4 % 2 * 4;
        kernel_fixture_call(rig, &c);
        assert_int_equal(
            rig->cycles,
            bytes == 2 ? rig->formula
                       : transpose_32_cycles_at(&rig->call, kernel_fixture_at(rig, transpose__y)));
    }
    kernel_fixture_free(rig);
}

static void test_transpose(void **state)
{
    (void)state;
    transpose_all("transpose_16", 2);
    transpose_all("transpose_f16", 2);
    transpose_all("transpose_32", 4);
    transpose_all("transpose_f32", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill),           cmocka_unit_test(test_copy),
        cmocka_unit_test(test_copy_list),      cmocka_unit_test(test_transpose16),
        cmocka_unit_test(test_transpose16_at), cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
