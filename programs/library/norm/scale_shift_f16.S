// scale_shift_f16: x = x scale + shift.
#include "scale_shift.inc"

SCALE_SHIFT scale_shift_f16, "fnop"
