// fill_u8: out[i] = value.
#include "fill.inc"

FILL fill_u8 0 8
