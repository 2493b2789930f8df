// sub_channel_f16: out[i][k] = a[i][k] sub b[k].
#include "channel.inc"

CHANNEL sub_channel_f16, 4, f16v4sub
