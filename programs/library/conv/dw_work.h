/* dw_work.h - how a depthwise convolution is shared out over workers and cut into passes. What
 * words mean: dw.inc.
 */
#ifndef PROGRAMS_DW_PLAN_H
#define PROGRAMS_DW_PLAN_H

#include <stdint.h>

enum {
    DW_HALVES = 2,   /* of a pair of four channels each: one for W0, one for W1 */
    DW_THIRDS = 3,   /* of the output */
    DW_TAPS = 4,     /* of a window */
    DW_SHORT = 6,    /* fewest positions of a third, and of its last row */
    DW_LANES = 4,    /* channels of a vector */
    DW_ATOM = 16,    /* channels of a block */
    DW_AREA = 16,    /* f16 values of scratch for a position */
    DW_POSITION = 32 /* bytes */
};

/* Output positions from (row, column) on up to but not including (end_row, end_column), the
 * position after the last one: in rows of the output, end_column at least 1. */
struct dw_third {
    uint32_t row, column, end_row, end_column;
    uint32_t positions; /* of the stream, gaps between rows included; 0: nothing */
};

struct dw_plan {
    uint32_t k, stride, ho, wo, wp;
    uint32_t pitch;   /* positions of a row of the stream */
    uint32_t real;    /* inputs that enter after the last position */
    int narrow;       /* position by position: third t has rows t, t + 3, ... */
    uint32_t longest; /* positions of a third */
    struct dw_third third[DW_THIRDS];
};

/* A pass: a window of the sliding unit, base positions of x after that of an output's first kernel
 * position, tap j at kernel column column[j] of row; and one of the matrix unit, second_base
 * positions after the first, tap j at second[j] of second_row. Negative columns: weight 0. */
struct dw_window {
    int32_t base;
    uint32_t row, second_row, second_base;
    int column[DW_TAPS], second[DW_TAPS];
    int two; /* the matrix unit takes part */
};

struct dw_plan dw_plan(uint32_t k, uint32_t stride, uint32_t ho, uint32_t wo, uint32_t wp);
uint32_t dw_passes(uint32_t k, uint32_t stride);
struct dw_window dw_window(uint32_t k, uint32_t stride, uint32_t wp, uint32_t pass);
/* Whether the weights of a tap are loaded for a pass: those that may not be 0 there, or before. */
int dw_tap_is_loaded(uint32_t k, uint32_t stride, uint32_t pass, uint32_t tap, int second);
/* How many are: each for four channels of both halves. */
uint32_t dw_taps_loaded(uint32_t k, uint32_t stride, uint32_t pass);
/* Where in the scratch of a position the first pass of a half stores: so that the last one does not
 * load from the vector of 16 bytes which y has for this half. The second pass stores to the other
 * one, and so on. */
uint32_t dw_area_first(uint32_t k, uint32_t stride, uint32_t half);
/* Rows of a narrow third. */
uint32_t dw_narrow_rows(const struct dw_plan *p, uint32_t third);

#endif
