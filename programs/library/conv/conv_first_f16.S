// conv_first_f16: first layer of a network, blocks of 16 outputs.
#define NAME       conv_first_f16
#define SECTION    .text.conv_first_f16
#define UNITS      16
#define MATRIX     f16v4hihov4amp
#include "conv_first.inc"
