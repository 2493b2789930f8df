// reduce_bias_swish_f16: out = swish(b + the sum of p partials).
#define NAME     reduce_bias_swish_f16
#define ACTIVE0  { nop; f16v2sigm $a12, $a4 }; { nop; f16v2sigm $a13, $a5 }
#define FINISH0  f16v4mul $a4:5, $a12:13, $a4:5
#define ACTIVE1  { nop; f16v2sigm $a12, $a6 }; { nop; f16v2sigm $a13, $a7 }
#define FINISH1  f16v4mul $a6:7, $a12:13, $a6:7
#include "reduce_bias.inc"
