// swish_f16: y = x / (1 + e^-x).
#include "unary.inc"

UNARY swish_f16 0 4 "f16v2sigm $a4, $a0" "f16v2sigm $a5, $a1" "f16v4mul $a4:5, $a4:5, $a0:1"
UNARY_TAIL swish_f16, 4, "f16v2sigm $a4, $a0", "f16v2mul $a4, $a4, $a0"
