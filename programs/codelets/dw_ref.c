/* dw_ref.c - depthwise convolutions: meaning, window by window, and time. */
#include "programs/codelets/codelet_ref.h"
#include "programs/codelets/conv_pack.h"
#include "programs/codelets/dw_plan.h"

enum { X, WEIGHTS, Y, SCRATCH, WORK, BLOCKS, HO, WO, HP, WP };

/* A call, and where a pass of it works. */
struct dw {
    const struct codelet_call *call;
    struct dw_plan plan;
    uint32_t block, channel; /* the first of four */
    struct dw_window window;
    const uint16_t *weights; /* of the window: [taps][4 channels][2 halves][4] */
};

/* Four sums: each adds the products of a tap at once and rounds to f32; the result to f16. in:
 * four channels at the places of the taps, NULL for zeros. */
static void window_sums(const struct dw *d, const uint16_t *const in[DW_TAPS], const uint16_t *sum,
                        uint16_t *out)
{
    static const uint16_t zeros[DW_LANES];
    uint32_t half = d->channel / DW_LANES % DW_HALVES;
    struct fp_env env = { 0 };

    for (uint32_t c = 0; c < DW_LANES; c++) {
        uint32_t acc = fp_f16_to_f32(sum[c], &env);

        for (uint32_t j = 0; j < DW_TAPS; j++)
            acc = fp_f32_add_exact_f16_products(
                acc, in[j] ? in[j] : zeros,
                d->weights + ((j * DW_LANES + c) * DW_HALVES + half) * DW_LANES, DW_LANES, &env);
        out[c] = fp_f16_from_f32(acc, 0, &env);
    }
}

/* One position of the stream: a row of the output and a column of its row in the stream. `left`
 * positions of its worker come behind it. */
static void window_at(const struct dw *d, uint32_t row, uint32_t column, uint32_t left,
                      const uint16_t *sum, uint16_t *out)
{
    const struct dw_plan *p = &d->plan;
    const uint16_t *in[DW_TAPS] = { NULL }, *x = d->call->arg[X].data;
    uint32_t hp = d->call->arg[HP].value;

    for (uint32_t j = 0; j < DW_TAPS && j <= left + p->real; j++) {
        uint32_t r = row + (column + j) / p->pitch, c = (column + j) % p->pitch;
        int64_t at = d->window.base;

        /* Behind the last position no row ends. */
        if (j > left) {
            r = row + (column + left) / p->pitch;
            c = (column + left) % p->pitch + j - left;
        }
        at += (int64_t)p->stride * (r * p->wp + c) + d->block * hp * p->wp;
        in[j] = x + at * DW_ATOM + d->channel;
    }
    window_sums(d, in, sum, out);
}

static uint16_t *result_at(const struct dw *d, uint32_t row, uint32_t column)
{
    const struct dw_plan *p = &d->plan;
    uint16_t *y = d->call->arg[Y].data;

    return y + ((d->block * p->ho + row) * p->wo + column) * DW_ATOM + d->channel;
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

/* Window i of n. area: of the third. */
static void pass_wide(const struct dw *d, uint32_t third, uint32_t i, uint32_t n, uint16_t *area)
{
    const struct dw_plan *p = &d->plan;
    const struct dw_third *t = &p->third[third];
    uint32_t first = dw_area_first(p->k, p->stride, d->channel / DW_LANES % DW_HALVES);
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

static void dw(const struct codelet_call *call, uint32_t k, uint32_t stride)
{
    uint32_t wp = call->arg[WP].value, windows = dw_windows(k, stride), quads = DW_ATOM / DW_LANES;
    uint16_t *scratch = call->arg[SCRATCH].data;
    struct dw d = { .call = call };

    EMU_ASSERT(call->arch->workers == DW_HALVES * DW_THIRDS);
    d.plan = dw_plan(k, stride, call->arg[HO].value, call->arg[WO].value, wp);
    for (uint32_t i = 0; i < call->arg[BLOCKS].value * quads * windows * DW_THIRDS; i++) {
        uint32_t third = i % DW_THIRDS, window = i / DW_THIRDS % windows;
        uint32_t quad = i / DW_THIRDS / windows % quads;
        uint32_t pair = i / DW_THIRDS / windows / quads * (quads / DW_HALVES) + quad / DW_HALVES;

        d.block = i / DW_THIRDS / windows / quads;
        d.channel = quad * DW_LANES;
        d.window = dw_window(k, stride, wp, window);
        d.weights = (const uint16_t *)call->arg[WEIGHTS].data +
                    (size_t)(pair * windows + window) * DW_TAPS * DW_LANES * DW_HALVES * DW_LANES;
        if (d.plan.narrow)
            pass_narrow(&d, third, !window);
        else
            pass_wide(&d, third, window, windows, scratch + third * d.plan.longest * DW_AREA);
    }
}

void dw3_f16_ref(const struct codelet_call *call)
{
    dw(call, 3, 1);
}

void dw5_f16_ref(const struct codelet_call *call)
{
    dw(call, 5, 1);
}

void dw3s2_f16_ref(const struct codelet_call *call)
{
    dw(call, 3, 2);
}

void dw5s2_f16_ref(const struct codelet_call *call)
{
    dw(call, 5, 2);
}

/* ---- time: the instructions of dw.inc, counted ----
 *
 * Exact if the slowest worker of every pass is the last of its round, else some cycles a pass less.
 */

enum pass { PASS_SETUP, PASS_NEXT_BLOCK, PASS_NEXT_PAIR, PASS_MIDDLE, PASS_BACK, PASS_FINAL };
enum { LOADS = 16, PLACE_SLOTS = 14 };

static uint64_t wide_slots(const struct dw_plan *p, const struct dw_third *t, enum pass pass)
{
    uint32_t rows = t->end_row - t->row, s2 = p->stride == 2;
    uint64_t n = t->positions;

    if (s2 && rows)
        n += 3 + (rows > 1) + 3 * (rows - 1);
    n += s2 ? 12 : 11;
    switch (pass) {
    case PASS_SETUP:
        return n + PLACE_SLOTS + 9 + s2;
    case PASS_NEXT_BLOCK:
        return n + 5 + s2;
    case PASS_NEXT_PAIR:
        return n + 3 + s2;
    case PASS_MIDDLE:
        return n + s2;
    case PASS_BACK:
        return n + 2 * s2;
    case PASS_FINAL:
        break;
    }
    return s2 ? n + 1 : rows ? n + 8 + 3 * (rows - 1) : n + 3;
}

static uint64_t narrow_slots(const struct dw_plan *p, uint32_t third, enum pass pass)
{
    static const uint8_t before[] = { [PASS_SETUP] = 1 + PLACE_SLOTS + 4,
                                      [PASS_NEXT_BLOCK] = 7,
                                      [PASS_NEXT_PAIR] = 5,
                                      [PASS_MIDDLE] = 3,
                                      [PASS_BACK] = 4,
                                      [PASS_FINAL] = 4 };
    uint64_t rows = dw_narrow_rows(p, third);

    if (!rows)
        return 0;
    return before[pass] + (pass == PASS_SETUP && p->stride == 1) +
           (pass == PASS_BACK && p->stride == 2) + 5 +
           rows * (4 + (uint64_t)p->wo * (pass >= PASS_MIDDLE ? 9 : 8));
}

static uint64_t pass_cycles(const struct arch *a, const struct dw_plan *p, enum pass pass)
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

static uint64_t dw_cycles(const struct codelet_call *call, uint32_t k, uint32_t stride)
{
    const struct arch *a = call->arch;
    uint64_t branch = a->sup_branch_cycles, hidden = a->exit_seen_cycles - 1;
    uint64_t cycles = branch + a->sup_result_cycles + a->sup_put_cycles + 2;
    uint32_t blocks = call->arg[BLOCKS].value, middles = dw_windows(k, stride) - 2;
    struct dw_plan p =
        dw_plan(k, stride, call->arg[HO].value, call->arg[WO].value, call->arg[WP].value);
    uint64_t pair, started = middles == 1 ? 1 : 2, load = 1 + LOADS;

    if (!blocks)
        return cycles - 1 + 2 * branch;
    /* Instructions between a launch and its sync count beyond those that hide behind the exits. */
    pair = middles == 1
               ? pass_cycles(a, &p, PASS_MIDDLE)
               : middles / 2 * (pass_cycles(a, &p, PASS_MIDDLE) + pass_cycles(a, &p, PASS_BACK)) +
                     (middles / 2 - 1) * (1 + branch - hidden);
    pair += pass_cycles(a, &p, PASS_FINAL) + (middles + 1) * load + 1;
    cycles += 4 + LOADS + branch + started - hidden + pass_cycles(a, &p, PASS_SETUP);
    cycles += 2 * blocks * pair;
    cycles += blocks * (1 + branch - hidden + branch + load + pass_cycles(a, &p, PASS_NEXT_PAIR));
    cycles += (blocks - 1) * (branch + load + pass_cycles(a, &p, PASS_NEXT_BLOCK));
    return cycles + 1 + branch;
}

uint64_t dw3_f16_cycles(const struct codelet_call *call)
{
    return dw_cycles(call, 3, 1);
}

uint64_t dw5_f16_cycles(const struct codelet_call *call)
{
    return dw_cycles(call, 5, 1);
}

uint64_t dw3s2_f16_cycles(const struct codelet_call *call)
{
    return dw_cycles(call, 3, 2);
}

uint64_t dw5s2_f16_cycles(const struct codelet_call *call)
{
    return dw_cycles(call, 5, 2);
}
