// conv_first_f16_f32: first layer of a network, blocks of 8 outputs, sums in f32 between blocks, too.
#define NAME       conv_first_f16_f32
#define SECTION    .text.conv_first_f16_f32
#define UNITS      8
#define MATRIX     f16v4sisoamp
#include "conv_first.inc"
