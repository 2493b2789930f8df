// scale_shift_relu_f16: x = max(x scale + shift, 0).
#include "scale_shift.inc"

SCALE_SHIFT scale_shift_relu_f16, "f16v4max $a2:3, $a2:3, $azeros"
