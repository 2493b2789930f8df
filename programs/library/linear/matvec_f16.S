// matvec_f16: y = a x, sums in f32.
#define NAME     matvec_f16
#define BITS     16
#define MAC      f16v4cmac
#include "matvec.inc"
