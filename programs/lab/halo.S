// halo.S - a ring of rows, WIDTH words each, cut into ROWS for each tile, tile after tile and chip after chip. In each step a row becomes
// the exclusive or of its two neighbours. After 2^k steps it is that of the rows 2^k away on both sides, which is how the answer is known.
//
// A step is two supersteps: rows at the edges of tiles go to the neighbours on the chip, and then those at the edges of the chip to the
// next chips, where only the first and the last tile have something to say. Two fields take turns.
#include <superstep/bsp.h>

	.equ	ROW, 4 * WIDTH			// bytes
	.equ	IS_FIRST, TILE == 0
	.equ	IS_LAST, TILE == TILES - 1
	.equ	SECOND, FIRST_EVENT + WIDTH + exch_delay_max() - exch_delay_min()

	.macro ON_CHIP from
	.balign	8
	nop
	sync	SYNC_CHIP
	.exchange TILE
	.if !IS_FIRST
	.send	\from, WIDTH, FIRST_EVENT
	.receive above, WIDTH, SECOND, TILE - 1
	.endif
	.if !IS_LAST
	.receive below, WIDTH, FIRST_EVENT, TILE + 1
	.send	\from + ROW * (ROWS - 1), WIDTH, SECOND
	.endif
	.endexchange
	sync	SYNC_RECV
	.endm

	.macro BETWEEN_CHIPS from
	sync	SYNC_REPLICA
	.if IS_FIRST || IS_LAST
	CHIP_EXPECT WIDTH * (IS_FIRST + IS_LAST), $m4
	.if IS_FIRST
	CHIP_SEND up, \from, WIDTH
	.endif
	.if IS_LAST
	CHIP_SEND down, \from + ROW * (ROWS - 1), WIDTH
	.endif
	sync	SYNC_RECV
	.endif
	.endm

// to = a xor b
	.macro ONE_ROW a, b, to
	setzi	$m2, \a
	setzi	$m3, \b
	setzi	$m4, \to
	setzi	$m7, WIDTH - 1
1:	ld32	$m5, $m2, 0
	ld32	$m6, $m3, 0
	add	$m2, $m2, 4
	add	$m3, $m3, 4
	xor	$m5, $m5, $m6
	st32	$m5, $m4, 0
	add	$m4, $m4, 4
	brnzdec	$m7, 1b
	.endm

	.macro STEP from, to
	ON_CHIP \from
	BETWEEN_CHIPS \from
	.if ROWS == 1
	ONE_ROW above, below, \to
	.else
	ONE_ROW above, \from + ROW, \to
	.set	R, 1
	.rept	ROWS - 2
	ONE_ROW \from + ROW * (R - 1), \from + ROW * (R + 1), \to + ROW * R
	.set	R, R + 1
	.endr
	ONE_ROW \from + ROW * (ROWS - 2), below, \to + ROW * (ROWS - 1)
	.endif
	.endm

	.supervisor
main:
	setzi	$m0, (1 << LOG) / 2 - 1
2:	STEP	field, other
	STEP	other, field
	brnzdec	$m0, 2b
	sync	SYNC_END

up:	CHIP_HEADER (CHIP + CHIPS - 1) % CHIPS, TILES - 1, below, WIDTH
down:	CHIP_HEADER (CHIP + 1) % CHIPS, 0, above, WIDTH
