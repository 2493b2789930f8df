/* arch_exchange.c - the geometry of the exchange: numbering, delays, directions.
 *
 * A column exchange has rows of 16 columns; a row's crossing with a column is a group of four
 * tiles, two pairs. Columns 0..7 and 8..15 are the two halves, folded: column 15 lies beside column
 * 0. The formulas were recovered from a public project that drives a C600 (ipu-stack);
 * tests/emu/test_arch.c holds their properties.
 */
#include "emu/arch/arch_private.h"

enum {
    GROUP_TILES = 4, /* tiles where a row crosses a column */
    FOLD_CYCLES = 6, /* per folded column, between the tile and the point where directions split */
    COLUMN_CYCLES = 4, /* per folded column, along the trunk */
    ROW_CYCLES = 2,    /* per row */
    DELAY_ORIGIN = -34 /* puts event 0 at the release of the sync */
};

/* Where a physical tile lies. */
struct tile_position {
    int row, column, half, fold; /* fold: column counted from the fold of its half */
    int side, lane;              /* lowest bit; lowest two bits of the id */
};

static uint32_t row_tiles(const struct arch *a)
{
    return GROUP_TILES * arch_exchange_columns(a);
}

uint32_t arch_physical_count(const struct arch *a)
{
    return arch_exchange_kind(a) == ARCH_EXCHANGE_FLAT ? a->tiles
                                                       : arch_exchange_rows(a) * row_tiles(a);
}

void arch_exchange_make_room(struct arch *a)
{
    uint32_t per_row = row_tiles(a), first;

    if (arch_exchange_kind(a) == ARCH_EXCHANGE_COLUMNS &&
        a->tiles > arch_exchange_rows(a) * per_row)
        a->number[ARCH_NUMBER_exchange_rows] = (a->tiles + per_row - 1) / per_row;
    first = arch_physical_count(a);
    if (first <= arch_host_source(a))
        return;
    a->number[ARCH_NUMBER_host_source] =
        (first + arch_host_source_count(a) - 1) / arch_host_source_count(a);
    a->number[ARCH_NUMBER_host_source] *= arch_host_source_count(a);
    a->null_source = arch_host_source(a) + arch_host_source_count(a);
}

/* Pairs fill a block, which is one side of a column, row by row, odd blocks backwards: logical
 * neighbours stay neighbours. */
uint32_t arch_tile_physical(const struct arch *a, uint32_t logical)
{
    uint32_t pair = logical / 2, lane = logical % 2, block, row, column;

    EMU_ASSERT(logical < a->tiles);
    if (arch_exchange_kind(a) == ARCH_EXCHANGE_FLAT)
        return logical;
    block = pair / arch_exchange_rows(a);
    row = pair % arch_exchange_rows(a);
    if (block % 2)
        row = arch_exchange_rows(a) - 1 - row;
    column = GROUP_TILES * (block / 2) + block % 2;
    return row_tiles(a) * row + column + 2 * lane;
}

int arch_tile_logical(const struct arch *a, uint32_t physical)
{
    uint32_t row, rest, block, logical;

    if (physical >= arch_physical_count(a))
        return -1;
    if (arch_exchange_kind(a) == ARCH_EXCHANGE_FLAT)
        return (int)physical;
    row = physical / row_tiles(a);
    rest = physical % row_tiles(a);
    block = 2 * (rest / GROUP_TILES) + rest % 2;
    if (block % 2)
        row = arch_exchange_rows(a) - 1 - row;
    logical = 2 * (block * arch_exchange_rows(a) + row) + rest / 2 % 2;
    return logical < a->tiles ? (int)logical : -1;
}

static struct tile_position place_of(const struct arch *a, uint32_t physical)
{
    int columns = (int)arch_exchange_columns(a);
    struct tile_position p;

    p.row = (int)(physical / row_tiles(a));
    p.column = (int)(physical % row_tiles(a) / GROUP_TILES);
    p.half = p.column / (columns / 2);
    p.fold = p.half ? columns - 1 - p.column : p.column;
    p.side = (int)(physical % 2);
    p.lane = (int)(physical % GROUP_TILES);
    return p;
}

/* The sign of the way decides the direction, its size is part of the delay. */
static void set_way(struct arch_exchange_end *e, const struct tile_position *p)
{
    int entry;

    if (p->lane > 1)
        entry = p->half == p->side ? 2 : 4;
    else
        entry = p->half == p->lane ? 1 : 5;
    e->way_from = -FOLD_CYCLES * (p->fold + (p->half ^ p->side));
    e->way_to = FOLD_CYCLES * p->fold + entry;
}

struct arch_exchange_end arch_exchange_end_of(const struct arch *a, uint32_t physical)
{
    struct tile_position p;
    struct arch_exchange_end e = { .flat = arch_exchange_kind(a) == ARCH_EXCHANGE_FLAT };
    int half = (int)arch_exchange_columns(a) / 2, in_half, from;

    EMU_ASSERT(physical < arch_physical_count(a));
    if (e.flat) {
        e.to = (int)arch_exchange_flat_cycles(a);
        return e;
    }
    p = place_of(a, physical);
    in_half = p.column % half;
    from = half * p.half + p.column / 2 % (half / 2) + ((in_half / 2) ^ (half / 2 - 1)) +
           COLUMN_CYCLES * p.fold + ROW_CYCLES * p.row + DELAY_ORIGIN;
    e.half = (uint8_t)p.half;
    e.from[0] = from + in_half + 1;
    e.from[1] = from + 2 * half - in_half;
    e.to = -p.column - COLUMN_CYCLES * p.fold - ROW_CYCLES * p.row;
    set_way(&e, &p);
    return e;
}

int arch_exchange_delay(const struct arch *a, uint32_t s_physical, uint32_t d_physical)
{
    struct arch_exchange_end s = arch_exchange_end_of(a, s_physical),
                             d = arch_exchange_end_of(a, d_physical);

    return arch_exchange_delay_between(&s, &d);
}

unsigned arch_exchange_direction(const struct arch *a, uint32_t s_physical, uint32_t d_physical)
{
    struct arch_exchange_end s = arch_exchange_end_of(a, s_physical),
                             d = arch_exchange_end_of(a, d_physical);

    return arch_exchange_direction_between(&s, &d);
}

unsigned arch_pic_lag(const struct arch *a, uint32_t d_physical)
{
    EMU_ASSERT(d_physical < arch_physical_count(a));
    if (arch_exchange_kind(a) == ARCH_EXCHANGE_FLAT)
        return arch_pic_lag_base_cycles(a);
    return arch_pic_lag_base_cycles(a) + arch_pic_lag_row_cycles(a) * (d_physical / row_tiles(a));
}

/* Within a position of the row T depends on the rows by ROW_CYCLES (r_s - r_d) only, so the first
 * and last populated row of each of the positions decide. */
void arch_exchange_delay_span(const struct arch *a, int *min, int *max)
{
    struct {
        int first, last;
    } rows[GROUP_TILES * 64];
    uint32_t positions = row_tiles(a);
    int found = 0;

    if (arch_exchange_kind(a) == ARCH_EXCHANGE_FLAT) {
        *min = *max = (int)arch_exchange_flat_cycles(a);
        return;
    }
    EMU_ASSERT(positions <= EMU_COUNT_OF(rows));
    for (uint32_t i = 0; i < positions; i++)
        rows[i].first = rows[i].last = -1;
    for (uint32_t tile = 0; tile < a->tiles; tile++) {
        uint32_t p = arch_tile_physical(a, tile), i = p % positions;
        int row = (int)(p / positions);

        if (rows[i].first < 0 || row < rows[i].first)
            rows[i].first = row;
        if (row > rows[i].last)
            rows[i].last = row;
    }
    *min = *max = 0;
    for (uint32_t i = 0; i < positions; i++)
        for (uint32_t j = 0; j < positions; j++) {
            int level, low, high;

            if (rows[i].first < 0 || rows[j].first < 0)
                continue;
            level = arch_exchange_delay(a, i, j); /* both in row 0 */
            low = level + ROW_CYCLES * (rows[i].first - rows[j].last);
            high = level + ROW_CYCLES * (rows[i].last - rows[j].first);
            if (!found || low < *min)
                *min = low;
            if (!found || high > *max)
                *max = high;
            found = 1;
        }
}
