// sub_channel_f32: out[i][k] = a[i][k] sub b[k].
#include "channel.inc"

CHANNEL sub_channel_f32, 2, f32v2sub
