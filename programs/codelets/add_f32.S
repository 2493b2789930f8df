// add_f32: out = a add b.
#include "binary.inc"

BINARY add_f32, 2, "f32v2add $a4:5, $a0:1, $a2:3"
