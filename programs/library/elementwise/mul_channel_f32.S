// mul_channel_f32: out[i][k] = a[i][k] mul b[k].
#include "channel.inc"

CHANNEL mul_channel_f32, 2, f32v2mul
