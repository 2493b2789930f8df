// chip_exchange.S - every tile has a block of WORDS words for the same tile of every other chip, and gets one from each.
//
// All blocks leave in one superstep, each chip beginning with the one after it, so that no chip is wanted by all at first. The addresses
// travel with the words, so blocks may come in any order.
#include <superstep/bsp.h>

	.equ	BLOCK, 4 * WORDS		// bytes

	.supervisor
main:
	sync	SYNC_REPLICA
	CHIP_EXPECT WORDS * (CHIPS - 1), $m4
	.set	R, 1
	.rept	CHIPS - 1
	CHIP_SEND headers + 8 * (R - 1), row + BLOCK * ((CHIP + R) % CHIPS), WORDS
	.set	R, R + 1
	.endr
	sync	SYNC_RECV
	// the block for oneself needs no exchange
	setzi	$m2, row + BLOCK * CHIP
	setzi	$m3, column + BLOCK * CHIP
	setzi	$m4, WORDS - 1
1:	ld32	$m5, $m2, 0
	add	$m2, $m2, 4
	st32	$m5, $m3, 0
	add	$m3, $m3, 4
	brnzdec	$m4, 1b
	sync	SYNC_END

headers:
	.set	R, 1
	.rept	CHIPS - 1
	CHIP_HEADER (CHIP + R) % CHIPS, TILE, column + BLOCK * CHIP, WORDS
	.set	R, R + 1
	.endr
