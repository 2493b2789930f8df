// max_inplace_f16: a = a max b.
#include "binary.inc"

BINARY_INPLACE max_inplace_f16, 4, f16v4max, f16v2max
