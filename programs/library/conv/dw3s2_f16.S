// dw3s2_f16: depthwise convolution, kernel 3 x 3, stride 2.
#define NAME    dw3s2_f16
#define SECTION .text.dw3s2_f16
#define KERNEL  3
#define STRIDE  2
#include "dw.inc"
