// Exercise 8: a sum for everybody
//
// Every tile has a word, and all want the sum of all words at total. Tile 0 has gathered them at all, and its own word is at word. Let it
// add them up, and let everybody have the sum, in a second exchange.
#include <superstep/bsp.h>

	.supervisor
main:
	sync	SYNC_CHIP
	.exchange TILE
	.if TILE == 0
	.set	T, 1
	.rept	TILES - 1
	.receive all + 4 * T, 1, FIRST_EVENT + T, T
	.set	T, T + 1
	.endr
	.else
	.send	word, 1, FIRST_EVENT + TILE
	.endif
	.endexchange
	sync	SYNC_RECV
	sync	SYNC_HOST
