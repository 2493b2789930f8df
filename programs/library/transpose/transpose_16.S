// transpose_16: y[c][r] = x[r][c].
#define NAME transpose_16
#include "transpose_16.inc"
