// sigmoid_f16: y = 1 / (1 + e^-x).
#include "unary.inc"

UNARY sigmoid_f16 0 4 "f16v2sigm $a4, $a0" "f16v2sigm $a5, $a1"
UNARY_TAIL sigmoid_f16, 4, "f16v2sigm $a4, $a0"
