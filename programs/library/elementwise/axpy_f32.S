// axpy_f32: y += a x, rounded once.
#include "binary.inc"

AXPY_F32 axpy_f32
