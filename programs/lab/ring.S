// ring.S - every tile passes WORDS words to its right-hand neighbour, SHIFTS times.
//
// One shift is one superstep: sync, exchange, and nothing to compute. Two buffers take turns, because a word must not be
// replaced while it is still being sent.
#include <superstep/bsp.h>

#define LEFT ((TILE + TILES - 1) % TILES)

	.macro SHIFT from, to
	sync	SYNC_CHIP
	.exchange TILE
	.send	\from, WORDS, FIRST_EVENT
	.receive \to, WORDS, FIRST_EVENT, LEFT
	.endexchange
	sync	SYNC_RECV
	.endm

	.supervisor
main:
	.rept	SHIFTS / 2
	SHIFT	here, there
	SHIFT	there, here
	.endr
	sync	SYNC_HOST
