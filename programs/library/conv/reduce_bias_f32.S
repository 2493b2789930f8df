// reduce_bias_f32.S: bias and activation function of sums of f32 partials.
#include "../kernel/worker.inc"
#define FAMILY "../conv/reduce_bias.def"
#include "../kernel/fields.inc"

#define NAME   reduce_bias_f32
#define FIELDS reduce_bias
#include "reduce_bias_f32.inc"

#define NAME    reduce_bias_relu_f32
#define FIELDS  reduce_bias
#define ACTIVE0
#define FINISH0 f16v4max $a4:5, $a4:5, $azeros
#define ACTIVE1
#define FINISH1 f16v4max $a6:7, $a6:7, $azeros
#include "reduce_bias_f32.inc"

#define NAME    reduce_bias_swish_f32
#define FIELDS  reduce_bias
#define ACTIVE0 { nop; f16v2sigm $a12, $a4 }; { nop; f16v2sigm $a13, $a5 }
#define FINISH0 f16v4mul $a4:5, $a12:13, $a4:5
#define ACTIVE1 { nop; f16v2sigm $a12, $a6 }; { nop; f16v2sigm $a13, $a7 }
#define FINISH1 f16v4mul $a6:7, $a12:13, $a6:7
#include "reduce_bias_f32.inc"
