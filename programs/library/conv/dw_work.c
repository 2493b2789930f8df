/* dw_work.c - thirds of the output, windows, and the work list that tells dw.inc both. */
#include "programs/library/conv/dw_work.h"

#include <string.h>

#include "programs/library/conv/conv_pack.h"

/* ---- windows ---- */

static int two_rows(uint32_t k, uint32_t stride)
{
    return k == 3 && stride == 1;
}

uint32_t dw_passes(uint32_t k, uint32_t stride)
{
    return two_rows(k, stride) ? 2 : k;
}

/* Pass 0 has kernel rows 0 and 1, pass 1 row 2, whose window begins a position earlier, so that
 * nothing after x is read. */
static void window_two_rows(uint32_t wp, uint32_t pass, struct dw_window *w)
{
    if (pass) {
        w->row = 2;
        w->base = (int32_t)(2 * wp) - 1;
        w->two = 0;
    }
    w->second_row = 1;
    w->second_base = wp;
    for (int c = 0; c < 3; c++) {
        w->column[c + (pass > 0)] = c;
        w->second[c] = pass ? -1 : c;
    }
}

struct dw_window dw_window(uint32_t k, uint32_t stride, uint32_t wp, uint32_t pass)
{
    struct dw_window w = { (int32_t)(pass * wp), pass, pass, 1, { 0 }, { 0 }, 1 };

    for (int j = 0; j < DW_TAPS; j++)
        w.column[j] = w.second[j] = -1;
    if (two_rows(k, stride)) {
        window_two_rows(wp, pass, &w);
    } else if (stride == 2) {
        for (int c = 0; c < (int)k; c++)
            (c % 2 ? w.second : w.column)[c / 2] = c;
    } else {
        for (int c = 0; c < DW_TAPS; c++)
            w.column[c] = c;
        w.second[DW_TAPS - 1] = DW_TAPS;
    }
    return w;
}

int dw_tap_is_loaded(uint32_t k, uint32_t stride, uint32_t pass, uint32_t tap, int second)
{
    struct dw_window w = dw_window(k, stride, 0, pass);

    /* Rows 0 and 2 use different taps, so all are loaded. */
    if (two_rows(k, stride) && !second)
        return 1;
    return (second ? w.second : w.column)[tap] >= 0;
}

uint32_t dw_taps_loaded(uint32_t k, uint32_t stride, uint32_t pass)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < 2 * DW_TAPS; i++)
        n += (uint32_t)dw_tap_is_loaded(k, stride, pass, i / 2, i % 2);
    return n;
}

/* ---- thirds ---- */

/* A boundary between thirds: before the position (row, column), or, in column 0, at the end of the
 * row above. */
struct dw_place {
    uint32_t row, column;
};

/* The boundary nearest to position `at` of the stream at which a third may end. */
static struct dw_place legal_place(const struct dw_plan *p, uint32_t at)
{
    struct dw_place c = { at / p->pitch, at % p->pitch };
    uint32_t most = p->stride == 1 ? p->wo - 1 : p->pitch - DW_SHORT;

    if (c.column >= p->wo)
        return (struct dw_place){ c.row + 1, 0 };
    if (c.column && c.column < DW_SHORT)
        c.column = c.column > DW_SHORT / 2 && DW_SHORT <= most ? DW_SHORT : 0;
    if (c.column > most)
        c.column = most >= DW_SHORT ? most : 0;
    return c;
}

static struct dw_third third_between(const struct dw_plan *p, struct dw_place from,
                                     struct dw_place to)
{
    struct dw_third t = { from.row, from.column, to.row, to.column, 0 };

    if (from.row > to.row || (from.row == to.row && from.column >= to.column))
        return t;
    if (!to.column) {
        t.end_row--;
        t.end_column = p->wo;
    }
    t.positions = (t.end_row - t.row) * p->pitch + t.end_column - t.column;
    return t;
}

static int third_fits(const struct dw_plan *p, const struct dw_third *t)
{
    if (!t->positions)
        return 1;
    if (t->row == t->end_row)
        return t->positions >= DW_SHORT;
    return t->end_column >= DW_SHORT && (p->stride == 1 || t->column + DW_SHORT <= p->pitch);
}

/* Cuts the output at place[1] and place[2]. Returns the cost of the slowest third; UINT32_MAX if
 * these cuts are not possible. */
static uint32_t try_places(struct dw_plan *p, const struct dw_place place[DW_THIRDS + 1])
{
    uint32_t most = 0;

    p->longest = 0;
    for (uint32_t t = 0; t < DW_THIRDS; t++) {
        struct dw_third *third = &p->third[t];
        uint32_t cost;

        *third = third_between(p, place[t], place[t + 1]);
        if (!third_fits(p, third))
            return UINT32_MAX;
        cost = third->positions + 3 * (third->end_row - third->row);
        most = cost > most ? cost : most;
        p->longest = third->positions > p->longest ? third->positions : p->longest;
    }
    return most;
}

/* Cuts the stream into equal parts, 3 or 2. */
static uint32_t try_parts(struct dw_plan *p, uint32_t parts)
{
    uint32_t all = (p->ho - 1) * p->pitch + p->wo;
    struct dw_place place[DW_THIRDS + 1] = { { 0, 0 } };

    for (uint32_t t = 1; t <= DW_THIRDS; t++)
        place[t] = t < parts ? legal_place(p, (all * t + parts - 1) / parts)
                             : (struct dw_place){ p->ho, 0 };
    return try_places(p, place);
}

static uint32_t try_rows(struct dw_plan *p)
{
    uint32_t rows = (p->ho + DW_THIRDS - 1) / DW_THIRDS;
    struct dw_place place[DW_THIRDS + 1] = { { 0, 0 } };

    for (uint32_t t = 1; t <= DW_THIRDS; t++)
        place[t].row = rows * t < p->ho ? rows * t : p->ho;
    return try_places(p, place);
}

struct dw_plan dw_plan(uint32_t k, uint32_t stride, uint32_t ho, uint32_t wo, uint32_t wp)
{
    struct dw_plan p = { .k = k, .stride = stride, .ho = ho, .wo = wo, .wp = wp }, best;
    uint32_t least;

    p.pitch = stride == 1 ? wp : wo + k / 2;
    p.real = stride == 1 ? DW_TAPS - 1 : k / 2;
    p.narrow = wo < DW_SHORT;
    if (p.narrow || !ho)
        return p;
    best = p;
    least = try_rows(&best);
    for (uint32_t parts = DW_THIRDS; parts > 1; parts--) {
        struct dw_plan other = p;
        uint32_t cost = try_parts(&other, parts);

        if (cost < least) {
            least = cost;
            best = other;
        }
    }
    return best;
}

uint32_t dw_narrow_rows(const struct dw_plan *p, uint32_t third)
{
    return p->wo ? (p->ho + DW_THIRDS - 1 - third) / DW_THIRDS : 0;
}

uint32_t dw_area_first(uint32_t k, uint32_t stride, uint32_t half)
{
    return half * DW_AREA / DW_HALVES + (half ^ (dw_passes(k, stride) % 2 == 0)) * DW_LANES;
}

uint32_t dw_scratch_halves(uint32_t k, uint32_t stride, uint32_t ho, uint32_t wo, uint32_t wp)
{
    struct dw_plan p = dw_plan(k, stride, ho, wo, wp);

    return p.longest ? DW_THIRDS * p.longest * DW_AREA : DW_AREA; /* an edge must not be empty */
}

/* ---- the work list ---- */

enum { VARIANT_IDLE = -8, VARIANT_NARROW = -16 };
enum { RECORDS = 1, RECORD = 14 };
enum { HEAD = 5 }; /* steps before the first repeat */
enum {
    REC_X,
    REC_Y,
    REC_AREA,
    REC_STRIDES,
    REC_COUNT,
    REC_FIRST,
    REC_ROWS,
    REC_LAST,
    REC_WO,
    REC_GAP,
    REC_ROW,
    REC_BACK_PAIR,
    REC_BACK_BLOCK,
    REC_Y_BLOCK,
    REC_Q5 = REC_FIRST,
    REC_JUMP = REC_WO,
    REC_COLS = REC_FIRST,
    REC_X_ROW,
    REC_Y_ROW
};
_Static_assert(DW_WORK_WORDS == RECORDS + DW_HALVES * DW_THIRDS * RECORD, "the work list");

static void wide_record(const struct dw_plan *p, const struct dw_third *t, uint32_t *rec)
{
    uint32_t single = t->row == t->end_row;

    rec[REC_X] += DW_POSITION * p->stride * (t->row * p->wp + t->column);
    rec[REC_Y] += DW_POSITION * (t->row * p->wo + t->column);
    rec[REC_ROWS] = single ? UINT32_MAX : t->end_row - t->row - 1;
    rec[REC_LAST] = t->end_column - DW_SHORT;
    if (p->stride == 1) {
        rec[REC_COUNT] = t->positions - DW_SHORT;
        rec[REC_FIRST] = single ? rec[REC_COUNT] : p->wo - t->column;
        rec[REC_WO] = p->wo;
        rec[REC_GAP] = p->pitch - p->wo;
    } else {
        rec[REC_COUNT] = (single ? t->positions : p->pitch - t->column) - HEAD;
        rec[REC_LAST] = t->end_column - HEAD;
        rec[REC_Q5] = p->pitch - HEAD;
        rec[REC_JUMP] = DW_POSITION * p->stride * (p->wp - p->pitch);
    }
}

static void narrow_record(const struct dw_plan *p, uint32_t third, uint32_t *rec)
{
    uint32_t row = DW_POSITION * p->stride * p->wp;

    rec[REC_X] += third * row;
    rec[REC_Y] += third * DW_POSITION * p->wo;
    rec[REC_COUNT] = dw_narrow_rows(p, third) - 1;
    rec[REC_COLS] = p->wo - 1;
    rec[REC_X_ROW] = DW_THIRDS * row - DW_POSITION * p->stride * p->wo;
    rec[REC_Y_ROW] = (DW_THIRDS - 1) * DW_POSITION * p->wo;
}

void dw_work(uint32_t k, uint32_t stride, uint32_t ho, uint32_t wo, uint32_t hp, uint32_t wp,
             uint32_t work[DW_WORK_WORDS])
{
    struct dw_plan p = dw_plan(k, stride, ho, wo, wp);
    struct dw_window last = dw_window(k, stride, wp, dw_passes(k, stride) - 1);
    uint32_t first = k == 3 && stride == 1 ? (uint32_t)-DW_POSITION : 0;
    uint32_t back = first - DW_POSITION * (uint32_t)last.base;
    uint32_t pair = DW_HALVES * DW_LANES * 2, idle = 0;

    memset(work, 0, DW_WORK_WORDS * sizeof(*work));
    for (uint32_t w = 0; w < DW_HALVES * DW_THIRDS; w++) {
        uint32_t *rec = work + RECORDS + w * RECORD, third = w % DW_THIRDS, half = w / DW_THIRDS;

        rec[REC_X] = first + half * DW_LANES * 2;
        rec[REC_Y] = half * DW_LANES * 2;
        rec[REC_AREA] = third * p.longest * DW_POSITION + 2 * dw_area_first(k, stride, half);
        rec[REC_STRIDES] = half << 31 | 2 * DW_POSITION / 8 << 10 | DW_POSITION / 8;
        rec[REC_ROW] = DW_POSITION * wp;
        rec[REC_BACK_PAIR] = back + pair;
        rec[REC_BACK_BLOCK] = back - pair + DW_POSITION * hp * wp;
        rec[REC_Y_BLOCK] = DW_POSITION * ho * wo - pair;
        if (p.narrow)
            narrow_record(&p, third, rec);
        else if (p.third[third].positions)
            wide_record(&p, &p.third[third], rec);
        else
            rec[REC_COUNT] = UINT32_MAX;
        idle |= rec[REC_COUNT] >> 31;
    }
    work[0] = p.narrow ? (uint32_t)VARIANT_NARROW : idle ? (uint32_t)VARIANT_IDLE : 0;
}
