// fill_f16: out[i] = value.
#include "fill.inc"

FILL fill_f16 1 16
