// dw3_f16: depthwise convolution, kernel 3 x 3, stride 1.
#define NAME    dw3_f16
#define SECTION .text.dw3_f16
#define KERNEL  3
#define STRIDE  1
#include "dw.inc"
