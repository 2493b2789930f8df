// copy_8: dst = src, elements of 8 bits.
#include "copy.inc"

COPY copy_8 0 8
