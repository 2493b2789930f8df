// mul_scalar_f16: out = a mul b, b a scalar.
#include "unary.inc"

UNARY mul_scalar_f16 1 4 "f16v4mul $a4:5, $a0:1, $a2:3"
UNARY_TAIL mul_scalar_f16, 4, "f16v2mul $a4, $a0, $a2"
