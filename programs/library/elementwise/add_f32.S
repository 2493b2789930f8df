// add_f32: out = a add b.
#include "binary.inc"

BINARY add_f32, 2, f32v2add, f32add
