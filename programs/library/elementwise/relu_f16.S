// relu_f16: y = max(x, 0).
#include "unary.inc"

UNARY relu_f16 0 4 "f16v4max $a4:5, $a0:1, $azeros"
UNARY_TAIL relu_f16, 4, "f16v2max $a4, $a0, $azero"
