/* test_codelets_conv.c - convolution codelets: sizes from one position on, all shapes of shares;
 * bit by bit against the references, cycles against the formulas, results against plain
 * convolutions.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "programs/library/kernel/codelet_ref.h"
#include "programs/library/conv/conv_cost.h"
#include "programs/library/depthwise/dw_work.h"
#include "programs/library/first/first_pack.h"
#include "programs/library/ops_nn.h"
#include "tests/fixtures/kernel_fixture.h"

static double f16_value(uint16_t h)
{
    struct fp_env env = { 0 };

    return (double)fp_float(fp_f16_to_f32(h, &env));
}

/* Random finite f16 of the size of 1, and zeros. */
static uint16_t random_half(struct kernel_fixture *rig)
{
    return kernel_random(rig) % 8 ? kernel_random_f16(rig, 1) : 0;
}

static uint16_t *random_halves(struct kernel_fixture *rig, size_t n)
{
    uint16_t *h = malloc((n + 8) * sizeof(*h));

    for (size_t i = 0; i < n; i++)
        h[i] = random_half(rig);
    return h;
}

/* ---- depthwise ---- */

struct dw_shape {
    struct dw_kind kind;
    uint32_t blocks, ho, wo;
    uint32_t more_h, more_w; /* rows and columns of x that are not needed */
};

static const char *dw_name(struct dw_kind kind)
{
    return dw_codelet(kind)->name;
}

/* The plain convolution. Every sum of a pass and every one between passes may err by half a unit.
 */
static void dw_compare(const struct kernel_fixture *rig, const struct dw_shape *s,
                       const uint16_t *w)
{
    const uint16_t *x = rig->call.arg[dw__x].data, *y = rig->call.arg[dw__y].data;
    uint32_t hp = rig->call.arg[dw__hp].value, wp = rig->call.arg[dw__wp].value;
    uint32_t k = s->kind.k, stride = s->kind.stride, sums = dw_two_passes(s->kind) ? 2 * k : k;

    for (uint32_t i = 0; i < s->blocks * s->ho * s->wo * CHANNEL_BLOCK; i++) {
        uint32_t c = i % CHANNEL_BLOCK, column = i / CHANNEL_BLOCK % s->wo,
                 row = i / CHANNEL_BLOCK / s->wo % s->ho;
        uint32_t block = i / CHANNEL_BLOCK / s->wo / s->ho;
        double sum = 0, size = 0;

        for (uint32_t t = 0; t < k * k; t++) {
            uint32_t r = row * stride + t / k, at = column * stride + t % k;
            double p = f16_value(x[((block * hp + r) * wp + at) * CHANNEL_BLOCK + c]) *
                       f16_value(w[(block * CHANNEL_BLOCK + c) * k * k + t]);

            sum += p;
            size += fabs(p);
        }
        if (fabs(f16_value(y[i]) - sum) > sums * size * 0x1p-11 + 0x1p-24) {
            fprintf(stderr, "%s: y[%u] is %g, the sum is %g\n", rig->codelet->name, i,
                    f16_value(y[i]), sum);
            fail();
        }
    }
}

/* Whether all workers have the same to do: then the formula is exact. */
static int dw_is_even(const struct dw_shape *s, uint32_t wp)
{
    struct dw_plan p = dw_plan(s->kind, s->ho, s->wo, wp);
    const struct dw_third *t = p.third;

    for (uint32_t i = 1; i < DW_THIRDS; i++) {
        if (t[i].positions != t->positions || t[i].end_row - t[i].row != t->end_row - t->row)
            return 0;
    }
    return p.narrow ? s->ho % DW_THIRDS == 0 : t->positions > 0;
}

static void dw_call(struct kernel_fixture *rig, struct codelet_case *c, const struct dw_shape *s,
                    int special)
{
    uint32_t k = s->kind.k, taps = k * k, halves = dw_pack_halves(s->kind), work[DW_WORK_WORDS];
    uint32_t hp = (s->ho - 1) * s->kind.stride + k + s->more_h;
    uint32_t wp = (s->wo - 1) * s->kind.stride + k + s->more_w;
    uint16_t *w, *packed, *x;

    c->seed++;
    rig->random = c->seed;
    c->layout = c->seed % 3 ? LAYOUT_NEAR1
                            : LAYOUT_NEAR0; /* too many edges that are apart for LAYOUT_FAR */
    w = random_halves(rig, s->blocks * CHANNEL_BLOCK * taps);
    x = random_halves(rig, s->blocks * hp * wp * CHANNEL_BLOCK);
    packed = malloc(s->blocks * halves * sizeof(*packed) + 8);
    for (uint32_t b = 0; b < s->blocks; b++)
        dw_pack(s->kind, w + b * CHANNEL_BLOCK * taps, packed + b * halves);
    dw_work(s->kind, s->ho, s->wo, hp, wp, work);
    c->elements[dw__x] = s->blocks * hp * wp * CHANNEL_BLOCK;
    c->elements[dw__weights] = s->blocks * halves;
    c->elements[dw__y] = s->blocks * s->ho * s->wo * CHANNEL_BLOCK;
    c->elements[dw__scratch] = dw_scratch_halves(s->kind, s->ho, s->wo, wp);
    c->elements[dw__work] = DW_WORK_WORDS;
    c->data[dw__x] = special ? NULL : x;
    c->data[dw__weights] = packed;
    c->data[dw__work] = work;
    c->value[dw__blocks] = s->blocks;
    c->value[dw__ho] = s->ho;
    c->value[dw__wo] = s->wo;
    c->value[dw__hp] = hp;
    c->value[dw__wp] = wp;
    c->phase[dw__x] = c->seed % 2 * 8;
    /* Only x need be in other elements. */
    c->behind[dw__scratch] = c->layout == LAYOUT_NEAR1 ? 1 + dw__y : 0;
    c->slack = 2 * s->blocks * dw_passes(s->kind) * 5 + 5;
    kernel_fixture_call(rig, c);
    if (dw_is_even(s, wp))
        assert_int_equal(rig->cycles, rig->formula);
    if (!special)
        dw_compare(rig, s, w);
    free(w);
    free(x);
    free(packed);
}

/* dw_pack_f16 packs as dw_pack() does, block after block. */
static void pack_call(struct kernel_fixture *rig, struct codelet_case *c, struct dw_kind kind,
                      uint32_t blocks)
{
    uint32_t taps = kind.k * kind.k, halves = dw_pack_halves(kind), work[DW_PACK_WORDS];
    uint32_t words = dw_pack_work(kind, work), each = taps * CHANNEL_BLOCK;
    uint16_t *w, *x = calloc((size_t)blocks * each + 1, sizeof(*x));
    uint16_t *packed = calloc((size_t)blocks * halves + 1, sizeof(*packed));

    assert_true(words <= DW_PACK_WORDS);
    c->seed++;
    rig->random = c->seed;
    w = random_halves(rig, blocks * each);
    for (uint32_t i = 0; i < blocks * each; i++)
        x[i / each * each + i % taps * CHANNEL_BLOCK + i / taps % CHANNEL_BLOCK] = w[i];
    for (uint32_t b = 0; b < blocks; b++)
        dw_pack(kind, w + b * each, packed + b * halves);
    c->elements[dw_pack__x] = blocks * each;
    c->elements[dw_pack__y] = blocks * halves;
    c->elements[dw_pack__work] = words;
    c->data[dw_pack__x] = x;
    c->data[dw_pack__work] = work;
    c->value[dw_pack__entries] = words / DW_PACK_ENTRY;
    c->value[dw_pack__blocks] = blocks;
    c->value[dw_pack__x_bytes] = each * 2;
    c->value[dw_pack__y_bytes] = halves * 2;
    kernel_fixture_call(rig, c);
    assert_int_equal(rig->cycles, rig->formula);
    assert_memory_equal(rig->call.arg[dw_pack__y].data, packed, blocks * halves * sizeof(*packed));
    free(w);
    free(x);
    free(packed);
}

static void test_dw_pack(void **state)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "dw_pack_f16");
    struct codelet_case c = codelet_case("dw_pack", 1);

    (void)state;
    for (uint32_t i = 0; i < 16; i++) {
        struct dw_kind kind = { i % 2 ? 3 : 5, 1 + i / 2 % 2, (int)(i / 4 % 2) };

        pack_call(rig, &c, kind, 1 + i / 8 * 2);
    }
    kernel_fixture_free(rig);
}

static void dw_all(struct dw_kind kind)
{
    static const uint32_t size[] = { 1, 2, 3, 5, 6, 7, 8, 11, 12, 13, 17, 18, 23, 24, 25, 31, 50 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", dw_name(kind));
    struct codelet_case c = codelet_case("dw", 1);

    for (uint32_t i = 0; i < EMU_COUNT_OF(size) * EMU_COUNT_OF(size); i++) {
        struct dw_shape s = { .kind = kind, .blocks = 1 };

        s.wo = size[i % EMU_COUNT_OF(size)];
        s.ho = size[i / EMU_COUNT_OF(size)];
        if (s.wo * s.ho > 110)
            continue;
        s.blocks = 1 + (s.ho * s.wo < 40 ? c.seed % 3 : 0);
        s.more_w = c.seed % 5 == 0 ? 1 : 0;
        s.more_h = c.seed % 7 == 0 ? 1 : 0;
        dw_call(rig, &c, &s, c.seed % 11 == 0);
    }
    kernel_fixture_free(rig);
}

static void test_dw3(void **state)
{
    (void)state;
    dw_all((struct dw_kind){ 3, 1, 1 });
    dw_all((struct dw_kind){ 3, 1, 0 });
}

static void test_dw5(void **state)
{
    (void)state;
    dw_all((struct dw_kind){ 5, 1, 1 });
    dw_all((struct dw_kind){ 5, 1, 0 });
}

static void test_dw3s2(void **state)
{
    (void)state;
    dw_all((struct dw_kind){ 3, 2, 1 });
    dw_all((struct dw_kind){ 3, 2, 0 });
}

static void test_dw5s2(void **state)
{
    (void)state;
    dw_all((struct dw_kind){ 5, 2, 1 });
    dw_all((struct dw_kind){ 5, 2, 0 });
}

/* Rates at shards of EfficientNet-B4. */
static void test_dw_rate(void **state)
{
    static const struct dw_shape shapes[] = {
        { .kind = { 5, 1, 1 }, .blocks = 2, .ho = 4, .wo = 24 },
        { .kind = { 5, 1, 1 }, .blocks = 1, .ho = 12, .wo = 24 },
        { .kind = { 5, 1, 1 }, .blocks = 1, .ho = 1, .wo = 24 },
        { .kind = { 5, 1, 1 }, .blocks = 1, .ho = 3, .wo = 12 },
        { .kind = { 3, 1, 1 }, .blocks = 1, .ho = 10, .wo = 48 },
        { .kind = { 3, 1, 1 }, .blocks = 1, .ho = 1, .wo = 24 },
        { .kind = { 3, 1, 1 }, .blocks = 1, .ho = 4, .wo = 24 },
        { .kind = { 3, 2, 1 }, .blocks = 1, .ho = 10, .wo = 48 },
        { .kind = { 3, 2, 1 }, .blocks = 1, .ho = 4, .wo = 24 },
        { .kind = { 5, 2, 1 }, .blocks = 1, .ho = 4, .wo = 24 },
        { .kind = { 5, 2, 1 }, .blocks = 1, .ho = 3, .wo = 12 },
        { .kind = { 5, 1, 0 }, .blocks = 1, .ho = 12, .wo = 24 },
        { .kind = { 3, 1, 0 }, .blocks = 1, .ho = 10, .wo = 48 },
        { .kind = { 3, 2, 0 }, .blocks = 1, .ho = 10, .wo = 48 },
        { .kind = { 5, 2, 0 }, .blocks = 1, .ho = 4, .wo = 24 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(shapes); i++) {
        const struct dw_shape *s = &shapes[i];
        struct kernel_fixture *rig = kernel_fixture_new("mk2", dw_name(s->kind));
        struct codelet_case c = codelet_case("rate", i);
        uint32_t macs = s->blocks * s->ho * s->wo * CHANNEL_BLOCK * s->kind.k * s->kind.k;

        dw_call(rig, &c, s, 0);
        print_message("%-15s [%u][%2u x %2u]: %6llu cycles, %.2f MAC a cycle\n", rig->codelet->name,
                      s->blocks, s->ho, s->wo, (unsigned long long)rig->cycles,
                      macs / (double)rig->cycles);
        kernel_fixture_free(rig);
    }
}

/* ---- depthwise, what weights get ---- */

struct weights_shape {
    uint32_t kernel_h, kernel_w, stride, dilation, n, ho, wo;
    uint32_t more_h, more_w; /* rows and columns of x that are not needed */
};

/* Every product and every sum of them may err by half a unit. */
static void weights_compare(const struct kernel_fixture *rig, const struct weights_shape *s,
                            uint32_t hp, uint32_t wp)
{
    const uint16_t *x = rig->call.arg[dw_weights__x].data, *dy = rig->call.arg[dw_weights__dy].data;
    const float *out = rig->call.arg[dw_weights__out].data;

    for (uint32_t i = 0; i < s->kernel_h * s->kernel_w * CHANNEL_BLOCK; i++) {
        uint32_t c = i % CHANNEL_BLOCK, tap = i / CHANNEL_BLOCK, positions = s->n * s->ho * s->wo;
        double sum = 0, size = 0;

        for (uint32_t k = 0; k < positions; k++) {
            uint32_t row = k / s->wo % s->ho * s->stride + tap / s->kernel_w * s->dilation;
            uint32_t column = k % s->wo * s->stride + tap % s->kernel_w * s->dilation;
            uint32_t at = (k / s->wo / s->ho * hp + row) * wp + column;
            double p = f16_value(x[at * CHANNEL_BLOCK + c]) * f16_value(dy[k * CHANNEL_BLOCK + c]);

            sum += p;
            size += fabs(p);
        }
        if (fabs((double)out[i] - sum) > size * (0x1p-11 + positions * 0x1p-24) + 0x1p-24) {
            fprintf(stderr, "out[%u] is %g, the sum is %g\n", i, (double)out[i], sum);
            fail();
        }
    }
}

static void weights_call(struct kernel_fixture *rig, struct codelet_case *c,
                         const struct weights_shape *s, int special)
{
    uint32_t hp = (s->ho - 1) * s->stride + (s->kernel_h - 1) * s->dilation + 1 + s->more_h;
    uint32_t wp = (s->wo - 1) * s->stride + (s->kernel_w - 1) * s->dilation + 1 + s->more_w;
    uint32_t x_size = s->n * hp * wp * CHANNEL_BLOCK, position = 2 * CHANNEL_BLOCK;
    uint32_t dy_size = s->n * s->ho * s->wo * CHANNEL_BLOCK;
    uint16_t *x, *dy;

    c->seed++;
    rig->random = c->seed;
    x = random_halves(rig, x_size);
    dy = random_halves(rig, dy_size);
    c->layout = LAYOUT_NEAR1;
    c->elements[dw_weights__x] = x_size;
    c->elements[dw_weights__dy] = dy_size;
    c->elements[dw_weights__out] = s->kernel_h * s->kernel_w * CHANNEL_BLOCK;
    c->data[dw_weights__x] = special ? NULL : x;
    c->data[dw_weights__dy] = special ? NULL : dy;
    c->value[dw_weights__taps] = s->kernel_h * s->kernel_w;
    c->value[dw_weights__columns] = s->kernel_w;
    c->value[dw_weights__n] = s->n;
    c->value[dw_weights__ho] = s->ho;
    c->value[dw_weights__wo] = s->wo;
    c->value[dw_weights__x_step] = s->stride * position / 16;
    c->value[dw_weights__x_row] = (wp - s->wo) * s->stride * position;
    c->value[dw_weights__x_picture] = (hp - s->ho * s->stride) * wp * position;
    c->value[dw_weights__tap] = s->dilation * position;
    c->value[dw_weights__tap_row] = (wp - s->kernel_w) * s->dilation * position;
    c->phase[dw_weights__out] = c->seed % 2 * 8;
    kernel_fixture_call(rig, c);
    assert_int_equal(rig->cycles, rig->formula);
    if (!special)
        weights_compare(rig, s, hp, wp);
    free(x);
    free(dy);
}

static void test_dw_weights(void **state)
{
    static const struct weights_shape shape[] = {
        { 3, 3, 1, 1, 1, 1, 1, 0, 0 },   { 3, 3, 1, 1, 1, 2, 14, 0, 0 },
        { 3, 3, 2, 1, 4, 7, 7, 1, 1 },   { 5, 5, 1, 1, 2, 3, 9, 0, 2 },
        { 5, 5, 2, 1, 1, 4, 4, 2, 0 },   { 1, 3, 1, 1, 3, 2, 5, 0, 0 },
        { 1, 1, 1, 1, 2, 3, 4, 1, 3 },   { 2, 1, 3, 1, 1, 2, 6, 0, 0 },
        { 1, 2, 1, 2, 1, 5, 3, 0, 0 },   { 3, 3, 1, 2, 2, 4, 1, 0, 0 },
        { 7, 2, 2, 3, 1, 2, 2, 0, 1 },   { 4, 1, 1, 1, 2, 1, 3, 3, 0 },
        { 3, 3, 1, 1, 1, 2, 112, 0, 0 },
    };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "dw_weights_f16");
    struct codelet_case c = codelet_case("gradients", 1);
    const struct weights_shape *rate = &shape[EMU_COUNT_OF(shape) - 1];

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(shape); i++) {
        weights_call(rig, &c, &shape[i], 0);
        weights_call(rig, &c, &shape[i], 1);
    }
    for (uint32_t k = 0; k < 60; k++) {
        struct weights_shape s = {
            .kernel_h = 1 + kernel_random(rig) % 5,
            .kernel_w = 1 + kernel_random(rig) % 5,
            .stride = 1 + kernel_random(rig) % 3,
            .dilation = 1 + kernel_random(rig) % 2,
            .n = 1 + kernel_random(rig) % 3,
            .ho = 1 + kernel_random(rig) % 5,
            .wo = 1 + kernel_random(rig) % 8,
            .more_h = kernel_random(rig) % 3,
            .more_w = kernel_random(rig) % 3,
        };

        weights_call(rig, &c, &s, 0);
    }
    weights_call(rig, &c, rate, 0);
    print_message("dw_weights_f16 3 x 3, 2 x 112: %llu cycles, %.2f MAC a cycle\n",
                  (unsigned long long)rig->cycles,
                  9 * 2 * 112 * CHANNEL_BLOCK / (double)rig->cycles);
    kernel_fixture_free(rig);
}

/* ---- first layer ---- */

/* Outputs of a block, and output i as a number: 16 in f16, or 8 in f32. */
static uint32_t units_of(const struct kernel_fixture *rig)
{
    return strstr(rig->codelet->name, "f32") ? CHANNEL_BLOCK / 2 : CHANNEL_BLOCK;
}

static double output_value(const struct kernel_fixture *rig, unsigned field, uint32_t i)
{
    const void *out = rig->call.arg[field].data;
    float v;

    if (units_of(rig) == CHANNEL_BLOCK)
        return f16_value(((const uint16_t *)out)[i]);
    memcpy(&v, (const uint8_t *)out + 4 * i, sizeof(v));
    return (double)v;
}

struct first_shape {
    uint32_t k, channels, nb, ho, wo;
    uint32_t more_w; /* columns of x that are not needed */
};

static void first_compare(const struct kernel_fixture *rig, const struct first_shape *s,
                          const uint16_t *w)
{
    const uint16_t *x = rig->call.arg[conv_first__x].data;
    uint32_t wp = rig->call.arg[conv_first__wp].value, taps = s->channels * s->k * s->k;
    uint32_t units = units_of(rig);

    for (uint32_t i = 0; i < s->nb * s->ho * s->wo * CHANNEL_BLOCK; i++) {
        uint32_t column = i / units % s->wo, row = i / units / s->wo % s->ho;
        uint32_t out = i / units / s->wo / s->ho * units + i % units;
        double sum = 0, size = 0;

        for (uint32_t t = 0; t < taps; t++) {
            uint32_t r = 2 * row + t / s->k % s->k, c = 2 * column + t % s->k;
            double p =
                f16_value(x[(r * wp + c) * 4 + t / s->k / s->k]) * f16_value(w[out * taps + t]);

            sum += p;
            size += fabs(p);
        }
        size *= conv_first_blocks(s->k) * (units == CHANNEL_BLOCK ? 0x1p-11 : 4 * 0x1p-23);
        if (fabs(output_value(rig, conv_first__y, i) - sum) > size + 0x1p-24) {
            fprintf(stderr, "%s: y[%u] is %g, the sum is %g\n", rig->codelet->name, i,
                    output_value(rig, conv_first__y, i), sum);
            fail();
        }
    }
}

static void first_call(struct kernel_fixture *rig, struct codelet_case *c,
                       const struct first_shape *s)
{
    uint32_t hp = (s->ho - 1) * 2 + s->k, wp = (s->wo - 1) * 2 + s->k + s->more_w;
    uint32_t kb = conv_first_blocks(s->k), f = s->ho * s->wo, halves = conv_first_pack_halves(s->k);
    uint32_t taps = s->channels * s->k * s->k, *rows;
    uint16_t *w, *packed, *x, *block;

    c->seed++;
    rig->random = c->seed;
    c->layout = c->seed % 3 ? LAYOUT_NEAR1 : LAYOUT_NEAR0;
    w = random_halves(rig, s->nb * CHANNEL_BLOCK * taps);
    x = random_halves(rig, hp * wp * 4);
    packed = malloc(s->nb * halves * sizeof(*packed) + 8);
    block = malloc(halves * sizeof(*block));
    rows = malloc(conv_first_row_words(s->k, s->ho) * sizeof(*rows));
    for (uint32_t b = 0; b < s->nb; b++) {
        conv_first_pack(s->k, s->channels, w + b * CHANNEL_BLOCK * taps, block);
        if (units_of(rig) == CHANNEL_BLOCK)
            memcpy(packed + b * halves, block, halves * sizeof(*block));
        else
            conv_pack_f32(kb, block, packed + b * halves);
    }
    free(block);
    conv_first_rows(s->k, s->ho, s->wo, wp, rows);
    c->elements[conv_first__patches] = kb * f * CHANNEL_BLOCK;
    c->elements[conv_first__y] = s->nb * f * CHANNEL_BLOCK;
    c->elements[conv_first__weights] = s->nb * halves;
    c->elements[conv_first__x] = hp * wp * 4;
    c->elements[conv_first__rows] = conv_first_row_words(s->k, s->ho);
    c->data[conv_first__weights] = packed;
    c->data[conv_first__x] = x;
    c->data[conv_first__rows] = rows;
    c->value[conv_first__kb] = kb;
    c->value[conv_first__nb] = s->nb * (CHANNEL_BLOCK / units_of(rig));
    c->value[conv_first__f] = f;
    c->value[conv_first__ho] = s->ho;
    c->value[conv_first__wo] = s->wo;
    c->value[conv_first__hp] = hp;
    c->value[conv_first__wp] = wp;
    c->phase[conv_first__x] = c->seed % 2 * 8;
    c->phase[conv_first__y] = c->seed / 2 % 2 * 8;
    c->slack = (kb * c->value[conv_first__nb] + 1) * 20;
    kernel_fixture_call(rig, c);
    first_compare(rig, s, w);
    free(w);
    free(x);
    free(packed);
    free(rows);
}

static void first_all(struct kernel_fixture *rig, struct codelet_case *c)
{
    static const uint32_t size[] = { 1, 2, 3, 5, 6, 8, 13, 24 };

    for (uint32_t i = 0; i < EMU_COUNT_OF(size) * EMU_COUNT_OF(size); i++) {
        struct first_shape s = { .k = 3 + i % 5 / 4 * 4,
                                 .channels = 3 + i % 2,
                                 .nb = 1 + i % 3,
                                 .ho = size[i % 8],
                                 .wo = size[i / 8],
                                 .more_w = i % 7 == 0 };

        if (s.ho * s.wo <= 80)
            first_call(rig, c, &s);
    }
}

static void test_first_f32(void **state)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "conv_first_f16_f32");
    struct codelet_case c = codelet_case("first layer", 1);

    (void)state;
    first_all(rig, &c);
    kernel_fixture_free(rig);
}

static void test_first(void **state)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "conv_first_f16");
    struct codelet_case c = codelet_case("first layer", 1);
    const struct first_shape stem = { .k = 3, .channels = 3, .nb = 3, .ho = 5, .wo = 6 };

    (void)state;
    first_all(rig, &c);
    first_call(rig, &c, &stem);
    print_message("conv_first_f16 5 x 6 x 48: %llu cycles, %.2f MAC a cycle\n",
                  (unsigned long long)rig->cycles, 30 * 48 * 27 / (double)rig->cycles);
    kernel_fixture_free(rig);
}

/* ---- windows ---- */

struct window_shape {
    uint32_t k, blocks, nb, ho, wo;
    uint32_t own; /* every output has blocks of its own */
};

static void window_compare(const struct kernel_fixture *rig, const struct window_shape *s)
{
    const uint16_t *in = rig->call.arg[conv_window__in].data,
                   *w = rig->call.arg[conv_window__weights].data;
    uint32_t hp = s->ho + s->k - 1, wp = s->wo + s->k - 1, f = rig->call.arg[conv_window__f].value;
    uint32_t taps = s->blocks * s->k * s->k, units = units_of(rig);

    for (uint32_t i = 0; i < s->nb * f * units; i++) {
        uint32_t n = i / units / f, row = i / units % f / wp, column = i / units % f % wp;
        uint32_t first = s->own ? n * s->blocks : 0;
        double sum = 0, size = 0;

        if (column >= s->wo)
            continue;
        for (uint32_t t = 0; t < taps * CHANNEL_BLOCK; t++) {
            uint32_t tap = t / CHANNEL_BLOCK, block = first + tap / s->k / s->k;
            uint32_t at = (block * hp + row + tap / s->k % s->k) * wp + column + tap % s->k;
            double p =
                f16_value(in[at * CHANNEL_BLOCK + t % CHANNEL_BLOCK]) *
                f16_value(
                    w[((n * taps + tap) * units + i % units) * CHANNEL_BLOCK + t % CHANNEL_BLOCK]);

            sum += p;
            size += fabs(p);
        }
        /* In f32 a sum is rounded after every four products. */
        size *= units == CHANNEL_BLOCK ? taps * 0x1p-11 : 4 * taps * 0x1p-23;
        if (fabs(output_value(rig, conv_window__out, i) - sum) > size + 0x1p-24) {
            fprintf(stderr, "%s: out[%u] is %g, the sum is %g\n", rig->codelet->name, i,
                    output_value(rig, conv_window__out, i), sum);
            fail();
        }
    }
}

/* The field `steps` of a kernel k x k, blocks x k x k words. own 0: every block of outputs is
 * computed from the same `blocks` blocks of the input; 1: each from the `blocks` input blocks after
 * those of the one before. Weights are [nb][blocks][k][k][16][16]. */
static void window_steps(uint32_t k, uint32_t blocks, uint32_t hp, uint32_t wp, int own,
                         int32_t *steps)
{
    uint32_t kb = blocks * k * k;
    int64_t here = 0;

    for (uint32_t i = 0; i < kb; i++) {
        uint32_t next = (i + 1) % kb, block = next / k / k;
        int64_t at = (int64_t)block * hp * wp + next / k % k * wp + next % k;

        if (!next && own)
            at = (int64_t)blocks * hp * wp;
        steps[i] = (int32_t)((at - here) * CHANNEL_BLOCK_BYTES);
        here = at;
    }
}

static void window_call(struct kernel_fixture *rig, struct codelet_case *c,
                        const struct window_shape *s)
{
    uint32_t hp = s->ho + s->k - 1, wp = s->wo + s->k - 1, f = (s->ho - 1) * wp + s->wo;
    uint32_t kb = s->blocks * s->k * s->k,
             in = (s->own ? s->nb : 1) * s->blocks * hp * wp * CHANNEL_BLOCK;
    int32_t *steps = malloc(kb * sizeof(*steps));
    uint32_t units = units_of(rig);
    uint16_t *x, *w;

    c->seed++;
    rig->random = c->seed;
    c->layout = (enum kernel_layout)(c->seed % LAYOUTS);
    x = random_halves(rig, in);
    w = random_halves(rig, s->nb * kb * units * CHANNEL_BLOCK);
    window_steps(s->k, s->blocks, hp, wp, (int)s->own, steps);
    c->elements[conv_window__in] = in;
    c->elements[conv_window__out] = s->nb * f * units;
    c->elements[conv_window__weights] = s->nb * kb * units * CHANNEL_BLOCK;
    c->elements[conv_window__steps] = kb;
    c->data[conv_window__in] = x;
    c->data[conv_window__weights] = w;
    c->data[conv_window__steps] = steps;
    c->value[conv_window__kb] = kb;
    c->value[conv_window__nb] = s->nb;
    c->value[conv_window__f] = f;
    c->phase[conv_window__in] = c->seed % 2 * 8;
    c->phase[conv_window__out] = c->seed / 2 % 2 * 8;
    c->slack = (kb * s->nb + 1) * 20;
    kernel_fixture_call(rig, c);
    if (f >= 3 * rig->arch.workers && f % rig->arch.workers == 0)
        assert_int_equal(rig->cycles, rig->formula);
    window_compare(rig, s);
    free(x);
    free(w);
    free(steps);
}

static void window_all(struct kernel_fixture *rig, struct codelet_case *c)
{
    static const uint32_t size[] = { 1, 2, 3, 5, 6, 12 };
    static const struct window_shape many = { .k = 2, .blocks = 1, .nb = 2, .ho = 28, .wo = 27 };

    for (uint32_t i = 0; i < EMU_COUNT_OF(size) * EMU_COUNT_OF(size) * 2; i++) {
        struct window_shape s = { .k = 1 + c->seed % 3,
                                  .blocks = 1 + c->seed / 3 % 2,
                                  .own = c->seed / 2 % 2,
                                  .nb = 1 + c->seed % 4 / 3 * 2,
                                  .ho = size[i / 2 % 6],
                                  .wo = size[i / 12] };

        window_call(rig, c, &s);
    }
    window_call(rig, c, &many);
}

static void test_window_f32(void **state)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "conv_window_f16_f32");
    struct codelet_case c = codelet_case("windows", 1);

    (void)state;
    window_all(rig, &c);
    kernel_fixture_free(rig);
}

static void test_window(void **state)
{
    static const struct window_shape g16 = {
        .k = 3, .blocks = 1, .own = 1, .nb = 2, .ho = 6, .wo = 24
    };
    static const struct window_shape g16_5 = {
        .k = 5, .blocks = 1, .own = 1, .nb = 2, .ho = 4, .wo = 24
    };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "conv_window_f16");
    struct codelet_case c = codelet_case("windows", 1);

    (void)state;
    window_all(rig, &c);
    window_call(rig, &c, &g16);
    print_message("conv_window_f16 3 x 3, 2 groups of 16, 6 x 24: %llu cycles, %.1f MAC a cycle\n",
                  (unsigned long long)rig->cycles,
                  2 * 6 * 24 * 9 * CHANNEL_BLOCK * CHANNEL_BLOCK / (double)rig->cycles);
    window_call(rig, &c, &g16_5);
    print_message("conv_window_f16 5 x 5, 2 groups of 16, 4 x 24: %llu cycles, %.1f MAC a cycle\n",
                  (unsigned long long)rig->cycles,
                  2 * 4 * 24 * 25 * CHANNEL_BLOCK * CHANNEL_BLOCK / (double)rig->cycles);
    kernel_fixture_free(rig);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dw_pack),    cmocka_unit_test(test_dw3),
        cmocka_unit_test(test_dw5),        cmocka_unit_test(test_dw3s2),
        cmocka_unit_test(test_dw5s2),      cmocka_unit_test(test_dw_rate),
        cmocka_unit_test(test_dw_weights), cmocka_unit_test(test_first),
        cmocka_unit_test(test_window),     cmocka_unit_test(test_window_f32),
        cmocka_unit_test(test_first_f32),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
