// Exercise 3: one speaks, all listen
//
// Tile ROOT has WORDS words at block; everybody wants them there. This program works, but tells one tile after the other. Any number of tiles
// may listen to one sender at the same event: let them.
#include <superstep/bsp.h>

	.supervisor
main:
	sync	SYNC_CHIP
	.exchange TILE
	.set	T, 0
	.rept	TILES
	.if T != ROOT
	.if TILE == ROOT
	.send	block, WORDS, FIRST_EVENT + T * (WORDS + 4)
	.elseif TILE == T
	.receive block, WORDS, FIRST_EVENT + T * (WORDS + 4), ROOT
	.endif
	.endif
	.set	T, T + 1
	.endr
	.endexchange
	sync	SYNC_RECV
	sync	SYNC_HOST
