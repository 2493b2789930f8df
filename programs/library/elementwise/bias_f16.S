// bias_f16: x = x + b.
#include "bias.inc"

BIAS bias_f16, f16v4add
