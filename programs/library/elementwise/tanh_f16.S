// tanh_f16: y = tanh x.
#include "unary.inc"

UNARY tanh_f16 0 4 "f16v2tanh $a4, $a0" "f16v2tanh $a5, $a1"
UNARY_TAIL tanh_f16, 4, "f16v2tanh $a4, $a0"
