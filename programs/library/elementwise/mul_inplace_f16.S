// mul_inplace_f16: a = a mul b.
#include "binary.inc"

BINARY_INPLACE mul_inplace_f16, 4, f16v4mul, f16v2mul
