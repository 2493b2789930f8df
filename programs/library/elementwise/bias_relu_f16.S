// bias_relu_f16: x = max(x + b, 0).
#include "bias.inc"

BIAS_RELU bias_relu_f16, f16v4add
