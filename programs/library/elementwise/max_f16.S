// max_f16: out = a max b.
#include "binary.inc"

BINARY max_f16, 4, f16v4max, f16v2max
