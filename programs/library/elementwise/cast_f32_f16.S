// cast_f32_f16: y = x, rounded.
#include "cast.inc"

CAST_F32_F16 cast_f32_f16
