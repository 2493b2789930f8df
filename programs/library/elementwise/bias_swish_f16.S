// bias_swish_f16: x = swish(x + b).
#include "bias.inc"

BIAS_SWISH bias_swish_f16
