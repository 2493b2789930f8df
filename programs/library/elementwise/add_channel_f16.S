// add_channel_f16: out[i][k] = a[i][k] add b[k].
#include "channel.inc"

CHANNEL add_channel_f16, 4, f16v4add
