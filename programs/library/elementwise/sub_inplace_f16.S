// sub_inplace_f16: a = a sub b.
#include "binary.inc"

BINARY_INPLACE sub_inplace_f16, 4, f16v4sub, f16v2sub
