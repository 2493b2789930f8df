/* test_codelets_elementwise.c - unary, binary, cast, axpy, a number per channel, the helpers of
 * control flow: every size and place that matters, bit by bit against the references, cycles
 * against the formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>

#include "emu/base/random.h"
#include "programs/library/elementwise/elementwise_ref.h"
#include "programs/library/elementwise/positions_ref.h"
#include "programs/library/kernel/fields.h"
#include "tests/fixtures/kernel_fixture.h"

static const uint32_t sizes[] = { 0,  1,  2,  3,  4,  5,   6,   7,   8,   11,  13,  23,   24,  25,
                                  47, 49, 64, 96, 97, 144, 150, 192, 193, 217, 251, 1001, 4099 };

/* ---- unary, binary, cast ---- */

enum { NONE = -1 };

/* Fields of a row by what they are, or NONE. */
struct element_fields {
    int in, second, scalar, out, same; /* same: the edge that is read and written */
};

static struct element_fields element_fields(const struct elementwise *e)
{
    switch (e->kind) {
    case ELEMENTWISE_SCALAR:
        return (struct element_fields){
            .in = scalar__a, .second = NONE, .scalar = scalar__b, .out = scalar__out, .same = NONE
        };
    case ELEMENTWISE_BINARY:
        return (struct element_fields){
            .in = binary__a, .second = binary__b, .scalar = NONE, .out = binary__out, .same = NONE
        };
    case ELEMENTWISE_CHANNEL:
        return (struct element_fields){ .in = channel__a,
                                        .second = channel__b,
                                        .scalar = NONE,
                                        .out = channel__out,
                                        .same = NONE };
    case ELEMENTWISE_INPLACE:
        return (struct element_fields){
            .in = inplace__a, .second = inplace__b, .scalar = NONE, .out = NONE, .same = inplace__a
        };
    case ELEMENTWISE_AXPY:
        return (struct element_fields){
            .in = axpy__y, .second = axpy__x, .scalar = axpy__a, .out = NONE, .same = axpy__y
        };
    default:
        return (struct element_fields){
            .in = unary__x, .second = NONE, .scalar = NONE, .out = unary__y, .same = NONE
        };
    }
}

/* The cycles are those of the formula for where the edges lie. */
static void element_call(struct kernel_fixture *rig, const struct codelet_case *c,
                         const struct elementwise *e, const struct element_fields *f,
                         uint32_t channels)
{
    uint64_t cycles = kernel_fixture_call(rig, c);
    int two = e->kind >= ELEMENTWISE_BINARY && e->kind <= ELEMENTWISE_AXPY;
    unsigned other = two ? (unsigned)f->second : (unsigned)f->out;
    enum elementwise_place place =
        elementwise_place(&rig->arch, e, kernel_fixture_at(rig, (unsigned)f->in),
                          kernel_fixture_at(rig, other), c->elements[f->in], channels);

    assert_int_equal(cycles,
                     elementwise_cycles_at(&rig->arch, e, c->elements[f->in], channels, place));
}

static void element_all(const char *name)
{
    const struct elementwise *e = elementwise_find(codelet_find(name));
    struct element_fields f = element_fields(e);
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("elements", 1);

    for (unsigned i = 0; i < 4 * EMU_COUNT_OF(sizes); i++) {
        uint32_t n = sizes[i / 4];

        c.seed++;
        c.layout = (enum kernel_layout)(i % LAYOUTS);
        for (unsigned k = 0; k < 3; k++)
            c.elements[k] = n;
        memset(c.same, 0, sizeof(c.same));
        /* Every fourth time in place, where the row allows it. */
        if (i % 4 == 3 && f.out >= 0 && strstr(rig->codelet->text, "may be"))
            c.same[f.out] = (uint8_t)(1 + (f.second >= 0 ? c.seed % 8 / 4 : 0));
        if (f.scalar >= 0) {
            rig->random = c.seed;
            c.value[f.scalar] = e->width == 4 ? kernel_random_f16(rig, i % 4) * 0x10001u
                                              : kernel_random_f32(rig, i % 4);
        }
        element_call(rig, &c, e, &f, 0);
    }
    if (f.out < 0) {
        c.layout = LAYOUT_FAR0;
        c.elements[0] = c.elements[1] = c.elements[2] = 251;
        element_call(rig, &c, e, &f, 0);
    }
    kernel_fixture_free(rig);
}

static void test_elements(void **state)
{
    (void)state;
    for (unsigned i = 0; i < codelet_count; i++) {
        const struct elementwise *e = elementwise_find(&codelet_table[i]);

        if (e && e->kind != ELEMENTWISE_CHANNEL)
            element_all(codelet_table[i].name);
    }
}

/* Every f16, every byte, all at once. */
static void test_all_f16(void **state)
{
    static const char *const names[] = { "relu_f16", "sigmoid_f16", "swish_f16", "tanh_f16",
                                         "exp_f16",  "sqrt_f16",    "rsqrt_f16", "cast_f16_f32" };
    uint16_t *values = calloc(0x10000, 2);

    (void)state;
    for (uint32_t i = 0; i < 0x10000; i++)
        values[i] = (uint16_t)i;
    for (size_t k = 0; k < EMU_COUNT_OF(names); k++) {
        struct kernel_fixture *rig = kernel_fixture_new("mk2", names[k]);
        struct codelet_case c = codelet_case("every f16", 1);

        c.elements[unary__x] = c.elements[unary__y] = 0x8000;
        c.layout = LAYOUT_NEAR1;
        for (unsigned half = 0; half < 2; half++) {
            c.data[unary__x] = values + 0x8000 * half;
            kernel_fixture_call(rig, &c);
        }
        kernel_fixture_free(rig);
    }
    free(values);
}

static void test_channels(void **state)
{
    static const uint32_t shape[][2] = { /* rows, vectors of a row */
                                         { 0, 1 },   { 1, 1 },   { 1, 7 },   { 5, 1 },   { 6, 2 },
                                         { 7, 3 },   { 4, 4 },   { 30, 4 },  { 31, 4 },  { 29, 1 },
                                         { 100, 2 }, { 12, 12 }, { 3, 13 },  { 64, 16 }, { 2, 520 },
                                         { 6, 520 }, { 25, 11 }, { 1000, 1 }
    };

    (void)state;
    for (unsigned i = 0; i < codelet_count; i++) {
        const struct elementwise *e = elementwise_find(&codelet_table[i]);
        struct codelet_case c = codelet_case("channels", i);
        struct element_fields f;
        struct kernel_fixture *rig;

        if (!e || e->kind != ELEMENTWISE_CHANNEL)
            continue;
        f = element_fields(e);
        rig = kernel_fixture_new("mk2", codelet_table[i].name);
        for (unsigned k = 0; k < 4 * EMU_COUNT_OF(shape); k++) {
            c.seed++;
            c.layout = (enum kernel_layout)(k % LAYOUTS);
            c.elements[channel__b] = shape[k / 4][1] * e->width;
            c.elements[channel__a] = c.elements[channel__out] =
                shape[k / 4][0] * c.elements[channel__b];
            c.same[channel__out] = k % 4 == 3;
            element_call(rig, &c, e, &f, c.elements[channel__b]);
        }
        kernel_fixture_free(rig);
    }
}

/* The code asks the machine for what it needs to know. */
static void test_machines(void **state)
{
    static const char *const machines[] = { "mk1", "bow", "toy4" };
    static const char *const names[] = { "fill_u8",         "copy_8",          "copy_64",
                                         "add_inplace_f16", "axpy_f32",        "swish_f16",
                                         "cast_u8_f16",     "mul_channel_f16", "relu_f32" };

    (void)state;
    for (size_t m = 0; m < EMU_COUNT_OF(machines); m++) {
        for (size_t i = 0; i < EMU_COUNT_OF(names); i++) {
            struct kernel_fixture *rig = kernel_fixture_new(machines[m], names[i]);
            struct codelet_case c = codelet_case(machines[m], m);

            for (unsigned k = 0; k < rig->codelet->fields; k++)
                c.elements[k] = 480;
            if (!strcmp(names[i], "mul_channel_f16"))
                c.elements[channel__b] = 32;
            for (c.layout = LAYOUT_NEAR0; c.layout <= LAYOUT_NEAR1; c.layout++)
                kernel_fixture_call(rig, &c);
            kernel_fixture_free(rig);
        }
    }
}

/* ---- control flow ---- */

static void test_control(void **state)
{
    static const uint32_t value[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "add_scalar_i32");
    struct codelet_case c = codelet_case("add", 1);

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(sizes); i++) {
        c.seed++;
        c.elements[add_scalar_i32__x] = sizes[i];
        c.phase[add_scalar_i32__x] = i % 2 * 4;
        c.value[add_scalar_i32__b] = value[i % EMU_COUNT_OF(value)];
        kernel_fixture_call(rig, &c);
    }
    kernel_fixture_free(rig);
    rig = kernel_fixture_new("mk2", "less_scalar_u32");
    c = codelet_case("less", 1);
    c.elements[less_scalar_u32__a] = c.elements[less_scalar_u32__out] = 1;
    for (size_t i = 0; i < EMU_COUNT_OF(value) * EMU_COUNT_OF(value); i++) {
        c.data[less_scalar_u32__a] = &value[i % EMU_COUNT_OF(value)];
        c.value[less_scalar_u32__b] = value[i / EMU_COUNT_OF(value)];
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    kernel_fixture_free(rig);
}

/* ---- x [blocks][f][16] with one or two operands [blocks][16] ---- */

static const uint32_t fields[] = { 0, 1, 5, 6, 7, 13, 64, 100 };

static double number_f16(uint16_t h, struct fp_env *env)
{
    uint32_t bits = fp_f16_to_f32(h, env);
    float f;

    memcpy(&f, &bits, 4);
    return f;
}

static void positions_call(struct kernel_fixture *rig, struct codelet_case *c, uint32_t blocks,
                           uint32_t f)
{
    for (unsigned i = 0; i < rig->codelet->fields; i++) {
        const struct codelet_field *field = &rig->codelet->field[i];

        c->elements[i] = strcmp(field->name, "x") ? 16 * blocks : 16 * blocks * f;
        c->phase[i] = c->seed >> i & 1 ? 8 : 0;
        c->value[i] = strcmp(field->name, "blocks") ? f : blocks;
    }
    kernel_fixture_call(rig, c);
    assert_int_equal(rig->cycles, rig->formula);
}

static void positions_all(const char *name)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("positions", 1);
    uint64_t seed = 1;

    for (unsigned i = 0; i < 4 * EMU_COUNT_OF(fields); i++) {
        c.seed++;
        c.layout = (enum kernel_layout)(i % LAYOUTS);
        positions_call(rig, &c, i / EMU_COUNT_OF(fields), fields[i % EMU_COUNT_OF(fields)]);
    }
    for (uint32_t blocks = 4; blocks < 20; blocks++) {
        c.seed++;
        positions_call(rig, &c, blocks, 1 + blocks * 7 % 5);
    }
    positions_call(rig, &c, 1, 1001);
    for (unsigned i = 0; i < 60; i++) {
        uint32_t blocks = 1 + random_below(&seed, 9), positions = 1 + random_below(&seed, 40);

        c.seed++;
        c.layout = (enum kernel_layout)(i % LAYOUTS);
        positions_call(rig, &c, blocks, positions);
    }
    kernel_fixture_free(rig);
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
        struct codelet_call call = { .arg = { [bias__x].data = x, [bias__bias].data = bias } };

        call.arg[bias__blocks].value = call.arg[bias__f].value = 1;
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

/* ---- add_relu ---- */

static void test_add_relu(void **state)
{
    static const uint32_t lengths[] = { 0, 1, 2, 3, 4, 5, 7, 16, 25, 96, 191, 192, 193, 255, 1600 };
    const struct elementwise e = { ELEMENTWISE_BINARY, 4, 2, { 0 }, 2, { 0 } };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "add_relu_f16");
    struct codelet_case c = codelet_case("elements", 1);

    (void)state;
    for (unsigned i = 0; i < 6 * EMU_COUNT_OF(lengths); i++) {
        uint32_t n = lengths[i / 6];
        enum elementwise_place place;

        c.seed++;
        c.layout = (enum kernel_layout)(i % LAYOUTS);
        c.elements[inplace__a] = c.elements[inplace__b] = n;
        c.phase[inplace__a] = i / 3 % 2 * 8;
        c.same[inplace__b] = i % 6 == 5;
        kernel_fixture_call(rig, &c);
        place = elementwise_place(&rig->arch, &e, kernel_fixture_at(rig, inplace__a),
                                  kernel_fixture_at(rig, inplace__b), n, 0);
        assert_int_equal(rig->cycles, add_relu_cycles_at(&rig->arch, n, place));
    }
    kernel_fixture_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements),    cmocka_unit_test(test_all_f16),
        cmocka_unit_test(test_channels),    cmocka_unit_test(test_machines),
        cmocka_unit_test(test_control),     cmocka_unit_test(test_positions),
        cmocka_unit_test(test_swish_error), cmocka_unit_test(test_add_relu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
