// cast_u8_f32: y = x, exact.
#include "cast.inc"

CAST_U8_F32 cast_u8_f32
