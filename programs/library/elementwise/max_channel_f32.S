// max_channel_f32: out[i][k] = a[i][k] max b[k].
#include "channel.inc"

CHANNEL max_channel_f32, 2, f32v2max
