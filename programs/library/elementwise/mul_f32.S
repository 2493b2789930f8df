// mul_f32: out = a mul b.
#include "binary.inc"

BINARY mul_f32, 2, f32v2mul, f32mul
