// cast_f16_f32: y = x, exact.
#include "cast.inc"

CAST_F16_F32 cast_f16_f32
