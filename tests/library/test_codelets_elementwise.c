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
    int scalar2;                       /* the other one; 0: there is none */
};

static struct element_fields element_fields(const struct elementwise *e)
{
    switch (e->kind) {
    case ELEMENTWISE_SCALAR:
    case ELEMENTWISE_FUNCTION_SCALAR:
        return (struct element_fields){
            .in = scalar__a, .second = NONE, .scalar = scalar__b, .out = scalar__out, .same = NONE
        };
    case ELEMENTWISE_SCALARS:
        return (struct element_fields){ .in = scalars__x,
                                        .second = NONE,
                                        .scalar = scalars__p,
                                        .out = scalars__y,
                                        .same = NONE,
                                        .scalar2 = scalars__q };
    case ELEMENTWISE_SELECT:
        return (struct element_fields){ .in = select__cond,
                                        .second = select__a,
                                        .scalar = NONE,
                                        .out = select__out,
                                        .same = NONE };
    case ELEMENTWISE_BINARY:
    case ELEMENTWISE_FUNCTION2:
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

static uint32_t random_scalar(struct kernel_fixture *rig, const struct elementwise *e, int tame)
{
    return e->width == 4 ? kernel_random_f16(rig, tame) * 0x10001u : kernel_random_f32(rig, tame);
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
        for (unsigned k = 0; k < 4; k++)
            c.elements[k] = n;
        memset(c.same, 0, sizeof(c.same));
        /* Every fourth time in place, where the row allows it. */
        if (i % 4 == 3 && f.out >= 0 && strstr(rig->codelet->text, "may be"))
            c.same[f.out] = (uint8_t)(1 + (f.second >= 0 ? c.seed % 8 / 4 : 0));
        if (f.scalar >= 0) {
            rig->random = c.seed;
            c.value[f.scalar] = random_scalar(rig, e, i % 4);
            c.value[f.scalar2 ? f.scalar2 : f.scalar] = random_scalar(rig, e, i % 4);
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
    static const char *const names[] = {
        "relu_f16",  "sigmoid_f16",    "swish_f16",    "tanh_f16", "exp_f16",        "sqrt_f16",
        "rsqrt_f16", "cast_f16_f32",   "abs_f16",      "log_f16",  "reciprocal_f16", "floor_f16",
        "ceil_f16",  "round_f16",      "sign_f16",     "erf_f16",  "gelu_f16",       "sin_f16",
        "cos_f16",   "hard_swish_f16", "cast_f16_i32",
    };
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

        int whole = !strcmp(field->name, "x") || !strcmp(field->name, "y");

        c->elements[i] = whole ? 16 * blocks * f : 16 * blocks;
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
    positions_all("affine_f16");
    positions_all("affine_relu_f16");
    positions_all("affine_swish_f16");
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

/* ---- how good functions are that are made of polynomials ---- */

/* A codelet of one f32 on one number, by its reference. */
static double of_f32(const char *name, double number)
{
    float x = (float)number, y;
    struct codelet_call call = { .arg = { [unary__x].data = &x, [unary__y].data = &y } };

    call.arg[unary__n].value = 1;
    codelet_find(name)->ref(&call);
    return (double)y;
}

static double pow_f32(double number, double power)
{
    float x = (float)number, y = (float)power, z;
    struct codelet_call call = {
        .arg = { [binary__a].data = &x, [binary__b].data = &y, [binary__out].data = &z }
    };

    call.arg[binary__n].value = 1;
    codelet_find("pow_f32")->ref(&call);
    return (double)z;
}

static void near(const char *what, double x, double got, double want, double bound)
{
    if (!(fabs(got - want) <= bound))
        fail_msg("%s of %.9g: %.9g, expected %.9g", what, x, got, want);
}

static void test_function_errors(void **state)
{
    (void)state;
    for (int i = -70000; i <= 70000; i++) {
        double x = (double)(float)(i * 1e-4), whole = (double)(float)(i * 0.7);

        near("erf", x, of_f32("erf_f32", x), erf(x), 5e-7);
        near("gelu", x, of_f32("gelu_f32", x), x * (1 + erf(x * M_SQRT1_2)) / 2,
             5e-7 * fmax(fabs(x), 1));
        near("sin", x, of_f32("sin_f32", x), sin(x), 1e-6);
        near("cos", x, of_f32("cos_f32", x), cos(x), 1e-6);
        near("sin", whole, of_f32("sin_f32", whole), sin(whole), 2e-6);
        near("cos", whole, of_f32("cos_f32", whole), cos(whole), 2e-6);
    }
    for (double x = 1e4; x < 1e38; x *= 3) { /* where the polynomial grows beyond f32 */
        near("erf", x, of_f32("erf_f32", x), 1, 0);
        near("erf", -x, of_f32("erf_f32", -x), -1, 0);
        near("gelu", x, of_f32("gelu_f32", x), (double)(float)x, 0);
        near("gelu", -x, of_f32("gelu_f32", -x), 0, 0);
    }
}

/* Of every f16 that is a number. */
static void test_gelu_f16(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 0x10000; i++) {
        uint16_t bits = (uint16_t)i, y;
        struct codelet_call call = { .arg = { [unary__x].data = &bits, [unary__y].data = &y } };
        double x = fp_f16_value(bits);

        if ((bits & 0x7c00) == 0x7c00)
            continue;
        call.arg[unary__n].value = 1;
        codelet_find("gelu_f16")->ref(&call);
        near("gelu", x, fp_f16_value(y), x * erfc(-x * M_SQRT1_2) / 2, fabs(x) * 0x1p-10 + 0x1p-24);
    }
}

/* Of every f16 that is a number: units of 2^-11, the largest where the sigmoid is 1 less one bit;
 * of what activations mostly are about two, and errors that cancel. */
static void test_swish_slope_f16(void **state)
{
    double sum = 0;
    unsigned n = 0;

    (void)state;
    for (uint32_t i = 0; i < 0x10000; i++) {
        uint16_t bits = (uint16_t)i, one = 0x3c00, y;
        struct codelet_call call = {
            .arg = { [binary__a].data = &bits, [binary__b].data = &one, [binary__out].data = &y }
        };
        double a = fp_f16_value(bits), s = 1 / (1 + exp(-a)), want = s * (1 + a * (1 - s));

        if ((bits & 0x7c00) == 0x7c00)
            continue;
        call.arg[binary__n].value = 1;
        codelet_find("swish_slope_f16")->ref(&call);
        near("slope of swish", a, fp_f16_value(y), want, (fabs(a) < 2 ? 2.1 : 3.7) * 0x1p-11);
        if (fabs(a) < 4 && fabs(a) > 0x1p-8) {
            sum += fp_f16_value(y) - want;
            n++;
        }
    }
    assert_true(fabs(sum) < n * 0x1p-16);
}

/* Three roundings of every f16 at most, and errors that cancel: a network has dozens of these in a
 * row. */
static void test_hard_swish_f16(void **state)
{
    double sum = 0;
    unsigned n = 0;

    (void)state;
    for (uint32_t i = 0; i < 0x10000; i++) {
        uint16_t bits = (uint16_t)i, y;
        struct codelet_call call = { .arg = { [unary__x].data = &bits, [unary__y].data = &y } };
        double x = fp_f16_value(bits), want = x * fmin(fmax(x + 3, 0), 6) / 6;

        if ((bits & 0x7c00) == 0x7c00)
            continue;
        call.arg[unary__n].value = 1;
        codelet_find("hard_swish_f16")->ref(&call);
        near("hard_swish", x, fp_f16_value(y), want, fabs(want) * 3.02 * 0x1p-11 + 0x1p-24);
        if (fabs(x) < 3 && fabs(x) > 0x1p-8) {
            sum += (fp_f16_value(y) - want) / want;
            n++;
        }
    }
    assert_true(fabs(sum / n) < 0x1p-15);
}

static void test_pow(void **state)
{
    static const double special[][3] = {
        { -2, 3, -8 },
        { -2, 2, 4 },
        { -2, -1, -0.5 },
        { -2, 0, 1 },
        { 0, 0, 1 },
        { NAN, 0, 1 },
        { INFINITY, 0, 1 },
        { 0, 2, 0 },
        { 0, -1, INFINITY },
        { INFINITY, -1, 0 },
        { INFINITY, 0.5, INFINITY },
        { 1, 5, 1 },
        { -1, 16777217 * 2.0, 1 },
        { 0.5, INFINITY, 0 },
        { 2, -INFINITY, 0 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(special); i++) {
        if (pow_f32(special[i][0], special[i][1]) != special[i][2])
            fail_msg("%g to the power of %g", special[i][0], special[i][1]);
    }
    assert_true(isnan(pow_f32(-2, 0.5)) && isnan(pow_f32(-2, NAN)) && isnan(pow_f32(NAN, 2)));
    for (int i = -180; i <= 180; i++) {
        for (int k = -40; k <= 40; k++) {
            double x = (double)(float)exp(i * 0.4), y = (double)(float)(k * 0.37), want = pow(x, y);

            if (want > 1e-37 && want < 3e38)
                near("pow", x, pow_f32(x, y), want, 1.2e-5 * want);
            want = pow(-x, k);
            if (fabs(want) > 1e-37 && fabs(want) < 3e38)
                near("pow", -x, pow_f32(-x, k), want, 1.2e-5 * fabs(want));
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

/* ---- the table of cycles ---- */

/* Every row of elementwise.def has one in the table of cycles, or a formula of its own. */
static void test_every_row_has_cycles(void **state)
{
    static const char *const rows[] = {
#define KERNEL(name, ...) #name,
#define STATE(...)
#include "programs/library/elementwise/elementwise.def"
#undef KERNEL
#undef STATE
    };
    static const char *const own[] = { "add_relu_f16", "add_scalar_i32", "less_scalar_u32" };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(rows); i++) {
        const struct codelet *c = codelet_find(rows[i]);
        int has_own = 0;

        assert_non_null(c);
        for (size_t k = 0; k < EMU_COUNT_OF(own); k++)
            has_own = has_own || !strcmp(rows[i], own[k]);
        if ((elementwise_find(c) != NULL) == has_own)
            fail_msg("%s: a row of elementwise_table[] (elementwise_ref.c), or a formula of its own"
                     " that this test knows",
                     rows[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_has_cycles),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_all_f16),
        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_machines),
        cmocka_unit_test(test_control),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_swish_error),
        cmocka_unit_test(test_add_relu),
        cmocka_unit_test(test_function_errors),
        cmocka_unit_test(test_gelu_f16),
        cmocka_unit_test(test_swish_slope_f16),
        cmocka_unit_test(test_hard_swish_f16),
        cmocka_unit_test(test_pow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
