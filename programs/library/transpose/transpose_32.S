// transpose_32: y[c][r] = x[r][c].
#define NAME transpose_32
#include "transpose_32.inc"
