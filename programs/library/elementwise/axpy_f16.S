// axpy_f16: y += a x, rounded once.
#include "binary.inc"

AXPY_F16 axpy_f16
