// copy_64: dst = src, words, both at a multiple of 8 bytes.
#include "copy.inc"

COPY_64 copy_64
