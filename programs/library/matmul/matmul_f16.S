// matmul_f16: out = in x weights in blocks of 16 inputs and 16 outputs, sums between blocks in f16.
#define NAME       matmul_f16
#define SECTION    .text.matmul_f16
#define ACCUMULATE 0
#define UNITS      16
#define MATRIX     f16v4hihov4amp
#include "matmul.inc"
