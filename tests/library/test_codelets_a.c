/* test_codelets_a.c - fill, copy, cast, binary, axpy, unary and the helpers of control flow: every
 * size and place that matters, bit by bit against the references, cycles against the formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "programs/library/elementwise/elementwise_ref.h"
#include "tests/fixtures/codelet_rig.h"

static const uint32_t sizes[] = { 0,  1,  2,  3,  4,  5,   6,   7,   8,   11,  13,  23,   24,  25,
                                  47, 49, 64, 96, 97, 144, 150, 192, 193, 217, 251, 1001, 4099 };

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
            c.phase[1] += c.seed / RIG_LAYOUTS % 2 * 8;
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

/* Runs of 1 to `longest` elements, with gaps of 0 to 2 elements between; all at multiples of 8
 * bytes for bits 64. */
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
        assert_int_equal(cycles, copy_list_cycles_at(&rig->arch, bits, l->src, l->dst, l->run, n));
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

/* ---- unary, binary, cast ---- */

/* Fields of a row by what they are; -1: none. */
struct element_fields {
    int in, second, scalar, out, same; /* same: the edge that is read and written */
};

static struct element_fields element_fields(const struct elementwise *e)
{
    switch (e->kind) {
    case ELEMENTWISE_SCALAR:
        return (struct element_fields){ 0, -1, 1, 2, -1 };
    case ELEMENTWISE_BINARY:
    case ELEMENTWISE_CHANNEL:
        return (struct element_fields){ 0, 1, -1, 2, -1 };
    case ELEMENTWISE_INPLACE:
        return (struct element_fields){ 0, 1, -1, -1, 0 };
    case ELEMENTWISE_AXPY:
        return (struct element_fields){ 2, 1, 0, -1, 2 };
    default:
        return (struct element_fields){ 0, -1, -1, 1, -1 };
    }
}

/* The cycles are those of the formula for where the edges lie. */
static void element_call(struct codelet_rig *rig, const struct codelet_case *c,
                         const struct elementwise *e, const struct element_fields *f,
                         uint32_t channels)
{
    uint64_t cycles = codelet_rig_call(rig, c);
    int two = e->kind >= ELEMENTWISE_BINARY && e->kind <= ELEMENTWISE_AXPY;
    unsigned other = two ? (unsigned)f->second : (unsigned)f->out;
    enum elementwise_place place =
        elementwise_place(&rig->arch, e, codelet_rig_at(rig, (unsigned)f->in),
                          codelet_rig_at(rig, other), c->elements[f->in], channels);

    assert_int_equal(cycles,
                     elementwise_cycles_at(&rig->arch, e, c->elements[f->in], channels, place));
}

static void element_all(const char *name)
{
    const struct elementwise *e = elementwise_find(codelet_find(name));
    struct element_fields f = element_fields(e);
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("elements", 1);

    for (unsigned i = 0; i < 4 * EMU_COUNT_OF(sizes); i++) {
        uint32_t n = sizes[i / 4];

        c.seed++;
        c.layout = (enum rig_layout)(i % RIG_LAYOUTS);
        for (unsigned k = 0; k < 3; k++)
            c.elements[k] = n;
        memset(c.same, 0, sizeof(c.same));
        /* Every fourth time in place, where the row allows it. */
        if (i % 4 == 3 && f.out >= 0 && strstr(rig->codelet->text, "may be"))
            c.same[f.out] = (uint8_t)(1 + (f.second >= 0 ? c.seed % 8 / 4 : 0));
        if (f.scalar >= 0) {
            rig->random = c.seed;
            c.value[f.scalar] =
                e->width == 4 ? rig_random_f16(rig, i % 4) * 0x10001u : rig_random_f32(rig, i % 4);
        }
        element_call(rig, &c, e, &f, 0);
    }
    if (f.out < 0) {
        c.layout = RIG_FAR0;
        c.elements[0] = c.elements[1] = c.elements[2] = 251;
        element_call(rig, &c, e, &f, 0);
    }
    codelet_rig_free(rig);
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
        struct codelet_rig *rig = codelet_rig_new("mk2", names[k]);
        struct codelet_case c = codelet_case("every f16", 1);

        c.elements[0] = c.elements[1] = 0x8000;
        c.layout = RIG_NEAR1;
        for (unsigned half = 0; half < 2; half++) {
            c.data[0] = values + 0x8000 * half;
            codelet_rig_call(rig, &c);
        }
        codelet_rig_free(rig);
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
        struct codelet_rig *rig;

        if (!e || e->kind != ELEMENTWISE_CHANNEL)
            continue;
        f = element_fields(e);
        rig = codelet_rig_new("mk2", codelet_table[i].name);
        for (unsigned k = 0; k < 4 * EMU_COUNT_OF(shape); k++) {
            c.seed++;
            c.layout = (enum rig_layout)(k % RIG_LAYOUTS);
            c.elements[1] = shape[k / 4][1] * e->width;
            c.elements[0] = c.elements[2] = shape[k / 4][0] * c.elements[1];
            c.same[2] = k % 4 == 3;
            element_call(rig, &c, e, &f, c.elements[1]);
        }
        codelet_rig_free(rig);
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
            struct codelet_rig *rig = codelet_rig_new(machines[m], names[i]);
            struct codelet_case c = codelet_case(machines[m], m);

            for (unsigned k = 0; k < rig->codelet->fields; k++)
                c.elements[k] = 480;
            if (!strcmp(names[i], "mul_channel_f16"))
                c.elements[1] = 32;
            for (c.layout = RIG_NEAR0; c.layout <= RIG_NEAR1; c.layout++)
                codelet_rig_call(rig, &c);
            codelet_rig_free(rig);
        }
    }
}

/* ---- control flow ---- */

static void test_control(void **state)
{
    static const uint32_t value[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff };
    struct codelet_rig *rig = codelet_rig_new("mk2", "add_scalar_i32");
    struct codelet_case c = codelet_case("add", 1);

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(sizes); i++) {
        c.seed++;
        c.elements[0] = sizes[i];
        c.phase[0] = i % 2 * 4;
        c.value[1] = value[i % EMU_COUNT_OF(value)];
        codelet_rig_call(rig, &c);
    }
    codelet_rig_free(rig);
    rig = codelet_rig_new("mk2", "less_scalar_u32");
    c = codelet_case("less", 1);
    c.elements[0] = c.elements[2] = 1;
    for (size_t i = 0; i < EMU_COUNT_OF(value) * EMU_COUNT_OF(value); i++) {
        c.data[0] = &value[i % EMU_COUNT_OF(value)];
        c.value[1] = value[i / EMU_COUNT_OF(value)];
        codelet_rig_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    codelet_rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill),      cmocka_unit_test(test_copy),
        cmocka_unit_test(test_copy_list), cmocka_unit_test(test_elements),
        cmocka_unit_test(test_all_f16),   cmocka_unit_test(test_channels),
        cmocka_unit_test(test_machines),  cmocka_unit_test(test_control),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
