// matvec_f32: y = a x, sums in f32.
#define NAME     matvec_f32
#define BITS     32
#define MAC      f32v2mac
#include "matvec.inc"
