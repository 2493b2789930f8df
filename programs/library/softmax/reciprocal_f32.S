// reciprocal_f32: y = 1 / x.
#include "../elementwise/unary.inc"

UNARY reciprocal_f32 0 2 "f32oox $a4, $a0" "f32oox $a5, $a1"
UNARY_TAIL reciprocal_f32, 2, "f32oox $a4, $a0"
