// max_channel_f16: out[i][k] = a[i][k] max b[k].
#include "channel.inc"

CHANNEL max_channel_f16, 4, f16v4max
