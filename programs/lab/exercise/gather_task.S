// Exercise 4: many speak, one listens
//
// Tile 0 wants the word of every other tile t at all + 4 * t. A tile takes in one word at an event, so two senders must not meet there.
// Here all speak at the same event: two words would arrive at one event, so the assembler refuses this file until you mend it.
#include <superstep/bsp.h>

	.supervisor
main:
	sync	SYNC_CHIP
	.exchange TILE
	.if TILE == 0
	.set	T, 1
	.rept	TILES - 1
	.receive all + 4 * T, 1, FIRST_EVENT, T
	.set	T, T + 1
	.endr
	.else
	.send	word, 1, FIRST_EVENT
	.endif
	.endexchange
	sync	SYNC_RECV
	sync	SYNC_HOST
