/* test_codelets_field.c - what goes over the positions of a field: sums, pools over windows,
 * group norm, stencils, pixels; bit by bit against the references, cycles against the formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "programs/library/kernel/fields.h"
#include "programs/library/pool/pool_window.h"
#include "tests/fixtures/kernel_fixture.h"

/* ---- sums over positions ---- */

static const uint32_t positions[] = { 0, 1, 5, 6, 7, 13, 64, 100 };

static void sums_call(struct kernel_fixture *rig, struct codelet_case *c, uint32_t blocks,
                      uint32_t f)
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
    kernel_fixture_call(rig, c);
}

static void sums_all(const char *name)
{
    static const uint32_t many[] = { 63, 65, 95, 96, 127, 128, 129, 160, 289, 301 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("sums", 1);

    for (unsigned i = 0; i < 4 * EMU_COUNT_OF(positions); i++) {
        c.seed++;
        c.layout = (enum kernel_layout)(i % LAYOUTS);
        c.tame = c.seed % 2;
        sums_call(rig, &c, i / EMU_COUNT_OF(positions), positions[i % EMU_COUNT_OF(positions)]);
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
    kernel_fixture_free(rig);
}

static void test_sums(void **state)
{
    (void)state;
    sums_all("pool_f16");
    sums_all("stats_f16");
}

/* ---- maxima and means of windows ---- */

struct pool_shape {
    uint32_t blocks, ho, wo;
    struct window_axis h, w;
    uint32_t more; /* rows and columns of x that no window needs */
};

#define SQUARE(kernel, stride)                                                                     \
    { kernel, stride, 1, 0 },                                                                      \
    {                                                                                              \
        kernel, stride, 1, 0                                                                       \
    }

static const struct pool_shape pool_shapes[] = {
    { 0, 3, 3, SQUARE(3, 2), 0 },
    { 1, 0, 3, SQUARE(3, 2), 0 },
    { 1, 3, 0, SQUARE(3, 2), 0 },
    { 1, 1, 1, SQUARE(3, 2), 0 },
    { 1, 1, 5, SQUARE(3, 2), 1 },
    { 1, 5, 1, SQUARE(3, 2), 0 },
    { 3, 1, 1, SQUARE(2, 2), 0 },
    { 9, 1, 1, SQUARE(3, 1), 1 },
    { 1, 2, 3, SQUARE(3, 2), 0 },
    { 2, 2, 3, SQUARE(3, 2), 1 },
    { 3, 4, 4, SQUARE(3, 2), 0 },
    { 1, 7, 8, SQUARE(3, 2), 2 },
    { 2, 5, 7, SQUARE(2, 2), 0 },
    { 2, 5, 7, SQUARE(1, 1), 0 },
    { 2, 5, 7, SQUARE(5, 1), 3 },
    { 1, 3, 40, SQUARE(3, 2), 0 },
    { 4, 9, 2, SQUARE(2, 3), 0 },
    { 7, 2, 2, SQUARE(3, 3), 1 },
    { 2, 4, 5, { 1, 1, 1, 0 }, { 7, 2, 1, 0 }, 0 },
    { 3, 5, 2, { 4, 3, 1, 0 }, { 1, 1, 1, 0 }, 1 },
    { 2, 3, 6, { 2, 1, 3, 0 }, { 3, 2, 2, 0 }, 0 },
    { 1, 8, 3, { 3, 1, 2, 0 }, { 2, 4, 5, 0 }, 2 },
};

/* How many positions ho windows span. */
static uint32_t span(const struct window_axis *a, uint32_t out)
{
    return (out - 1) * a->stride + (a->kernel - 1) * a->dilation + 1;
}

static void pool_call(struct kernel_fixture *rig, struct codelet_case *c,
                      const struct pool_shape *s, enum pool_loads loads)
{
    uint32_t hp = span(&s->h, s->ho) + s->more, wp = span(&s->w, s->wo) + s->more;
    struct pool_window p = pool_window_of(&s->h, &s->w, loads, s->ho, s->wo, hp, wp);
    const uint32_t value[] = { s->blocks, s->ho, s->wo,    p.more_h, p.more_w,
                               p.column,  p.row, p.across, p.down,   p.next };

    memcpy(&c->value[maxpool__blocks], value, sizeof(value));
    c->elements[maxpool__x] = s->ho && s->wo ? s->blocks * hp * wp * 16 : 0;
    c->elements[maxpool__y] = s->blocks * s->ho * s->wo * 16;
    c->elements[avgpool__scale] = s->ho * s->wo;
    c->phase[maxpool__x] = loads == POOL_LOADS_MAX ? c->seed % 2 * 8 : 0;
    c->phase[maxpool__y] = c->seed / 2 % 2 * 8;
    kernel_fixture_call(rig, c);
    assert_int_equal(rig->cycles, rig->formula);
}

static void pool_all(const char *name, enum pool_loads loads)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("windows", 1);

    for (unsigned i = 0; i < 3 * EMU_COUNT_OF(pool_shapes); i++) {
        c.seed++;
        c.layout = (enum kernel_layout)(i % LAYOUTS);
        c.tame = c.seed / 4 % 2;
        pool_call(rig, &c, &pool_shapes[i / 3], loads);
    }
    kernel_fixture_free(rig);
}

static void test_pools(void **state)
{
    (void)state;
    pool_all("maxpool_f16", POOL_LOADS_MAX);
    pool_all("avgpool_f16", POOL_LOADS_MEAN);
}

/* ---- group norm: groups begin and end anywhere ---- */

static const uint32_t group_sizes[] = { 1, 2, 3, 5, 6, 8, 12, 16, 17, 28, 100 };

static void norm_case(struct codelet_case *c)
{
    c->seed++;
    c->layout = c->seed % 2 ? LAYOUT_NEAR0 : LAYOUT_NEAR1;
    c->tame = c->seed / 2 % 2;
}

static void test_norm_fold(void **state)
{
    static const uint32_t channels[] = { 1, 2, 16, 31, 48 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "norm_fold_f32");
    struct codelet_case c = codelet_case("fold", 1);

    (void)state;
    for (uint32_t i = 0; i < EMU_COUNT_OF(group_sizes) * EMU_COUNT_OF(channels) * 3; i++) {
        uint32_t each = group_sizes[i / 3 % EMU_COUNT_OF(group_sizes)];
        uint32_t n = channels[i / 3 / EMU_COUNT_OF(group_sizes)];
        uint32_t first = i % 3 * (each - 1) / 2;

        norm_case(&c);
        c.elements[norm_fold__sum] = c.elements[norm_fold__sumsq] = (n + 15) / 16 * 16;
        c.elements[norm_fold__totals] = (first + n + each - 1) / each * 2;
        c.phase[norm_fold__totals] = i % 4 * 4;
        c.value[norm_fold__first] = first;
        c.value[norm_fold__each] = each;
        c.value[norm_fold__channels] = n;
        kernel_fixture_call(rig, &c);
    }
    c.elements[norm_fold__totals] = 0;
    kernel_fixture_call(rig, &c);
    kernel_fixture_free(rig);
}

static void test_norm_params(void **state)
{
    static const uint32_t blocks[] = { 1, 2, 5 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "norm_params_f16");
    struct codelet_case c = codelet_case("params", 1);

    (void)state;
    for (uint32_t i = 0; i < EMU_COUNT_OF(group_sizes) * EMU_COUNT_OF(blocks) * 6; i++) {
        uint32_t each = group_sizes[i / 6 % EMU_COUNT_OF(group_sizes)];
        uint32_t n = blocks[i / 6 / EMU_COUNT_OF(group_sizes)] * 16;
        uint32_t first = i % 3 * (each - 1) / 2, groups = (first + n + each - 1) / each;
        uint32_t p = 1 + i % 5;

        /* Channels after the last group: padding. */
        if (i % 6 > 2 && groups > 1)
            groups--;
        norm_case(&c);
        c.elements[norm_params__totals] = groups * p * 2;
        for (unsigned k = norm_params__gamma; k <= norm_params__shift; k++)
            c.elements[k] = n;
        c.phase[norm_params__scale] = i % 4 * 4;
        c.value[norm_params__inverse] = 0x3e000000 - i * 1000;
        c.value[norm_params__eps] = 0x3a83126f; /* 1e-3 */
        c.value[norm_params__first] = first;
        c.value[norm_params__each] = each;
        c.value[norm_params__p] = p;
        c.value[norm_params__groups] = groups;
        kernel_fixture_call(rig, &c);
    }
    for (unsigned k = norm_params__gamma; k <= norm_params__shift; k++)
        c.elements[k] = 0;
    kernel_fixture_call(rig, &c);
    kernel_fixture_free(rig);
}

static const uint32_t group_counts[] = { 1, 2, 3, 4, 6, 8, 10, 16, 32 };

static void test_norm_fold_strided(void **state)
{
    static const uint32_t channels[] = { 1, 2, 16, 31, 48 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "norm_fold_strided_f32");
    struct codelet_case c = codelet_case("fold", 1);

    (void)state;
    for (uint32_t i = 0; i < EMU_COUNT_OF(group_counts) * EMU_COUNT_OF(channels) * 3; i++) {
        uint32_t groups = group_counts[i / 3 % EMU_COUNT_OF(group_counts)];
        uint32_t n = channels[i / 3 / EMU_COUNT_OF(group_counts)];

        norm_case(&c);
        c.elements[norm_fold_strided__sum] = c.elements[norm_fold_strided__sumsq] =
            (n + 15) / 16 * 16;
        c.elements[norm_fold_strided__totals] = groups * 2;
        c.phase[norm_fold_strided__totals] = i % 4 * 4;
        c.value[norm_fold_strided__first] = i % 3 * (groups - 1) / 2;
        c.value[norm_fold_strided__groups] = groups;
        c.value[norm_fold_strided__rows] = n / groups;
        c.value[norm_fold_strided__rest] = n % groups;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    c.elements[norm_fold_strided__totals] = 0;
    kernel_fixture_call(rig, &c);
    kernel_fixture_free(rig);
}

static void test_norm_params_strided(void **state)
{
    static const uint32_t blocks[] = { 1, 2, 5 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "norm_params_strided_f16");
    struct codelet_case c = codelet_case("params", 1);

    (void)state;
    for (uint32_t i = 0; i < EMU_COUNT_OF(group_counts) * EMU_COUNT_OF(blocks) * 6; i++) {
        uint32_t groups = group_counts[i / 6 % EMU_COUNT_OF(group_counts)];
        uint32_t n = blocks[i / 6 / EMU_COUNT_OF(group_counts)] * 16, p = 1 + i % 5;

        norm_case(&c);
        c.elements[norm_params_strided__totals] = groups * p * 2;
        for (unsigned k = norm_params_strided__gamma; k <= norm_params_strided__shift; k++)
            c.elements[k] = n;
        c.phase[norm_params_strided__scale] = i % 4 * 4;
        c.value[norm_params_strided__inverse] = 0x3e000000 - i * 1000;
        c.value[norm_params_strided__eps] = 0x3a83126f; /* 1e-3 */
        c.value[norm_params_strided__first] = i % 3 * (groups - 1) / 2;
        c.value[norm_params_strided__p] = p;
        c.value[norm_params_strided__groups] = groups;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    for (unsigned k = norm_params_strided__gamma; k <= norm_params_strided__shift; k++)
        c.elements[k] = 0;
    kernel_fixture_call(rig, &c);
    kernel_fixture_free(rig);
}

static void test_norm_stats4(void **state)
{
    static const uint32_t elements[] = { 0,   16,  32,  48,  96,  112,  368,
                                         384, 400, 416, 480, 768, 1600, 9616 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "norm_stats4_f16");
    struct codelet_case c = codelet_case("stats", 1);

    (void)state;
    for (uint32_t i = 0; i < EMU_COUNT_OF(elements) * 4; i++) {
        norm_case(&c);
        c.elements[norm_stats4__x] = elements[i / 4];
        c.elements[norm_stats4__totals] = 8;
        c.elements[norm_stats4__scratch] = 8 * rig->arch.workers;
        c.phase[norm_stats4__totals] = i % 2 * 8;
        c.slack = elements[i / 4] < 384 ? 0 : rig->arch.workers - 1; /* of the second launch */
        kernel_fixture_call(rig, &c);
    }
    kernel_fixture_free(rig);
}

static void params4_all(const char *name)
{
    static const uint32_t channels[] = { 0, 2, 4, 10, 12, 14, 16, 48, 160 }, p[] = { 0, 1, 2, 15 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("params", 1);

    for (uint32_t i = 0; i < EMU_COUNT_OF(channels) * EMU_COUNT_OF(p) * 3; i++) {
        uint32_t others = p[i / 3 % EMU_COUNT_OF(p)], before = others * (i % 3) / 2;

        norm_case(&c);
        for (unsigned k = 0; k < rig->codelet->fields; k++) {
            const char *field = rig->codelet->field[k].name;

            c.elements[k] = channels[i / 3 / EMU_COUNT_OF(p)];
            c.phase[k] = rig->codelet->field[k].align == 4 ? i % 4 * 4 : 0;
            if (!strcmp(field, "own") || !strcmp(field, "totals"))
                c.elements[k] = 8 * (*field == 'o' ? 1 : others);
            c.value[k] = !strcmp(field, "before")    ? before
                         : !strcmp(field, "p")       ? others - before
                         : !strcmp(field, "inverse") ? 0x3e000000 - i * 1000
                                                     : 0x3a83126f; /* 1e-3 */
        }
        c.phase[norm_params4__own] = i % 2 * 8;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    kernel_fixture_free(rig);
}

static void test_norm_params4(void **state)
{
    (void)state;
    params4_all("norm_params4_f16");
    params4_all("norm_train4_f16");
}

/* ---- norms in training ---- */

/* A codelet on lists of n columns; of `factors` three for each. */
static void lists_call(struct kernel_fixture *rig, struct codelet_case *c, uint32_t n)
{
    for (unsigned i = 0; i < rig->codelet->fields; i++) {
        const struct codelet_field *field = &rig->codelet->field[i];

        c->elements[i] = strcmp(field->name, "factors") ? n : 3 * n;
        c->phase[i] = field->align == 4 ? c->seed % 2 * 4 : 0;
        c->value[i] = strcmp(field->name, "eps") ? 0x3e000000 - c->seed * 1000 : 0x3a83126f;
    }
    norm_case(c);
    kernel_fixture_call(rig, c);
    assert_int_equal(rig->cycles, rig->formula);
}

static void test_norm_lists(void **state)
{
    static const char *const name[] = { "norm_train_f32", "norm_back_sums_f32",
                                        "norm_back_factors_f32", "lerp_f32" };
    static const uint32_t columns[] = { 0, 2, 4, 10, 12, 14, 16, 48, 50, 160 };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(name); k++) {
        struct kernel_fixture *rig = kernel_fixture_new("mk2", name[k]);
        struct codelet_case c = codelet_case("lists", 1);

        for (unsigned i = 0; i < 4 * EMU_COUNT_OF(columns); i++)
            lists_call(rig, &c, columns[i / 4]);
        kernel_fixture_free(rig);
    }
}

static void field_call(struct kernel_fixture *rig, struct codelet_case *c, uint32_t blocks,
                       uint32_t f)
{
    for (unsigned i = 0; i < rig->codelet->fields; i++) {
        const struct codelet_field *field = &rig->codelet->field[i];

        c->elements[i] = !strcmp(field->name, "factors") ? 48 * blocks
                         : field->elem == ELEM_F32       ? 16 * blocks
                                                         : 16 * blocks * f;
        c->phase[i] = c->seed >> i & 1 ? 8 : 0;
        c->value[i] = strcmp(field->name, "blocks") ? f : blocks;
    }
    norm_case(c);
    kernel_fixture_call(rig, c);
    assert_int_equal(rig->cycles, rig->formula);
}

static void test_norm_fields(void **state)
{
    static const char *const name[] = { "dot_columns_f16", "norm_back_f16" };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(name); k++) {
        struct kernel_fixture *rig = kernel_fixture_new("mk2", name[k]);
        struct codelet_case c = codelet_case("fields", 1);

        for (unsigned i = 0; i < 5 * EMU_COUNT_OF(positions); i++)
            field_call(rig, &c, i % 5, positions[i / 5]);
        kernel_fixture_free(rig);
    }
}

/* ---- stencils ---- */

static void test_stencil5(void **state)
{
    static const uint32_t heights[] = { 0, 1, 2, 3, 7 };
    static const uint32_t widths[] = { 0, 2, 4, 10, 12, 14, 22, 24, 26, 64, 130 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "stencil5_f32");
    struct codelet_case c = codelet_case("stencil", 1);

    (void)state;
    c.value[stencil5__c0] = 0x3f000000;
    c.value[stencil5__c1] = 0x3e000000;
    for (size_t i = 0; i < EMU_COUNT_OF(heights) * EMU_COUNT_OF(widths); i++) {
        uint32_t h = heights[i % EMU_COUNT_OF(heights)], w = widths[i / EMU_COUNT_OF(heights)];

        c.seed++;
        c.tame = i % 2;
        c.layout = (enum kernel_layout)(i % LAYOUTS);
        c.value[stencil5__h] = h;
        c.value[stencil5__w] = w;
        c.elements[stencil5__x] = (h + 2) * w;
        c.elements[stencil5__y] = h * w;
        kernel_fixture_call(rig, &c);
    }
    kernel_fixture_free(rig);
}

/* ---- pixels ---- */

static const uint32_t pixel_groups[] = { 0, 1, 2, 5, 6, 7, 11, 12, 13, 25, 100, 401 };

static void test_pixels(void **state)
{
    enum { TABLE = 3 * 256 };
    static uint16_t table[TABLE];
    static const struct {
        const char *codelet;
        unsigned y; /* field */
    } which[] = { { "pixels_u8", pixels_u8__y },
                  { "pixels_f16", pixels__y },
                  { "pixels_f32", pixels__y } };

    (void)state;
    for (unsigned i = 0; i < TABLE; i++)
        table[i] = (uint16_t)(0x2c00 + 7 * i);
    for (unsigned k = 0; k < EMU_COUNT_OF(which); k++) {
        struct kernel_fixture *rig = kernel_fixture_new("mk2", which[k].codelet);

        for (unsigned i = 0; i < EMU_COUNT_OF(pixel_groups); i++) {
            for (unsigned layout = 0; layout < LAYOUTS; layout++) {
                struct codelet_case c = { .what = "pixels", .seed = 10 * i + layout };

                c.layout = (enum kernel_layout)layout;
                c.elements[pixels__x] = 12 * pixel_groups[i];
                c.elements[which[k].y] = 16 * pixel_groups[i];
                c.phase[pixels__x] = k == 2 ? 8 * (i % 2) : 4 * (i % 4);
                if (!k) {
                    c.elements[pixels_u8__table] = TABLE;
                    c.data[pixels_u8__table] = table;
                }
                kernel_fixture_call(rig, &c);
            }
        }
        kernel_fixture_free(rig);
    }
}

/* Four bytes a group. */
static void test_lookup(void **state)
{
    enum { TABLE = 256 };
    static uint32_t table[TABLE]; /* of either type */
    static const char *const codelet[] = { "lookup_u8_f16", "lookup_u8_f32" };

    (void)state;
    for (unsigned i = 0; i < TABLE; i++)
        table[i] = 0x2c003d01u + 0x70005 * i;
    for (unsigned k = 0; k < EMU_COUNT_OF(codelet); k++) {
        struct kernel_fixture *rig = kernel_fixture_new("mk2", codelet[k]);

        for (unsigned i = 0; i < EMU_COUNT_OF(pixel_groups); i++) {
            for (unsigned layout = 0; layout < LAYOUTS; layout++) {
                struct codelet_case c = { .what = "lookup", .seed = 10 * i + layout };

                c.layout = (enum kernel_layout)layout;
                c.elements[lookup_u8__x] = 4 * pixel_groups[i];
                c.elements[lookup_u8__y] = 4 * pixel_groups[i];
                c.elements[lookup_u8__table] = TABLE;
                c.data[lookup_u8__table] = table;
                c.phase[lookup_u8__x] = 4 * (i % 4);
                kernel_fixture_call(rig, &c);
            }
        }
        kernel_fixture_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_norm_fold),
        cmocka_unit_test(test_norm_params),
        cmocka_unit_test(test_norm_fold_strided),
        cmocka_unit_test(test_norm_params_strided),
        cmocka_unit_test(test_norm_stats4),
        cmocka_unit_test(test_norm_params4),
        cmocka_unit_test(test_norm_lists),
        cmocka_unit_test(test_norm_fields),
        cmocka_unit_test(test_stencil5),
        cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_lookup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
