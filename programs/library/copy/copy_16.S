// copy_16: dst = src, elements of 16 bits.
#include "copy.inc"

COPY copy_16 1 16
