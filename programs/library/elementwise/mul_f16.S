// mul_f16: out = a mul b.
#include "binary.inc"

BINARY mul_f16, 4, f16v4mul, f16v2mul
