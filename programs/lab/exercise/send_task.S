// Exercise 1: a message
//
// Tile 0 has WORDS words at block and sends them, the first one at event FIRST_EVENT of the superstep. Let tile 1 listen, so that they come
// to its memory at copy. docs/assembly.md 8 explains .send and .receive.
#include <superstep/bsp.h>

	.supervisor
main:
	sync	SYNC_CHIP
	.exchange TILE
	.if TILE == 0
	.send	block, WORDS, FIRST_EVENT
	.endif
	.endexchange
	sync	SYNC_RECV
	sync	SYNC_HOST
