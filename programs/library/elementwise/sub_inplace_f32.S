// sub_inplace_f32: a = a sub b.
#include "binary.inc"

BINARY_INPLACE sub_inplace_f32, 2, f32v2sub, f32sub
