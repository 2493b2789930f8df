/* test_codelets_b.c - matmul, conv1x1, reduce, total, dot, matvec, transpose, argmax and the pieces
 * of softmax: sizes from none to many per worker, places, all kinds of numbers; bit by bit against
 * the references, cycles against the formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "programs/library/kernel/codelet_ref.h"
#include "tests/fixtures/codelet_rig.h"

static const uint32_t sizes[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,   9,   10,  11,  12,   13,  16,
                                  23, 24, 25, 26, 47, 48, 49, 96, 100, 101, 250, 256, 1001, 2400 };

/* Turns seed, layout and tameness. */
static void next_case(struct codelet_case *c)
{
    c->seed++;
    c->layout = (enum rig_layout)(c->seed % RIG_LAYOUTS);
    c->tame = c->seed / RIG_LAYOUTS % 2;
}

/* ---- matmul ---- */

enum { KB = 3, NB, F };

static void matmul_call(struct codelet_rig *rig, struct codelet_case *c, uint32_t kb, uint32_t nb,
                        uint32_t f)
{
    uint32_t workers = rig->arch.workers, units = strstr(rig->codelet->name, "_f32") ? 8 : 16;

    next_case(c);
    c->elements[0] = kb * f * 16;
    c->elements[1] = nb * f * units;
    c->elements[2] = nb * kb * units * 16;
    c->value[KB] = kb;
    c->value[NB] = nb;
    c->value[F] = f;
    /* For every pass: a round that ends early, instructions of the supervisor that hide. */
    c->slack = (kb * nb + 1) * 20;
    codelet_rig_call(rig, c);
    if (f >= 3 * workers && f % workers == 0)
        assert_int_equal(rig->cycles, rig->formula);
}

static void matmul_all(const char *name)
{
    static const uint32_t f[] = { 0, 1, 2, 3, 4, 5, 6, 8, 11, 12, 17, 18, 19, 23, 24, 29, 60 };
    static const uint32_t large[][3] = { { 1, 1, 384 }, { 2, 2, 150 }, { 2, 1, 767 },
                                         { 1, 2, 768 }, { 2, 2, 769 }, { 1, 2, 1518 },
                                         { 2, 1, 1519 } };
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("matmul", 1);

    for (uint32_t i = 0; i < EMU_COUNT_OF(f) * 12; i++) {
        matmul_call(rig, &c, 1 + i % 4, 1 + i / 4 % 3, f[i / 12]);
        c.phase[0] = c.seed % 3 * 8;
        c.phase[1] = c.seed % 5 * 8;
    }
    for (uint32_t i = 0; i < EMU_COUNT_OF(large); i++)
        matmul_call(rig, &c, large[i][0], large[i][1], large[i][2]);
    for (uint32_t i = 0; i < 4; i++)
        matmul_call(rig, &c, i % 2, 0, i / 2 ? 100 : 3);
    matmul_call(rig, &c, 0, 1, 3);
    matmul_call(rig, &c, 0, 1, 100);
    codelet_rig_free(rig);
}

static void test_matmul(void **state)
{
    (void)state;
    matmul_all("matmul_f16");
    matmul_all("matmul_add_f16");
    matmul_all("matmul_f16_f32");
    matmul_all("matmul_add_f16_f32");
}

/* The block product of PopLibs' published conv 1x1 estimate, lowering of f16 partials: what one
 * more block of a call costs, in cycles of the tile. */
static void test_matmul_pass(void **state)
{
    static const uint32_t f[] = { 24, 48, 96, 150, 384, 768 };
    struct codelet_call call = { .arch = arch_preset("mk2") };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(f); i++) {
        uint64_t e = (f[i] + 5) / 6, pass[2], poplibs = 7 + 32 + 6 * (31 + 4 * (e - 3));

        call.arg[NB].value = 1;
        call.arg[F].value = f[i];
        for (uint32_t k = 0; k < 2; k++) {
            call.arg[KB].value = 8 + k;
            pass[k] = matmul_f16_cycles(&call);
        }
        print_message("%4u positions: %llu cycles a block, %.1f %% of the matrix unit\n", f[i],
                      (unsigned long long)(pass[1] - pass[0]),
                      400.0 * f[i] / (double)(pass[1] - pass[0]));
        assert_true(pass[1] - pass[0] < poplibs);
    }
}

static void test_conv1x1(void **state)
{
    struct codelet_rig *rig = codelet_rig_new("mk2", "conv1x1_f16");
    struct codelet_case c = codelet_case("conv1x1", 1);

    (void)state;
    for (uint32_t n = 0; n < 60; n++) {
        next_case(&c);
        c.elements[0] = c.elements[1] = n * 16;
        c.elements[2] = 256;
        c.value[3] = n;
        codelet_rig_call(rig, &c);
    }
    codelet_rig_free(rig);
}

/* ---- sums and maxima ---- */

static void reduce_all(const char *name)
{
    static const uint32_t p[] = { 1, 2, 3, 5, 16, 33 };
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("reduce", 1);

    for (size_t i = 0; i < 3 * (EMU_COUNT_OF(sizes) - 2) * EMU_COUNT_OF(p); i++) {
        uint32_t n = sizes[i / 3 / EMU_COUNT_OF(p)];

        next_case(&c);
        c.value[3] = p[i / 3 % EMU_COUNT_OF(p)];
        c.elements[0] = n * c.value[3];
        c.elements[1] = n;
        c.phase[0] = rig->codelet->field[0].align == 8 ? c.seed / 5 % 2 * 8 : 0;
        c.phase[1] = c.seed % 2 * 8;
        codelet_rig_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    codelet_rig_free(rig);
}

static void test_reduce(void **state)
{
    (void)state;
    reduce_all("reduce_sum_f16_f16");
    reduce_all("reduce_sum_f16_f32");
    reduce_all("reduce_sum_f32_f32");
    reduce_all("reduce_sumsq_f16_f16");
    reduce_all("reduce_sumsq_f16_f32");
    reduce_all("reduce_sumsq_f32_f32");
    reduce_all("reduce_max_f16_f16");
    reduce_all("reduce_max_f16_f32");
    reduce_all("reduce_max_f32_f32");
}

static void total_all(const char *name)
{
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("total", 1);

    c.elements[1] = rig->arch.workers;
    for (uint32_t i = 0; i < 200; i++) {
        uint64_t cycles;

        next_case(&c);
        c.elements[0] = i < 110 ? i : i * 11;
        c.phase[0] = i % 2 * 8;
        c.phase[1] = i % 4 * 4;
        cycles = codelet_rig_call(rig, &c);
        assert_int_equal(cycles, total_cycles_at(&rig->call, rig->codelet, codelet_rig_at(rig, 0)));
    }
    codelet_rig_free(rig);
}

static void test_total(void **state)
{
    (void)state;
    total_all("total_sum_f16");
    total_all("total_sum_f32");
    total_all("total_sumsq_f16");
    total_all("total_sumsq_f32");
    total_all("total_max_f16");
    total_all("total_max_f32");
}

static void dot_all(const char *name)
{
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("dot", 1);

    c.elements[2] = rig->arch.workers;
    for (uint32_t i = 0; i < 120; i++) {
        next_case(&c);
        c.elements[0] = c.elements[1] = i < 80 ? i : i * 13;
        c.phase[0] = i % 2 * 8;
        c.phase[2] = i % 4 * 4;
        codelet_rig_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    codelet_rig_free(rig);
}

static void matvec_all(const char *name, uint32_t unit)
{
    static const uint32_t k[] = { 1, 2, 3, 7, 16, 130 };
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("matvec", 1);

    for (uint32_t i = 0; i < 30 * EMU_COUNT_OF(k); i++) {
        uint32_t m = i / EMU_COUNT_OF(k);

        next_case(&c);
        c.elements[1] = unit * k[i % EMU_COUNT_OF(k)];
        c.elements[2] = m < 26 ? m : m * 3;
        c.elements[0] = c.elements[1] * c.elements[2];
        c.phase[1] = i % 2 * 8;
        c.phase[2] = i % 4 * 4;
        codelet_rig_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    codelet_rig_free(rig);
}

static void test_dot(void **state)
{
    (void)state;
    dot_all("dot_f16");
    dot_all("dot_f32");
    matvec_all("matvec_f16", 4);
    matvec_all("matvec_f32", 2);
}

/* ---- transposes ---- */

static void test_transpose16(void **state)
{
    static const uint32_t blocks[] = { 0, 1, 2, 5, 6, 7, 11, 12, 13, 24, 50 };
    struct codelet_rig *rig = codelet_rig_new("mk2", "transpose16_f16");
    struct codelet_case c = codelet_case("transpose16", 1);

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(blocks); i++) {
        next_case(&c);
        c.elements[0] = c.elements[1] = blocks[i] * 256;
        c.value[2] = blocks[i];
        c.phase[0] = i % 2 * 8;
        c.phase[1] = i / 2 % 2 * 8;
        codelet_rig_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    codelet_rig_free(rig);
}

static void transpose_all(const char *name, uint32_t bytes)
{
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("transpose", 1);

    for (uint32_t i = 0; i < 16 * 27; i++) {
        uint32_t rows = i % 16, cols = i / 16;

        next_case(&c);
        rows = rows == 15 ? 77 : rows;
        c.elements[0] = c.elements[1] = rows * cols;
        c.value[2] = rows;
        c.value[3] = cols;
        c.phase[0] = i % 4 * bytes;
        c.phase[1] = i / 4 % 2 * 4;
        codelet_rig_call(rig, &c);
        assert_int_equal(rig->cycles,
                         bytes == 2 ? rig->formula
                                    : transpose_32_cycles_at(&rig->call, codelet_rig_at(rig, 1)));
    }
    codelet_rig_free(rig);
}

static void test_transpose(void **state)
{
    (void)state;
    transpose_all("transpose_16", 2);
    transpose_all("transpose_f16", 2);
    transpose_all("transpose_32", 4);
    transpose_all("transpose_f32", 4);
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
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("argmax", 1);
    int final = !strcmp(name, "argmax_final");

    for (uint32_t i = 0; i < 130 * KINDS; i++) {
        uint32_t n = i / KINDS < 100 ? i / KINDS : i / KINDS * 23, kind = i % KINDS;

        next_case(&c);
        fill_values(v, n, kind);
        c.data[0] = kind < 2 ? NULL : data;
        c.phase[0] = i % 2 * 8;
        c.elements[0] = n;
        c.elements[1] = final ? n : rig->arch.workers;
        c.elements[2] = final ? 1 : rig->arch.workers;
        c.elements[3] = final;
        c.value[3] = final ? 0 : 1000;
        codelet_rig_call(rig, &c);
        /* One worker searches to its end; where in the last vector it finds makes the difference.
         */
        if (kind == 4 && n == 29 * 23 * 4 && !final)
            assert_true(rig->cycles + 8 * rig->arch.workers >= rig->formula);
    }
    codelet_rig_free(rig);
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

/* ---- softmax ---- */

static void softmax_all(const char *name, int scalar)
{
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("softmax", 1);
    unsigned y = scalar ? 2 : 1;

    for (size_t i = 0; i < 4 * EMU_COUNT_OF(sizes); i++) {
        next_case(&c);
        c.elements[0] = c.elements[y] = sizes[i / 4];
        c.phase[0] = i % 2 * 8;
        if (scalar) {
            c.elements[1] = 1;
            c.phase[1] = i % 4 * 4;
        }
        c.same[y] = i % 4 == 3;
        codelet_rig_call(rig, &c);
        assert_int_equal(rig->cycles, strcmp(name, "mul_by_f32")
                                          ? rig->formula
                                          : mul_by_f32_cycles_at(&rig->call, codelet_rig_at(rig, 0),
                                                                 codelet_rig_at(rig, y)));
    }
    codelet_rig_free(rig);
}

static void test_softmax(void **state)
{
    (void)state;
    softmax_all("exp_sub_f16", 1);
    softmax_all("exp_sub_f32", 1);
    softmax_all("mul_by_f16", 1);
    softmax_all("mul_by_f32", 1);
    softmax_all("reciprocal_f32", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),      cmocka_unit_test(test_matmul_pass),
        cmocka_unit_test(test_conv1x1),     cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_total),       cmocka_unit_test(test_dot),
        cmocka_unit_test(test_transpose16), cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_argmax),      cmocka_unit_test(test_softmax),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
