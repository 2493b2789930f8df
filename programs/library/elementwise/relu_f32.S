// relu_f32: y = max(x, 0).
#include "unary.inc"

UNARY relu_f32 0 2 "f32v2max $a4:5, $a0:1, $azeros"
UNARY_TAIL relu_f32, 2, "f32max $a4, $a0, $azero"
