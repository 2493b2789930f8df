// mul_channel_f16: out[i][k] = a[i][k] mul b[k].
#include "channel.inc"

CHANNEL mul_channel_f16, 4, f16v4mul
