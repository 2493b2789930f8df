// transpose_f32: y[c][r] = x[r][c].
#define NAME transpose_f32
#include "transpose_32.inc"
