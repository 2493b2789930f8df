// fill_f32: out[i] = value.
#include "fill.inc"

FILL fill_f32 2 32
