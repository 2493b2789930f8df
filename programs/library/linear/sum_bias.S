// sum_bias.S: sums of f32 partials and a bias, or scaled.
#include "../kernel/worker.inc"
#define FAMILY "../linear/linear.def"
#include "../kernel/fields.inc"

#define NAME   sum_bias_f16
#define FIELDS sum_bias
#define ACT
#include "sum_bias.inc"

#define NAME   sum_bias_relu_f16
#define FIELDS sum_bias
#define ACT    f16v4max $a4:5, $a4:5, $azeros
#include "sum_bias.inc"

#define NAME   sum_bias_swish_f16
#define FIELDS sum_bias
#define ACT    f16v2sigm $a6, $a4; f16v2sigm $a7, $a5; f16v4mul $a4:5, $a6:7, $a4:5
#include "sum_bias.inc"

#define NAME   sum_bias_sigmoid_f16
#define FIELDS sum_bias
#define ACT    f16v2sigm $a4, $a4; f16v2sigm $a5, $a5
#include "sum_bias.inc"

#define NAME   sum_scale_f16
#define FIELDS sum_scale
#define SCALE
#define ACT
#include "sum_bias.inc"
