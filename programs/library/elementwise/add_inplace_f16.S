// add_inplace_f16: a = a add b.
#include "binary.inc"

BINARY_INPLACE add_inplace_f16, 4, f16v4add, f16v2add
