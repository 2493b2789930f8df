// mistake_two_writers.S - tile 0 gathers a word of tile 1 and one of tile 2, and puts both at the same address.
#include <superstep/bsp.h>

	.supervisor
main:
	sync	SYNC_CHIP
	.exchange TILE
	.if TILE == 0
	.receive gathered, 1, FIRST_EVENT, 1
	.receive gathered, 1, FIRST_EVENT + 10, 2
	.elseif TILE == 1
	.send	mine, 1, FIRST_EVENT
	.elseif TILE == 2
	.send	mine, 1, FIRST_EVENT + 10
	.endif
	.endexchange
	sync	SYNC_RECV
	sync	SYNC_HOST
