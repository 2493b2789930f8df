/* dw_work.c - thirds of the output, windows, and the work list that tells dw.inc both. */
#include "programs/library/depthwise/dw_work.h"

#include <string.h>

/* ---- windows ---- */

/* Whether a window has a whole row of the kernel, and the first pass the next row besides if the
 * units are mixed. */
static int whole_rows(struct dw_kind kind)
{
    return kind.k == 3 && kind.stride == 1;
}

int dw_two_passes(struct dw_kind kind)
{
    return !kind.mixed && !whole_rows(kind);
}

uint32_t dw_passes(struct dw_kind kind)
{
    if (whole_rows(kind))
        return kind.mixed ? 2 : 3;
    return dw_two_passes(kind) ? 2 * kind.k : kind.k;
}

/* The first pass has kernel row 0, with the matrix unit row 1, too. The window of the others begins
 * a position earlier, so that nothing after x is read. */
static void window_whole_rows(struct dw_kind kind, uint32_t wp, uint32_t pass, struct dw_window *w)
{
    w->row = pass && kind.mixed ? 2 : pass;
    w->base = (int32_t)(w->row * wp) - (pass > 0);
    w->two = kind.mixed && !pass;
    w->second_row = 1;
    w->second_base = wp;
    for (int c = 0; c < 3; c++) {
        w->column[c + (pass > 0)] = c;
        w->second[c] = w->two ? c : -1;
    }
}

/* The second of two passes of a row has the columns that are else the matrix unit's. */
static void window_alone(struct dw_kind kind, uint32_t wp, uint32_t pass, struct dw_window *w)
{
    int later = pass % 2;

    w->row = pass / 2;
    w->base = (int32_t)(w->row * wp) + later;
    w->two = 0;
    if (later)
        memcpy(w->column, w->second, sizeof(w->column));
    if (later && kind.stride == 2)
        w->real--;
    for (int j = 0; j < DW_TAPS; j++)
        w->second[j] = -1;
}

struct dw_window dw_window(struct dw_kind kind, uint32_t wp, uint32_t pass)
{
    struct dw_window w = { (int32_t)(pass * wp), pass, pass, 1, { 0 }, { 0 }, 1, DW_TAPS - 1 };

    for (int j = 0; j < DW_TAPS; j++)
        w.column[j] = w.second[j] = -1;
    if (whole_rows(kind)) {
        window_whole_rows(kind, wp, pass, &w);
        return w;
    }
    if (kind.stride == 2) {
        w.real = kind.k / 2;
        for (int c = 0; c < (int)kind.k; c++)
            (c % 2 ? w.second : w.column)[c / 2] = c;
    } else {
        for (int c = 0; c < DW_TAPS; c++)
            w.column[c] = c;
        w.second[DW_TAPS - 1] = DW_TAPS;
    }
    if (!kind.mixed)
        window_alone(kind, wp, pass, &w);
    return w;
}

int dw_tap_is_loaded(struct dw_kind kind, uint32_t pass, uint32_t tap, int second)
{
    struct dw_window w = dw_window(kind, 0, pass);

    if (second)
        return w.second[tap] >= 0;
    /* Windows of whole rows use different taps, so all are loaded; the second of two passes uses
     * none that the first does not. */
    if (whole_rows(kind))
        return 1;
    return dw_window(kind, 0, dw_two_passes(kind) ? 0 : pass).column[tap] >= 0;
}

uint32_t dw_taps_loaded(struct dw_kind kind, uint32_t pass)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < 2 * DW_TAPS; i++)
        n += (uint32_t)dw_tap_is_loaded(kind, pass, i / 2, i % 2);
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
    uint32_t most = p->kind.stride == 1 ? p->wo - 1 : p->pitch - DW_SHORT;

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
    return t->end_column >= DW_SHORT && (p->kind.stride == 1 || t->column + DW_SHORT <= p->pitch);
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

struct dw_plan dw_plan(struct dw_kind kind, uint32_t ho, uint32_t wo, uint32_t wp)
{
    struct dw_plan p = { .kind = kind, .ho = ho, .wo = wo, .wp = wp }, best;
    uint32_t least;

    p.pitch = kind.stride == 1 ? wp : wo + kind.k / 2;
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

uint32_t dw_area_first(struct dw_kind kind, uint32_t half)
{
    return half * DW_AREA / DW_HALVES + (half ^ (dw_passes(kind) % 2 == 0)) * DW_LANES;
}

uint32_t dw_scratch_halves(struct dw_kind kind, uint32_t ho, uint32_t wo, uint32_t wp)
{
    struct dw_plan p = dw_plan(kind, ho, wo, wp);

    return p.longest ? DW_THIRDS * p.longest * DW_AREA : DW_AREA; /* an edge must not be empty */
}

/* ---- the work list ---- */

enum { VARIANT_IDLE = -8, VARIANT_NARROW = -16 };
enum { RECORDS = 1, RECORD = 14 };
enum { HEAD = 5 }; /* steps before the first repeat, of which nothing comes out */
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
    uint32_t single = t->row == t->end_row, stride = p->kind.stride;
    /* With stride 2 the sliding unit alone has loaded the next input when a row ends, as with 1. */
    uint32_t before = p->kind.mixed ? HEAD : HEAD + 1;

    rec[REC_X] += DW_POSITION * stride * (t->row * p->wp + t->column);
    rec[REC_Y] += DW_POSITION * (t->row * p->wo + t->column);
    rec[REC_ROWS] = single ? UINT32_MAX : t->end_row - t->row - 1;
    rec[REC_LAST] = t->end_column - DW_SHORT;
    if (stride == 1) {
        rec[REC_COUNT] = t->positions - DW_SHORT;
        rec[REC_FIRST] = single ? rec[REC_COUNT] : p->wo - t->column;
        rec[REC_WO] = p->wo;
        rec[REC_GAP] = p->pitch - p->wo;
    } else {
        rec[REC_COUNT] = (single ? t->positions : p->pitch - t->column) - before;
        rec[REC_LAST] = t->end_column - before;
        rec[REC_Q5] = p->pitch - before;
        rec[REC_JUMP] = DW_POSITION * stride * (p->wp - p->pitch);
    }
}

static void narrow_record(const struct dw_plan *p, uint32_t third, uint32_t *rec)
{
    uint32_t stride = p->kind.stride, row = DW_POSITION * stride * p->wp;

    rec[REC_X] += third * row;
    rec[REC_Y] += third * DW_POSITION * p->wo;
    rec[REC_COUNT] = dw_narrow_rows(p, third) - 1;
    rec[REC_COLS] = p->wo - 1;
    rec[REC_X_ROW] = DW_THIRDS * row - DW_POSITION * stride * p->wo;
    rec[REC_Y_ROW] = (DW_THIRDS - 1) * DW_POSITION * p->wo;
}

void dw_work(struct dw_kind kind, uint32_t ho, uint32_t wo, uint32_t hp, uint32_t wp,
             uint32_t work[DW_WORK_WORDS])
{
    struct dw_plan p = dw_plan(kind, ho, wo, wp);
    struct dw_window last = dw_window(kind, wp, dw_passes(kind) - 1);
    uint32_t first = whole_rows(kind) ? (uint32_t)-DW_POSITION : 0;
    uint32_t back = first - DW_POSITION * (uint32_t)last.base;
    uint32_t pair = DW_HALVES * DW_LANES * 2, idle = 0;

    memset(work, 0, DW_WORK_WORDS * sizeof(*work));
    for (uint32_t w = 0; w < DW_HALVES * DW_THIRDS; w++) {
        uint32_t *rec = work + RECORDS + w * RECORD, third = w % DW_THIRDS, half = w / DW_THIRDS;

        rec[REC_X] = first + half * DW_LANES * 2;
        rec[REC_Y] = half * DW_LANES * 2;
        rec[REC_AREA] = third * p.longest * DW_POSITION + 2 * dw_area_first(kind, half);
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
