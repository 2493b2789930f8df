// exp_f16: y = e^x.
#include "unary.inc"

UNARY exp_f16 0 4 "f16v2exp $a4, $a0" "f16v2exp $a5, $a1"
UNARY_TAIL exp_f16, 4, "f16v2exp $a4, $a0"
