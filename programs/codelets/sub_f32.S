// sub_f32: out = a sub b.
#include "binary.inc"

BINARY sub_f32, 2, "f32v2sub $a4:5, $a0:1, $a2:3"
