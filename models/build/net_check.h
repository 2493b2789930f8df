/* net_check.h - whether a network can be lowered for a machine, before it has parameters. */
#ifndef MODELS_NET_CHECK_H
#define MODELS_NET_CHECK_H

#include "models/net/net.h"

/* Takes no time. EMU_USAGE names the first layer that no operation takes, or whose kernel the
 * machine cannot run, with the instruction; EMU_NO_MEMORY. */
enum emu_status net_check(const struct arch *a, const struct net *n) EMU_MUST_CHECK;

#endif
