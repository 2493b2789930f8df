// conv_window_f16_f32: as conv_window_f16 with blocks of 8 outputs and sums in f32 between blocks, too.
#define NAME       conv_window_f16_f32
#define SECTION    .text.conv_window_f16_f32
#define ACCUMULATE 0
#define WINDOW     1
#define UNITS      8
#define MATRIX     f16v4sisoamp
#include "../matmul/matmul.inc"
