// max_f32: out = a max b.
#include "binary.inc"

BINARY max_f32, 2, f32v2max, f32max
