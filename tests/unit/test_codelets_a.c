/* test_codelets_a.c - fill, copy, cast, binary, axpy, unary and the helpers of control flow: every
 * size and place that matters, bit by bit against the references, cycles against the formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "programs/codelets/codelet_ref.h"
#include "tests/unit/codelet_rig.h"

static const uint32_t sizes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 23, 24, 25, 47, 49, 64, 97, 1001, 4099 };

/* ---- fill ---- */

static void fill_all(const char *name, unsigned bits)
{
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("fill", bits);

    for (size_t s = 0; s < EMU_COUNT_OF(sizes); s++) {
        for (c.phase[0] = 0; c.phase[0] < 8; c.phase[0] += bits / 8) {
            uint64_t cycles;

            c.seed++;
            c.elements[0] = sizes[s];
            c.value[1] = bits == 16 ? 0x7c017c01 : (uint32_t)c.seed * 0x9e3779b9;
            cycles = codelet_rig_call(rig, &c);
            assert_int_equal(cycles,
                             fill_cycles_at(&rig->arch, bits, codelet_rig_at(rig, 0), sizes[s]));
        }
    }
    codelet_rig_free(rig);
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
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("copy", bits);

    for (size_t s = 0; s < EMU_COUNT_OF(sizes); s++) {
        for (uint32_t phase = 0; phase < 64; phase++) {
            uint64_t cycles;

            c.phase[0] = phase % 8;
            c.phase[1] = phase / 8;
            if ((c.phase[0] | c.phase[1]) % (bits / 8))
                continue;
            c.seed++;
            c.layout = (enum rig_layout)(c.seed % RIG_LAYOUTS);
            c.elements[0] = c.elements[1] = sizes[s];
            cycles = codelet_rig_call(rig, &c);
            assert_int_equal(cycles, copy_cycles_at(&rig->arch, bits, codelet_rig_at(rig, 0),
                                                    codelet_rig_at(rig, 1), sizes[s]));
        }
    }
    codelet_rig_free(rig);
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

/* Runs of 1 to `longest` elements, with gaps of 0 to 2 elements between; all at multiples of 8 bytes
 * for bits 64. */
static void list_make(struct list_case *l, struct codelet_rig *rig, unsigned bits, uint32_t n,
                      uint32_t longest)
{
    uint32_t unit = bits == 64 ? 4 : bits / 8;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t pad;

        l->run[k] = 1 + rig_random(rig) % longest;
        pad = bits == 64 ? l->run[k] % 2 * 4 : 0;
        l->src_gap[k] = pad + rig_random(rig) % 3 * (bits == 64 ? 8 : unit);
        l->dst_gap[k] = pad + rig_random(rig) % 3 * (bits == 64 ? 8 : unit);
    }
}

static void list_all(const char *name, unsigned bits)
{
    static const uint32_t runs[] = { 0, 1, 2, 5, 6, 7, 12, 13, 30, 64, 699 };
    static const uint32_t longest[] = { 1, 2, 5, 40 };
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct list_case *l = calloc(1, sizeof(*l));
    struct codelet_case c = codelet_case("list", bits);

    c.run[0] = c.run[1] = l->run;
    c.gap[0] = l->src_gap;
    c.gap[1] = l->dst_gap;
    for (unsigned i = 0; i < 8 * EMU_COUNT_OF(runs) * EMU_COUNT_OF(longest); i++) {
        uint32_t n = runs[i / 8 % EMU_COUNT_OF(runs)], unit = bits / 8;
        uint64_t cycles;

        c.seed++;
        c.layout = (enum rig_layout)(i % RIG_LAYOUTS);
        c.phase[0] = i % 8 / unit * unit;
        c.phase[1] = c.seed * 5 % 8 / unit * unit;
        list_make(l, rig, bits, n, longest[i / 8 / EMU_COUNT_OF(runs)]);
        c.elements[0] = c.elements[1] = n;
        cycles = codelet_rig_call(rig, &c);
        for (uint32_t k = 0; k < n; k++) {
            l->src[k] = rig->field[0].run[k].at;
            l->dst[k] = rig->field[1].run[k].at;
        }
        assert_int_equal(cycles,
                         copy_list_cycles_at(&rig->arch, bits, l->src, l->dst, l->run, n));
    }
    free(l);
    codelet_rig_free(rig);
}

static void test_copy_list(void **state)
{
    (void)state;
    list_all("copy_list_64", 64);
    list_all("copy_list_32", 32);
    list_all("copy_list_16", 16);
    list_all("copy_list_8", 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_copy_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
