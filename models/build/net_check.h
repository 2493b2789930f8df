/* net_check.h - whether a network can be lowered for a machine, before it has parameters. */
#ifndef MODELS_NET_CHECK_H
#define MODELS_NET_CHECK_H

#include "models/net/net.h"

/* Cheap: nothing is planned. EMU_USAGE names the first layer that no operation supports, or whose
 * kernel needs an instruction that the machine does not have, and that instruction;
 * EMU_NO_MEMORY. */
enum emu_status net_check(const struct arch *a, const struct net *n) EMU_MUST_CHECK;

#endif
