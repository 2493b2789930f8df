/* test_codelets_softmax.c - argmax, the pieces of softmax on one tile and over several; bit by bit
 * against the references, cycles against the formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "programs/library/kernel/codelet_ref.h"
#include "tests/fixtures/kernel_fixture.h"

static const uint32_t sizes[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,   9,   10,  11,  12,   13,  16,
                                  23, 24, 25, 26, 47, 48, 49, 96, 100, 101, 250, 256, 1001, 2400 };

/* Turns seed, layout and tameness. */
static void next_case(struct codelet_case *c)
{
    c->seed++;
    c->layout = (enum kernel_layout)(c->seed % LAYOUTS);
    c->tame = c->seed / LAYOUTS % 2;
}

/* ---- argmax ---- */

enum { MOST = 3000, KINDS = 5 };

struct values {
    uint16_t f16[MOST];
    uint32_t f32[MOST];
};

/* Kind 2: few different values; 3: no number; 4: the last one of n is the largest. */
static void fill_values(struct values *v, uint32_t n, uint32_t kind)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = kind == 2 ? (i * 2654435761u >> 20) % 5 : i + 1 == n;

        v->f16[i] = kind == 3 ? FP_F16_NAN : (uint16_t)(0x3c00 + k);
        v->f32[i] = kind == 3 ? FP_F32_NAN : FP_F32_ONE + (k << 13);
    }
}

static void argmax_all(const char *name, const void *data, struct values *v)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("argmax", 1);
    int final = !strcmp(name, "argmax_final");

    for (uint32_t i = 0; i < 130 * KINDS; i++) {
        uint32_t n = i / KINDS < 100 ? i / KINDS : i / KINDS * 23, kind = i % KINDS;

        next_case(&c);
        fill_values(v, n, kind);
        c.data[argmax__x] = kind < 2 ? NULL : data;
        c.phase[argmax__x] = i % 2 * 8;
        c.elements[argmax__x] = n;
        if (final) { /* its values are where the other one has x */
            c.elements[argmax_final__index] = n;
            c.elements[argmax_final__best_value] = 1;
            c.elements[argmax_final__best_index] = 1;
        } else {
            c.elements[argmax__value] = rig->arch.workers;
            c.elements[argmax__index] = rig->arch.workers;
            c.value[argmax__base] = 1000;
        }
        kernel_fixture_call(rig, &c);
        /* One worker searches to its end; where in the last vector it finds makes the difference.
         */
        if (kind == 4 && n == 29 * 23 * 4 && !final)
            assert_true(rig->cycles + 8 * rig->arch.workers >= rig->formula);
    }
    kernel_fixture_free(rig);
}

static void test_argmax(void **state)
{
    struct values *v = calloc(1, sizeof(*v));

    (void)state;
    argmax_all("argmax_f16", v->f16, v);
    argmax_all("argmax_f32", v->f32, v);
    argmax_all("argmax_final", v->f32, v);
    free(v);
}

/* ---- pieces of softmax ---- */

static void piece_all(const char *name, int scalar)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("softmax", 1);
    unsigned x = scalar ? score__x : unary__x, y = scalar ? score__y : unary__y;

    for (size_t i = 0; i < 4 * EMU_COUNT_OF(sizes); i++) {
        next_case(&c);
        c.elements[x] = c.elements[y] = sizes[i / 4];
        c.phase[x] = i % 2 * 8;
        if (scalar) {
            c.elements[score__by] = 1;
            c.phase[score__by] = i % 4 * 4;
        }
        c.same[y] = i % 4 == 3;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles,
                         strcmp(name, "mul_by_f32")
                             ? rig->formula
                             : mul_by_f32_cycles_at(&rig->call, kernel_fixture_at(rig, x),
                                                    kernel_fixture_at(rig, y)));
    }
    kernel_fixture_free(rig);
}

static void test_softmax_pieces(void **state)
{
    (void)state;
    piece_all("exp_sub_f16", 1);
    piece_all("exp_sub_f32", 1);
    piece_all("mul_by_f16", 1);
    piece_all("mul_by_f32", 1);
    piece_all("reciprocal_f32", 0);
}

/* ---- classes on several tiles ---- */

static void softmax_all(const char *name, uint32_t field, uint32_t other, uint32_t least)
{
    static const uint32_t vectors[] = { 1, 2, 5, 6, 7, 12, 13, 42 };
    static const uint32_t others[] = { 1, 2, 3, 13, 78 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("softmax", 1);

    for (unsigned i = 0; i < EMU_COUNT_OF(vectors) * EMU_COUNT_OF(others); i++) {
        uint32_t n = 4 * vectors[i / EMU_COUNT_OF(others)];

        c.seed++;
        c.layout = (enum kernel_layout)(i % LAYOUTS);
        c.tame = c.seed % 4 != 0;
        for (unsigned k = softmax_exp__x; k < softmax_exp__sum; k++)
            c.elements[k] = n;
        c.elements[softmax_exp__sum] = rig->arch.workers;
        if (other)
            c.elements[other] = least * others[i % EMU_COUNT_OF(others)];
        c.phase[softmax_exp__x] = c.seed % 2 * 8;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    c.elements[softmax_exp__x] = c.elements[field] = 0;
    if (other)
        kernel_fixture_call(rig, &c);
    kernel_fixture_free(rig);
}

static void test_softmax(void **state)
{
    (void)state;
    softmax_all("softmax_max_f16", softmax_max__out, 0, 0);
    softmax_all("softmax_exp_f16", softmax_exp__y, softmax_exp__max, 2);
    softmax_all("softmax_scale_f32", softmax_scale__y, softmax_scale__sums, 4);
    softmax_all("softmax_scale_f32", softmax_scale__y, softmax_scale__sums, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_argmax),
        cmocka_unit_test(test_softmax_pieces),
        cmocka_unit_test(test_softmax),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
