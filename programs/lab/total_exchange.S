// total_exchange.S - every tile has one word for every other tile: the transpose of a matrix of which each tile holds a row.
//
// In round r every tile t sends to t + r and listens to t - r, so that in every round every tile sends one word and receives
// one. 15 rounds, 15 events: no schedule can be shorter, since every tile receives 15 words. Where words take longer on some ways than
// on others, rounds are so far apart that no two of their words reach a tile at once.
#include <superstep/bsp.h>

	.supervisor
main:
	sync	SYNC_CHIP
	.exchange TILE
	.set	ROUND, exch_delay_max() - exch_delay_min() + 1
	.set	R, 1
	.rept	TILES - 1
	.set	TO, (TILE + R) % TILES
	.set	FROM, (TILE + TILES - R) % TILES
	.send	row + 4 * TO, 1, FIRST_EVENT + (R - 1) * ROUND
	.receive column + 4 * FROM, 1, FIRST_EVENT + (R - 1) * ROUND, FROM
	.set	R, R + 1
	.endr
	.endexchange
	sync	SYNC_RECV
	// the word for oneself needs no exchange
	setzi	$m0, row + 4 * TILE
	setzi	$m1, column + 4 * TILE
	ld32	$m2, $m0, 0
	st32	$m2, $m1, 0
	sync	SYNC_HOST
