// Exercise 3: one speaks, all listen

#include <superstep/bsp.h>

	.supervisor
main:
	sync	SYNC_CHIP
	.exchange TILE
	.if TILE == ROOT
	.send	block, WORDS, FIRST_EVENT
	.else
	.receive block, WORDS, FIRST_EVENT, ROOT
	.endif
	.endexchange
	sync	SYNC_RECV
	sync	SYNC_HOST
