// max_scalar_f16: out = a max b, b a scalar.
#include "unary.inc"

UNARY max_scalar_f16 1 4 "f16v4max $a4:5, $a0:1, $a2:3"
UNARY_TAIL max_scalar_f16, 4, "f16v2max $a4, $a0, $a2"
