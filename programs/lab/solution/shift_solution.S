// Exercise 2: a ring

#include <superstep/bsp.h>

	.supervisor
main:
	sync	SYNC_CHIP
	.exchange TILE
	.send	mine, WORDS, FIRST_EVENT
	.receive left, WORDS, FIRST_EVENT, (TILE + TILES - 1) % TILES
	.endexchange
	sync	SYNC_RECV
	sync	SYNC_HOST
