// dw5s2_f16: depthwise convolution, kernel 5 x 5, stride 2.
#define NAME    dw5s2_f16
#define SECTION .text.dw5s2_f16
#define KERNEL  5
#define STRIDE  2
#include "dw.inc"
