// matmul_add_f16: out += in x weights in 16 x 16 blocks.
#define NAME       matmul_add_f16
#define SECTION    .text.matmul_add_f16
#define ACCUMULATE 1
#include "matmul.inc"
