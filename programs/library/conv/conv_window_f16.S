// conv_window_f16: out = in x weights in 16 x 16 blocks, the blocks of in being windows on a larger tensor.
#define NAME       conv_window_f16
#define SECTION    .text.conv_window_f16
#define ACCUMULATE 0
#define WINDOW     1
#define UNITS      16
#define MATRIX     f16v4hihov4amp
#include "../matmul/matmul.inc"
