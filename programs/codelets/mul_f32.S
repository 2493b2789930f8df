// mul_f32: out = a mul b.
#include "binary.inc"

BINARY mul_f32, 2, "f32v2mul $a4:5, $a0:1, $a2:3"
