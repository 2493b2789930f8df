// Exercise 4: many speak, one listens

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
