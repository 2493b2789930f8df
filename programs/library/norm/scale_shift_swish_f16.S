// scale_shift_swish_f16: x = swish(x scale + shift).
#include "scale_shift.inc"

SCALE_SHIFT_SWISH scale_shift_swish_f16
