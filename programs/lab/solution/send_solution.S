// Exercise 1: a message

#include <superstep/bsp.h>

	.supervisor
main:
	sync	SYNC_CHIP
	.exchange TILE
	.if TILE == 0
	.send	block, WORDS, FIRST_EVENT
	.elseif TILE == 1
	.receive copy, WORDS, FIRST_EVENT, 0
	.endif
	.endexchange
	sync	SYNC_RECV
	sync	SYNC_HOST
