/* dw_work.h - how a depthwise convolution is divided among workers and cut into passes. dw.inc
 * explains the words used here: pair, half, third, stream, gap, pass.
 */
#ifndef PROGRAMS_DW_WORK_H
#define PROGRAMS_DW_WORK_H

#include "programs/library/depthwise/dw_pack.h"

enum {
    DW_HALVES = 2,    /* in a pair, four channels each: one uses W0, one W1 */
    DW_THIRDS = 3,    /* of the output */
    DW_TAPS = 4,      /* in a window */
    DW_SHORT = 6,     /* fewest positions in a third, and in its last row */
    DW_LANES = 4,     /* channels in a vector */
    DW_CHANNELS = 16, /* channels in a block */
    DW_AREA = 16,     /* f16 values of scratch for a position */
    DW_POSITION = 32  /* bytes of a position: DW_CHANNELS channels */
};

/* The output positions from (row, column) up to but not including (end_row, end_column), which is
 * the position after the last one, in the same row: end_column is at least 1. */
struct dw_third {
    uint32_t row, column, end_row, end_column;
    uint32_t positions; /* in the stream, gaps between rows included; 0: the third is empty */
};

struct dw_plan {
    struct dw_kind kind;
    uint32_t ho, wo, wp;
    uint32_t pitch;   /* positions of a row in the stream */
    int narrow;       /* 1: position by position; third t has rows t, t + 3, ... */
    uint32_t longest; /* positions of the longest third */
    struct dw_third third[DW_THIRDS];
};

/* What the two units multiply in a pass. The sliding unit has a window that begins `base` positions
 * of x after the first kernel position of an output; its tap j is kernel column column[j] of `row`.
 * The matrix unit has a second window, second_base positions after the first; its tap j is column
 * second[j] of second_row. A negative column means a weight of 0. */
struct dw_window {
    int32_t base;
    uint32_t row, second_row, second_base;
    int column[DW_TAPS], second[DW_TAPS];
    int two;       /* 1: the matrix unit takes part */
    uint32_t real; /* inputs that enter after the last position */
};

struct dw_plan dw_plan(struct dw_kind kind, uint32_t ho, uint32_t wo, uint32_t wp);
uint32_t dw_passes(struct dw_kind kind);
/* Whether a kernel row takes two passes. */
int dw_two_passes(struct dw_kind kind);
struct dw_window dw_window(struct dw_kind kind, uint32_t wp, uint32_t pass);
/* Whether the weights of a tap must be loaded for a pass: if they may differ from 0 in this pass,
 * or in the one before. */
int dw_tap_is_loaded(struct dw_kind kind, uint32_t pass, uint32_t tap, int second);
/* How many taps are loaded for a pass; each has weights for the four channels of both halves. */
uint32_t dw_taps_loaded(struct dw_kind kind, uint32_t pass);
/* To which of the two vectors of scratch of a position the first pass of a half stores; later
 * passes store to the two in turn. Chosen so that the last pass, which stores to y, loads from the
 * vector that can be accessed together with y. */
uint32_t dw_area_first(struct dw_kind kind, uint32_t half);
/* How many rows a narrow third has. */
uint32_t dw_narrow_rows(const struct dw_plan *p, uint32_t third);

#endif
