// linear.S: rows of a matrix times vectors.
#include "../kernel/worker.inc"
#define FAMILY "../linear/linear.def"
#include "../kernel/fields.inc"

#define NAME   linear_f16_f32
#define FIELDS linear_sums
#include "linear.inc"

#define NAME   linear_f16
#define FIELDS linear
#define BIAS
#define ACT
#include "linear.inc"

#define NAME   linear_relu_f16
#define FIELDS linear
#define BIAS
#define ACT    f16v2max $a4, $a4, $azero
#include "linear.inc"

#define NAME   linear_swish_f16
#define FIELDS linear
#define BIAS
#define ACT    f16v2sigm $a5, $a4; f16v2mul $a4, $a4, $a5
#include "linear.inc"

#define NAME   linear_sigmoid_f16
#define FIELDS linear
#define BIAS
#define ACT    f16v2sigm $a4, $a4
#include "linear.inc"
