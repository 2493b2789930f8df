// cast_u8_f16: y = x, exact.
#include "cast.inc"

CAST_U8_F16 cast_u8_f16
