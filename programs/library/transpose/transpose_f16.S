// transpose_f16: y[c][r] = x[r][c].
#define NAME transpose_f16
#include "transpose_16.inc"
