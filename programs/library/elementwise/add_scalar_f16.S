// add_scalar_f16: out = a add b, b a scalar.
#include "unary.inc"

UNARY add_scalar_f16 1 4 "f16v4add $a4:5, $a0:1, $a2:3"
UNARY_TAIL add_scalar_f16, 4, "f16v2add $a4, $a0, $a2"
