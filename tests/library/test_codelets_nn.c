/* test_codelets_nn.c - codelets of layers of convolutional networks: every share of blocks and
 * positions, bit by bit against the references, cycles equal to the formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>

#include "programs/library/elementwise/positions_ref.h"
#include "tests/fixtures/codelet_rig.h"

static const uint32_t fields[] = { 0, 1, 5, 6, 7, 13, 64, 100 };

static double number_f16(uint16_t h, struct fp_env *env)
{
    uint32_t bits = fp_f16_to_f32(h, env);
    float f;

    memcpy(&f, &bits, 4);
    return f;
}

/* ---- x [blocks][f][16] with one or two operands [blocks][16] ---- */

static void positions_call(struct codelet_rig *rig, struct codelet_case *c, uint32_t blocks,
                           uint32_t f)
{
    for (unsigned i = 0; i < rig->codelet->fields; i++) {
        const struct codelet_field *field = &rig->codelet->field[i];

        c->elements[i] = strcmp(field->name, "x") ? 16 * blocks : 16 * blocks * f;
        c->phase[i] = c->seed >> i & 1 ? 8 : 0;
        c->value[i] = strcmp(field->name, "blocks") ? f : blocks;
    }
    codelet_rig_call(rig, c);
    assert_int_equal(rig->cycles, rig->formula);
}

static void positions_all(const char *name)
{
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("positions", 1);

    for (unsigned i = 0; i < 4 * EMU_COUNT_OF(fields); i++) {
        c.seed++;
        c.layout = (enum rig_layout)(i % RIG_LAYOUTS);
        positions_call(rig, &c, i / EMU_COUNT_OF(fields), fields[i % EMU_COUNT_OF(fields)]);
    }
    for (uint32_t blocks = 4; blocks < 20; blocks++) {
        c.seed++;
        positions_call(rig, &c, blocks, 1 + blocks * 7 % 5);
    }
    positions_call(rig, &c, 1, 1001);
    for (unsigned i = 0; i < 60; i++) {
        uint64_t draw = (i + 1) * 0x9e3779b97f4a7c15u;

        c.seed++;
        c.layout = (enum rig_layout)(i % RIG_LAYOUTS);
        positions_call(rig, &c, 1 + (uint32_t)(draw >> 56) % 9, 1 + (uint32_t)(draw >> 40) % 40);
    }
    codelet_rig_free(rig);
}

static void test_positions(void **state)
{
    (void)state;
    positions_all("bias_f16");
    positions_all("bias_relu_f16");
    positions_all("bias_swish_f16");
    positions_all("bias_sigmoid_f16");
    positions_all("scale_f16");
    positions_all("scale_shift_f16");
    positions_all("scale_shift_relu_f16");
    positions_all("scale_shift_swish_f16");
}

/* The error of swish for every f16, as positions.inc states it. */
static void test_swish_error(void **state)
{
    const struct codelet *swish = codelet_find("bias_swish_f16");
    struct fp_env env = { 0 };

    (void)state;
    for (uint32_t h = 0; h < 0x10000; h += 16) {
        uint16_t x[16], bias[16] = { 0 };
        struct codelet_call call = { .arg = { { .data = x }, { .data = bias } } };

        call.arg[2].value = call.arg[3].value = 1;
        for (uint32_t i = 0; i < 16; i++)
            x[i] = (uint16_t)(h + i);
        if ((h & 0x7c00) == 0x7c00)
            continue;
        swish->ref(&call);
        for (uint32_t i = 0; i < 16; i++) {
            double z = number_f16((uint16_t)(h + i), &env), y = number_f16(x[i], &env);

            assert_true(fabs(y - z / (1 + exp(-z))) <= fabs(z) * 1.61 * 0x1p-11 + 0x1p-24);
        }
    }
}

/* ---- sums over positions ---- */

static void sums_call(struct codelet_rig *rig, struct codelet_case *c, uint32_t blocks, uint32_t f)
{
    for (unsigned i = 0; i < rig->codelet->fields; i++) {
        const struct codelet_field *field = &rig->codelet->field[i];

        c->elements[i] = !strcmp(field->name, "x")         ? 16 * blocks * f
                         : !strcmp(field->name, "scratch") ? 16 * blocks * rig->arch.workers
                                                           : 16 * blocks;
        c->phase[i] = field->align == 8 && c->seed >> i & 1 ? 8 : 0;
        c->value[i] = strcmp(field->name, "blocks") ? f : blocks;
    }
    c->slack = f < 32 * (blocks + 1) ? 0 : 2 * (rig->arch.workers - 1);
    codelet_rig_call(rig, c);
}

static void sums_all(const char *name)
{
    static const uint32_t many[] = { 63, 65, 95, 96, 127, 128, 129, 160, 289, 301 };
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("sums", 1);

    for (unsigned i = 0; i < 4 * EMU_COUNT_OF(fields); i++) {
        c.seed++;
        c.layout = (enum rig_layout)(i % RIG_LAYOUTS);
        c.tame = c.seed % 2;
        sums_call(rig, &c, i / EMU_COUNT_OF(fields), fields[i % EMU_COUNT_OF(fields)]);
    }
    for (uint32_t blocks = 4; blocks < 20; blocks++) {
        c.seed++;
        sums_call(rig, &c, blocks, 1 + blocks * 7 % 5);
    }
    for (unsigned i = 0; i < 3 * EMU_COUNT_OF(many); i++) {
        c.seed++;
        c.tame = c.seed % 2;
        sums_call(rig, &c, i / EMU_COUNT_OF(many) * 2 + 1, many[i % EMU_COUNT_OF(many)]);
    }
    codelet_rig_free(rig);
}

static void test_sums(void **state)
{
    (void)state;
    sums_all("pool_f16");
    sums_all("stats_f16");
}

/* ---- reduce_bias ---- */

static void reduce_all(const char *name)
{
    static const uint32_t partials[] = { 1, 2, 3, 4, 8, 17 };
    static const uint32_t positions[] = { 0, 1, 2, 3, 4, 5, 6, 7, 13, 24, 64, 100 };
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("reduce", 1);

    for (unsigned i = 0; i < EMU_COUNT_OF(partials) * EMU_COUNT_OF(positions); i++) {
        uint32_t p = partials[i / EMU_COUNT_OF(positions)];
        uint32_t n = 16 * positions[i % EMU_COUNT_OF(positions)];

        c.seed++;
        c.layout = (enum rig_layout)(i % RIG_LAYOUTS);
        c.elements[0] = p * n;
        c.elements[1] = 16;
        c.elements[2] = n;
        c.phase[1] = c.seed % 2 * 8;
        c.phase[2] = c.seed / 2 % 2 * 8;
        c.value[4] = p;
        codelet_rig_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    codelet_rig_free(rig);
}

static void test_reduce_bias(void **state)
{
    (void)state;
    reduce_all("reduce_bias_f16");
    reduce_all("reduce_bias_relu_f16");
    reduce_all("reduce_bias_swish_f16");
    reduce_all("reduce_bias_f32");
    reduce_all("reduce_bias_relu_f32");
    reduce_all("reduce_bias_swish_f32");
}

/* ---- add_relu ---- */

static void test_add_relu(void **state)
{
    static const uint32_t sizes[] = { 0, 1, 2, 3, 4, 5, 7, 16, 25, 96, 191, 192, 193, 255, 1600 };
    const struct elementwise e = { ELEMENTWISE_BINARY, 4, 2, { 0 }, 2, { 0 } };
    struct codelet_rig *rig = codelet_rig_new("mk2", "add_relu_f16");
    struct codelet_case c = codelet_case("elements", 1);

    (void)state;
    for (unsigned i = 0; i < 6 * EMU_COUNT_OF(sizes); i++) {
        uint32_t n = sizes[i / 6];
        enum elementwise_place place;

        c.seed++;
        c.layout = (enum rig_layout)(i % RIG_LAYOUTS);
        c.elements[0] = c.elements[1] = n;
        c.phase[0] = i / 3 % 2 * 8;
        c.same[1] = i % 6 == 5;
        codelet_rig_call(rig, &c);
        place =
            elementwise_place(&rig->arch, &e, codelet_rig_at(rig, 0), codelet_rig_at(rig, 1), n, 0);
        assert_int_equal(rig->cycles, add_relu_cycles_at(&rig->arch, n, place));
    }
    codelet_rig_free(rig);
}

/* ---- maxpool ---- */

struct maxpool_shape {
    uint32_t blocks, ho, wo, k, stride, more; /* more: rows and columns of x that no window needs */
};

static void test_maxpool(void **state)
{
    static const struct maxpool_shape shapes[] = {
        { .blocks = 0, .ho = 3, .wo = 3, .k = 3, .stride = 2 },
        { .blocks = 1, .ho = 0, .wo = 3, .k = 3, .stride = 2 },
        { .blocks = 1, .ho = 3, .wo = 0, .k = 3, .stride = 2 },
        { .blocks = 1, .ho = 1, .wo = 1, .k = 3, .stride = 2 },
        { .blocks = 1, .ho = 1, .wo = 5, .k = 3, .stride = 2, .more = 1 },
        { .blocks = 1, .ho = 5, .wo = 1, .k = 3, .stride = 2 },
        { .blocks = 3, .ho = 1, .wo = 1, .k = 2, .stride = 2 },
        { .blocks = 9, .ho = 1, .wo = 1, .k = 3, .stride = 1, .more = 1 },
        { .blocks = 1, .ho = 2, .wo = 3, .k = 3, .stride = 2 },
        { .blocks = 2, .ho = 2, .wo = 3, .k = 3, .stride = 2, .more = 1 },
        { .blocks = 3, .ho = 4, .wo = 4, .k = 3, .stride = 2 },
        { .blocks = 1, .ho = 7, .wo = 8, .k = 3, .stride = 2, .more = 2 },
        { .blocks = 2, .ho = 5, .wo = 7, .k = 2, .stride = 2 },
        { .blocks = 2, .ho = 5, .wo = 7, .k = 1, .stride = 1 },
        { .blocks = 2, .ho = 5, .wo = 7, .k = 5, .stride = 1, .more = 3 },
        { .blocks = 1, .ho = 3, .wo = 40, .k = 3, .stride = 2 },
        { .blocks = 4, .ho = 9, .wo = 2, .k = 2, .stride = 3 },
        { .blocks = 7, .ho = 2, .wo = 2, .k = 3, .stride = 3, .more = 1 },
    };
    struct codelet_rig *rig = codelet_rig_new("mk2", "maxpool_f16");
    struct codelet_case c = codelet_case("windows", 1);

    (void)state;
    for (unsigned i = 0; i < 3 * EMU_COUNT_OF(shapes); i++) {
        const struct maxpool_shape *s = &shapes[i / 3];
        uint32_t hp = (s->ho - 1) * s->stride + s->k + s->more;
        uint32_t wp = (s->wo - 1) * s->stride + s->k + s->more;
        const uint32_t value[] = { s->blocks, s->ho, s->wo, hp, wp, s->k, s->stride };

        c.seed++;
        c.layout = (enum rig_layout)(i % RIG_LAYOUTS);
        memcpy(c.value + 2, value, sizeof(value));
        c.elements[0] = s->ho && s->wo ? s->blocks * hp * wp * 16 : 0;
        c.elements[1] = s->blocks * s->ho * s->wo * 16;
        c.phase[0] = c.seed % 2 * 8;
        c.phase[1] = c.seed / 2 % 2 * 8;
        codelet_rig_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    codelet_rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions), cmocka_unit_test(test_swish_error),
        cmocka_unit_test(test_sums),      cmocka_unit_test(test_reduce_bias),
        cmocka_unit_test(test_add_relu),  cmocka_unit_test(test_maxpool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
