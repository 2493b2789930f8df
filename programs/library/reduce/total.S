// total.S: sums, sums of squares and maxima of every worker's share.
#include "../kernel/worker.inc"
#define FAMILY "../reduce/reduce.def"
#include "../kernel/fields.inc"

#define NAME   total_sum_f16
#define FIELDS total
#define BITS   16
#define ADD    f16v8acc
#include "total.inc"

#define NAME   total_sum_f32
#define FIELDS total
#define BITS   32
#define ADD    f32v4acc
#include "total.inc"

#define NAME   total_sumsq_f16
#define FIELDS total
#define BITS   16
#define ADD    f16v8sqacc
#define SQUARE
#include "total.inc"

#define NAME   total_sumsq_f32
#define FIELDS total
#define BITS   32
#define ADD    f32v4sqacc
#define SQUARE
#include "total.inc"

#define NAME   total_max_f16
#define FIELDS total
#define BITS   16
#define MAX    f16v4max
#include "total.inc"

#define NAME   total_max_f32
#define FIELDS total
#define BITS   32
#define MAX    f32v2max
#include "total.inc"
