// bias_sigmoid_f16: x = sigmoid(x + b).
#include "bias.inc"

BIAS_SIGMOID bias_sigmoid_f16, f16v4add
