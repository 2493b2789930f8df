// linear_sigmoid_f16: y = sigmoid(bias + a x) for each x.
#define NAME     linear_sigmoid_f16
#define BIAS
#define ACT      f16v2sigm $a4, $a4
#include "linear.inc"
