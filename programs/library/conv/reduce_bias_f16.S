// reduce_bias_f16.S: bias and activation function of sums of f16 partials.
#include "../kernel/worker.inc"
#define FAMILY "../conv/reduce_bias.def"
#include "../kernel/fields.inc"

#define NAME   reduce_bias_f16
#define FIELDS reduce_bias
#include "reduce_bias_f16.inc"

#define NAME    reduce_bias_relu_f16
#define FIELDS  reduce_bias
#define ACTIVE0
#define FINISH0 f16v4max $a4:5, $a4:5, $azeros
#define ACTIVE1
#define FINISH1 f16v4max $a4:5, $a4:5, $azeros
#include "reduce_bias_f16.inc"

#define NAME    reduce_bias_swish_f16
#define FIELDS  reduce_bias
#define ACTIVE0 { ld64 bias23, bias, half, 1; f16v2sigm $a0, $a4 }; { nop; f16v2sigm $a1, $a5 }
#define FINISH0 f16v4mul $a4:5, $a0:1, $a4:5
#define ACTIVE1 { nop; f16v2sigm $a6, $a4 }; { nop; f16v2sigm $a7, $a5 }
#define FINISH1 f16v4mul $a4:5, $a6:7, $a4:5
#include "reduce_bias_f16.inc"
