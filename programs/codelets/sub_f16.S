// sub_f16: out = a sub b.
#include "binary.inc"

BINARY sub_f16, 4, "f16v4sub $a4:5, $a0:1, $a2:3"
