// matmul_add_f16_f32: out += in x weights in blocks of 16 inputs and 8 outputs, sums between blocks in f32.
#define NAME       matmul_add_f16_f32
#define SECTION    .text.matmul_add_f16_f32
#define ACCUMULATE 1
#define UNITS      8
#define MATRIX     f16v4sisoamp
#include "matmul.inc"
