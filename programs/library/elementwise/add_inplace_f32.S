// add_inplace_f32: a = a add b.
#include "binary.inc"

BINARY_INPLACE add_inplace_f32, 2, f32v2add, f32add
