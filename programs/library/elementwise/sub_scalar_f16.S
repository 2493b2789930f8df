// sub_scalar_f16: out = a sub b, b a scalar.
#include "unary.inc"

UNARY sub_scalar_f16 1 4 "f16v4sub $a4:5, $a0:1, $a2:3"
UNARY_TAIL sub_scalar_f16, 4, "f16v2sub $a4, $a0, $a2"
