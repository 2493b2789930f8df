// sub_f16: out = a sub b.
#include "binary.inc"

BINARY sub_f16, 4, f16v4sub, f16v2sub
