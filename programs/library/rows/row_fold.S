// row_fold.S: sums, sums of squares, maxima, minima and products of the parts of rows.
#define FAMILY "../rows/rows.def"
#include "../kernel/fields.inc"
#include "rows.inc"

#define NAME     row_sum_f16
#define BITS     16
#define ADD      f16v8acc
#include "row_fold.inc"

#define NAME     row_sumsq_f16
#define BITS     16
#define ADD      f16v8sqacc
#define SQUARE
#include "row_fold.inc"

#define NAME     row_sumsq_f32
#define BITS     32
#define ADD      f32v4sqacc
#define SQUARE
#include "row_fold.inc"

#define NAME     row_sum_f32
#define BITS     32
#define VECTOR   f32v2add
#define ELEMENT  f32add
#define LOW      0
#define HIGH     0
#include "row_fold.inc"

#define NAME     row_max_f16
#define BITS     16
#define VECTOR   f16v4max
#define PAIR     f16v2max
#define ELEMENT  f32max
#define LOW      0xfc00
#define HIGH     0xfc000000
#include "row_fold.inc"

#define NAME     row_max_f32
#define BITS     32
#define VECTOR   f32v2max
#define ELEMENT  f32max
#define LOW      0
#define HIGH     0xff800000
#include "row_fold.inc"

#define NAME     row_min_f16
#define BITS     16
#define VECTOR   f16v4min
#define PAIR     f16v2min
#define ELEMENT  f32min
#define LOW      0x7c00
#define HIGH     0x7c000000
#include "row_fold.inc"

#define NAME     row_min_f32
#define BITS     32
#define VECTOR   f32v2min
#define ELEMENT  f32min
#define LOW      0
#define HIGH     0x7f800000
#include "row_fold.inc"

#define NAME     row_prod_f32
#define BITS     32
#define VECTOR   f32v2mul
#define ELEMENT  f32mul
#define LOW      0
#define HIGH     0x3f800000
#include "row_fold.inc"

// Products of f16: the vectors are widened, so that four products are made in f32.
#define NAME     row_prod_f16
#define BITS     16
#define WIDE
#define ELEMENT  f32mul
#define LOW      0
#define HIGH     0x3f800000
#include "row_fold.inc"
