// add_channel_f32: out[i][k] = a[i][k] add b[k].
#include "channel.inc"

CHANNEL add_channel_f32, 2, f32v2add
