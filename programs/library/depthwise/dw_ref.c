/* dw_ref.c - depthwise convolutions: meaning, window by window, and cycles. */
#include "emu/arch/arch_numbers.h"
#include "programs/library/kernel/codelet_ref.h"
#include "programs/library/depthwise/dw_work.h"

/* A call, and where a pass of it works. */
struct dw {
    const struct codelet_call *call;
    struct dw_plan plan;
    uint32_t block, channel, pass; /* channel: the first of four */
    struct dw_window window;
    const uint16_t *weights; /* of the pass: [taps][4 channels][windows][2 halves][4], dw_pack() */
};

/* The four weights of a tap of a channel, one for each input. */
static const uint16_t *weights_at(const struct dw *d, uint32_t tap, uint32_t lane, uint32_t second)
{
    static const uint16_t zeros[DW_LANES];
    uint32_t half = d->channel / DW_LANES % DW_HALVES, entry = 0;
    struct dw_kind kind = d->plan.kind;

    if (!dw_tap_is_loaded(kind, d->pass, tap, (int)second))
        return zeros;
    for (uint32_t j = 0; j <= tap; j++) {
        int windows = dw_tap_is_loaded(kind, d->pass, j, 0) + dw_tap_is_loaded(kind, d->pass, j, 1);

        entry += (uint32_t)windows * (j < tap ? DW_LANES : lane);
    }
    entry += second && dw_tap_is_loaded(kind, d->pass, tap, 0);
    return d->weights + (entry * DW_HALVES + half) * DW_LANES;
}

/* Adds the products of four inputs with the weights of a tap: an exact sum, rounded once to f32. */
static void add_tap(const struct dw *d, const uint16_t *in, uint32_t tap, uint32_t second,
                    uint32_t acc[DW_LANES], struct fp_env *env)
{
    for (uint32_t c = 0; c < DW_LANES; c++)
        acc[c] =
            fp_f32_add_exact_f16_products(acc[c], in, weights_at(d, tap, c, second), DW_LANES, env);
}

/* The four inputs that enter i places after position (row, column) of the stream, for the second
 * window if `second`. The last position is `left` places on; after it no row ends. */
static const uint16_t *input_at(const struct dw *d, uint32_t row, uint32_t column, uint32_t i,
                                uint32_t left, uint32_t second)
{
    const struct dw_plan *p = &d->plan;
    const uint16_t *x = d->call->arg[dw__x].data;
    uint32_t within = i < left ? i : left;
    uint32_t r = row + (column + within) / p->pitch;
    uint32_t c = (column + within) % p->pitch + i - within;
    int64_t at = (int64_t)d->block * d->call->arg[dw__hp].value * p->wp + d->window.base;

    at += (int64_t)p->kind.stride * (r * p->wp + c) + second * d->window.second_base;
    return x + at * DW_CHANNELS + d->channel;
}

/* Computes one position of the stream, column `column` of row `row`. Its worker has `left`
 * positions after it, and then places with inputs. */
static void window_at(const struct dw *d, uint32_t row, uint32_t column, uint32_t left,
                      const uint16_t *sum, uint16_t *out)
{
    static const uint16_t zeros[DW_LANES];
    struct fp_env env = { 0 };
    uint32_t acc[DW_LANES], inputs = left + d->window.real;
    uint32_t seconds = inputs + (d->plan.kind.stride == 1);

    for (uint32_t c = 0; c < DW_LANES; c++)
        acc[c] = fp_f16_to_f32(sum[c], &env);
    for (uint32_t j = 0; j < DW_TAPS; j++) {
        int real = j <= inputs;

        add_tap(d, real ? input_at(d, row, column, j, left, 0) : zeros, j, 0, acc, &env);
        if (d->window.two && j < seconds)
            add_tap(d, input_at(d, row, column, j, left, 1), j, 1, acc, &env);
    }
    for (uint32_t c = 0; c < DW_LANES; c++)
        out[c] = fp_f16_from_f32(acc[c], 0, &env);
}

static uint16_t *result_at(const struct dw *d, uint32_t row, uint32_t column)
{
    const struct dw_plan *p = &d->plan;
    uint16_t *y = d->call->arg[dw__y].data;

    return y + ((d->block * p->ho + row) * p->wo + column) * DW_CHANNELS + d->channel;
}

static void pass_narrow(const struct dw *d, uint32_t third, int first)
{
    static const uint16_t zeros[DW_LANES];

    for (uint32_t row = third; row < d->plan.ho; row += DW_THIRDS) {
        for (uint32_t c = 0; c < d->plan.wo; c++) {
            uint16_t *out = result_at(d, row, c), sum[DW_LANES];

            memcpy(sum, first ? zeros : out, sizeof(sum));
            window_at(d, row, c, 0, sum, out);
        }
    }
}

/* A pass over a third: window i of n. area: the scratch of the third. */
static void pass_wide(const struct dw *d, uint32_t third, uint32_t i, uint32_t n, uint16_t *area)
{
    const struct dw_plan *p = &d->plan;
    const struct dw_third *t = &p->third[third];
    uint32_t first = dw_area_first(p->kind, d->channel / DW_LANES % DW_HALVES);
    uint16_t sum[DW_LANES] = { 0 }, out[DW_LANES];

    for (uint32_t f = 0; f < t->positions; f++) {
        uint32_t row = t->row + (t->column + f) / p->pitch, column = (t->column + f) % p->pitch;
        uint16_t *vector[2] = { area + f * DW_AREA + first,
                                area + f * DW_AREA + (first ^ DW_LANES) };

        if (i)
            memcpy(sum, vector[(i + 1) % 2], sizeof(sum));
        window_at(d, row, column, t->positions - 1 - f, sum, out);
        if (i + 1 < n)
            memcpy(vector[i % 2], out, sizeof(out));
        else if (column < p->wo)
            memcpy(result_at(d, row, column), out, sizeof(out));
    }
}

/* Where the weights of a pass of a pair begin in those of the block. */
static uint32_t weights_before(struct dw_kind kind, uint32_t pair, uint32_t pass)
{
    uint32_t taps = 0, passes = dw_passes(kind);

    for (uint32_t i = 0; i < pair * passes + pass; i++)
        taps += dw_taps_loaded(kind, i % passes);
    return taps * DW_LANES * DW_HALVES * DW_LANES;
}

static void dw(const struct codelet_call *call, struct dw_kind kind)
{
    uint32_t quads = DW_CHANNELS / DW_LANES, values = dw_pack_halves(kind);
    uint32_t passes = dw_passes(kind);
    uint16_t *scratch = call->arg[dw__scratch].data;
    struct dw d = { .call = call };

    EMU_ASSERT(call->arch->workers == DW_HALVES * DW_THIRDS);
    d.plan =
        dw_plan(kind, call->arg[dw__ho].value, call->arg[dw__wo].value, call->arg[dw__wp].value);
    for (uint32_t i = 0; i < call->arg[dw__blocks].value * quads * passes * DW_THIRDS; i++) {
        uint32_t third = i % DW_THIRDS, quad = i / DW_THIRDS / passes % quads;

        d.pass = i / DW_THIRDS % passes;
        d.block = i / DW_THIRDS / passes / quads;
        d.channel = quad * DW_LANES;
        d.window = dw_window(kind, d.plan.wp, d.pass);
        d.weights = (const uint16_t *)call->arg[dw__weights].data + (size_t)d.block * values +
                    weights_before(kind, quad / DW_HALVES, d.pass);
        if (d.plan.narrow)
            pass_narrow(&d, third, !d.pass);
        else
            pass_wide(&d, third, d.pass, passes, scratch + third * d.plan.longest * DW_AREA);
    }
}

/* ---- cycles: the instructions of dw.inc, counted ----
 *
 * Exact if in every pass the slowest worker is the last of its round; else a pass may take some
 * cycles less.
 */

/* MIDDLE: every other pass, of two of a row the second; BACK: those between them. */
enum dw_pass { PASS_SETUP, PASS_NEXT_BLOCK, PASS_NEXT_PAIR, PASS_MIDDLE, PASS_BACK, PASS_FINAL };
enum { TAP_LOADS = DW_LANES, PLACE_SLOTS = 14 }; /* a load has a channel of both halves */

/* Of MOVE; 0 in a first pass. */
static uint64_t move_slots(struct dw_kind kind, enum dw_pass pass)
{
    if (pass < PASS_MIDDLE)
        return 0;
    if (dw_two_passes(kind))
        return pass != PASS_BACK ? 1 : kind.stride == 2 ? 3 : 2;
    return kind.stride == 2 || (kind.k == 3 && kind.mixed) ? 2 : 1;
}

static uint64_t wide_slots(const struct dw_plan *p, const struct dw_third *t, enum dw_pass pass)
{
    static const uint8_t before[] = { [PASS_SETUP] = PLACE_SLOTS + 9,
                                      [PASS_NEXT_BLOCK] = 5,
                                      [PASS_NEXT_PAIR] = 3,
                                      [PASS_MIDDLE] = 0,
                                      [PASS_BACK] = 0,
                                      [PASS_FINAL] = 0 };
    struct dw_kind kind = p->kind;
    uint32_t rows = t->end_row - t->row;
    uint64_t n = t->positions, ends = 0;

    if (kind.stride == 2)
        ends = rows ? 3 * rows + (rows > 1) : 0;
    else if (pass == PASS_FINAL)
        ends = rows ? 5 + 3 * rows : 3;
    if (!kind.mixed || (kind.k == 3 && kind.stride == 1 && pass == PASS_FINAL))
        return n + (pass < PASS_MIDDLE ? 11 : 10) + 2 * (kind.stride == 2) +
               move_slots(kind, pass) + before[pass] + ends;
    if (kind.stride == 1)
        return 2 * n + (kind.k == 3 ? 16 : 14) + before[pass] + ends;
    return 2 * n + 12 + kind.k / 2 + before[pass] + (pass < PASS_MIDDLE ? 0 : 1) + ends;
}

static uint64_t narrow_slots(const struct dw_plan *p, uint32_t third, enum dw_pass pass)
{
    static const uint8_t before[] = { [PASS_SETUP] = 1 + PLACE_SLOTS + 4,
                                      [PASS_NEXT_BLOCK] = 7,
                                      [PASS_NEXT_PAIR] = 5,
                                      [PASS_MIDDLE] = 2,
                                      [PASS_BACK] = 2,
                                      [PASS_FINAL] = 2 };
    struct dw_kind kind = p->kind;
    uint64_t rows = dw_narrow_rows(p, third), each = 8;

    if (!rows)
        return 0;
    if (kind.mixed && kind.stride == 2)
        each = 8 + kind.k / 2;
    else if (kind.mixed)
        each = kind.k == 5 ? 12 : pass < PASS_MIDDLE ? 16 : 8;
    return before[pass] + (pass == PASS_SETUP && kind.stride == 1) + move_slots(kind, pass) + 5 +
           rows * (4 + p->wo * (each + (pass >= PASS_MIDDLE)));
}

static uint64_t pass_cycles(const struct arch *a, const struct dw_plan *p, enum dw_pass pass)
{
    uint64_t most = 0;
    int idle = 0;

    for (uint32_t t = 0; t < DW_THIRDS; t++) {
        uint64_t slots = p->narrow               ? narrow_slots(p, t, pass)
                         : p->third[t].positions ? wide_slots(p, &p->third[t], pass)
                                                 : 0;

        idle |= !slots;
        most = slots > most ? slots : most;
    }
    return codelet_multi_cycles(a, most + (idle && !p->narrow));
}

/* Pass i of n. */
static enum dw_pass pass_of(struct dw_kind kind, uint64_t i, uint64_t n)
{
    if (i + 1 == n)
        return PASS_FINAL;
    return dw_two_passes(kind) && i % 2 == 0 ? PASS_BACK : PASS_MIDDLE;
}

static uint64_t dw_cycles(const struct codelet_call *call, struct dw_kind kind)
{
    const struct arch *a = call->arch;
    uint64_t branch = arch_sup_branch_cycles(a), hidden = arch_exit_seen_cycles(a) - 1;
    uint64_t cycles = branch + arch_sup_result_cycles(a) + arch_sup_put_cycles(a) + 2;
    uint64_t launch, pair = 1, passes = dw_passes(kind);
    uint32_t blocks = call->arg[dw__blocks].value;
    struct dw_plan p =
        dw_plan(kind, call->arg[dw__ho].value, call->arg[dw__wo].value, call->arg[dw__wp].value);

    cycles += arch_sup_put_cycles(a);
    if (!blocks)
        return cycles - 1 + 2 * branch;
    launch = 1 + TAP_LOADS * dw_taps_loaded(kind, 0);
    for (uint32_t i = 1; i < passes; i++)
        pair +=
            1 + TAP_LOADS * dw_taps_loaded(kind, i) + pass_cycles(a, &p, pass_of(kind, i, passes));
    /* Instructions between a launch and its sync count, except those that run while workers exit.
     */
    cycles += 3 + launch + branch + 1 - hidden + pass_cycles(a, &p, PASS_SETUP);
    cycles += 2 * blocks * pair;
    cycles += blocks * (1 + branch - hidden + branch + launch + pass_cycles(a, &p, PASS_NEXT_PAIR));
    cycles += (blocks - 1) * (branch + launch + pass_cycles(a, &p, PASS_NEXT_BLOCK));
    return cycles + 1 + branch;
}

#define DW(name, k, stride, mixed)                                                                 \
    void name##_ref(const struct codelet_call *call)                                               \
    {                                                                                              \
        dw(call, (struct dw_kind){ k, stride, mixed });                                            \
    }                                                                                              \
    uint64_t name##_cycles(const struct codelet_call *call)                                        \
    {                                                                                              \
        return dw_cycles(call, (struct dw_kind){ k, stride, mixed });                              \
    }

DW(dw3_f16, 3, 1, 1)
DW(dw3s2_f16, 3, 2, 1)
DW(dw5_f16, 5, 1, 1)
DW(dw5s2_f16, 5, 2, 1)
DW(dw3_slide_f16, 3, 1, 0)
DW(dw3s2_slide_f16, 3, 2, 0)
DW(dw5_slide_f16, 5, 1, 0)
DW(dw5s2_slide_f16, 5, 2, 0)
