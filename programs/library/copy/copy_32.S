// copy_32: dst = src, elements of 32 bits.
#include "copy.inc"

COPY copy_32 2 32
