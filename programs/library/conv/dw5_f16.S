// dw5_f16: depthwise convolution, kernel 5 x 5, stride 1.
#define NAME    dw5_f16
#define SECTION .text.dw5_f16
#define KERNEL  5
#define STRIDE  1
#include "dw.inc"
