// reduce.S: sums, sums of squares and maxima over partials.
#include "../kernel/worker.inc"
#define FAMILY "../reduce/reduce.def"
#include "../kernel/fields.inc"

#define NAME     reduce_sum_f16_f16
#define FIELDS   reduce
#define IN_BITS  16
#define OUT_BITS 16
#define ADD      f16v8acc
#include "reduce.inc"

#define NAME     reduce_sum_f16_f32
#define FIELDS   reduce
#define IN_BITS  16
#define OUT_BITS 32
#define ADD      f16v8acc
#include "reduce.inc"

#define NAME     reduce_sum_f32_f32
#define FIELDS   reduce
#define IN_BITS  32
#define OUT_BITS 32
#define ADD      f32v4acc
#include "reduce.inc"

#define NAME     reduce_sumsq_f16_f16
#define FIELDS   reduce
#define IN_BITS  16
#define OUT_BITS 16
#define ADD      f16v8sqacc
#include "reduce.inc"

#define NAME     reduce_sumsq_f16_f32
#define FIELDS   reduce
#define IN_BITS  16
#define OUT_BITS 32
#define ADD      f16v8sqacc
#include "reduce.inc"

#define NAME     reduce_sumsq_f32_f32
#define FIELDS   reduce
#define IN_BITS  32
#define OUT_BITS 32
#define ADD      f32v4sqacc
#include "reduce.inc"

#define NAME     reduce_max_f16_f16
#define FIELDS   reduce
#define IN_BITS  16
#define OUT_BITS 16
#define MAX2     f16v4max
#define MAX1     f16v2max
#include "reduce.inc"

#define NAME     reduce_max_f16_f32
#define FIELDS   reduce
#define IN_BITS  16
#define OUT_BITS 32
#define MAX2     f16v4max
#define MAX1     f16v2max
#include "reduce.inc"

#define NAME     reduce_max_f32_f32
#define FIELDS   reduce
#define IN_BITS  32
#define OUT_BITS 32
#define MAX2     f32v2max
#define MAX1     f32max
#include "reduce.inc"
