// scale_f16: x = x s.
#include "bias.inc"

BIAS scale_f16, f16v4mul
