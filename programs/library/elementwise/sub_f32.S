// sub_f32: out = a sub b.
#include "binary.inc"

BINARY sub_f32, 2, f32v2sub, f32sub
