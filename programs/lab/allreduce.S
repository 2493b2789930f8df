// allreduce.S - every tile holds one word; every tile ends with the sum of all of them. docs/timing.md 7 counts its cycles.
//
// Two exchanges. First SUMMERS tiles of row 0, where words arrive soonest, take up to GROUP - 1 words each and add them to
// their own. Then all tiles listen to all summers and add up what they say.
//
// Tiles are dealt out column by column: n = ROWS * (physical mod ROW) + row. Group g has n = GROUP g .. GROUP g + GROUP - 1; its
// summer is the first tile of row 0 in it, and the others follow in the order of n, those before the summer last.
//
// The numbers for the 1,472 tiles of mk2 are those that take the fewest cycles. On other machines all tiles are one row, in the order
// of their logical numbers, with about as many groups as a group has tiles; words are late enough for every pair of tiles.
#include <superstep/bsp.h>

	.equ	IS_MK2, TILES == 1472
	.if IS_MK2
	.equ	ROW, 64
	.equ	GROUP, 39
	.equ	TURN, 29
	.else
	.equ	ROW, TILES
	.equ	GROUP, 2 + 2 * (TILES > 4) + 4 * (TILES > 16) + 8 * (TILES > 64) + 23 * (TILES > 256)
	.equ	TURN, 0
	.endif
	.equ	ROWS, TILES / ROW
	.equ	SUMMERS, (TILES + GROUP - 1) / GROUP
	.equ	N, IS_MK2 * (ROWS * (PHYSICAL % ROW) + PHYSICAL / ROW) + !IS_MK2 * TILE
	.equ	G, N / GROUP

#define FIRST_N(g)    ((g) * GROUP)
#define SUMMER_N(g)   ((FIRST_N(g) + ROWS - 1) / ROWS * ROWS)
#define SPEAKER(k)    (((k) + TURN) % SUMMERS)
#define TILE_OF(n)    (IS_MK2 * logical(IS_MK2 * ((n) % ROWS * ROW + (n) / ROWS)) + !IS_MK2 * (n))

	.equ	SIZE_G, (G == SUMMERS - 1) * (TILES - G * GROUP) + (G != SUMMERS - 1) * GROUP
	.equ	SUMMER, TILE_OF(SUMMER_N(G))
	.if IS_MK2
	.equ	FIRST, 0		// event at which the first word reaches a summer
	.equ	LAST_LAG, pic_lag(TILE_OF(ROWS - 1))
	.equ	NEAREST, 18		// events from a send to the memory of the nearest tile
	.else
	.equ	FIRST, (exch_delay_max() > 0) * exch_delay_max()
	.set	LAG, 0
	.set	T, 0
	.rept	TILES
	.set	LAG, LAG + (pic_lag(T) > LAG) * (pic_lag(T) - LAG)
	.set	T, T + 1
	.endr
	.equ	LAST_LAG, FIRST + LAG
	.equ	NEAREST, exch_delay_min()
	.endif

// ---- sums ----
// m8 = address of the words; the sum goes to m0. Four accumulators m0..m3 and four words under way m4..m7, so that no load and
// no addition waits for the six cycles of the one before it, until the four sums are added.

	.macro ADD_ONE i
	.if (\i) % 4 == 0
	add	$m0, $m0, $m4
	.elseif (\i) % 4 == 1
	add	$m1, $m1, $m5
	.elseif (\i) % 4 == 2
	add	$m2, $m2, $m6
	.else
	add	$m3, $m3, $m7
	.endif
	.endm

	.macro LOAD_ONE i, word
	.if (\i) % 4 == 0
	ld32	$m4, $m8, \word
	.elseif (\i) % 4 == 1
	ld32	$m5, $m8, \word
	.elseif (\i) % 4 == 2
	ld32	$m6, $m8, \word
	.else
	ld32	$m7, $m8, \word
	.endif
	.endm

	.macro SUM_PAIRS i
	.if (\i) % 2 == 0
	.if (\i) % 4 == 0
	add	$m0, $m0, $m1
	add	$m2, $m2, $m3
	.else
	add	$m2, $m2, $m3
	add	$m0, $m0, $m1
	.endif
	add	$m0, $m0, $m2
	.else
	.if (\i) % 4 == 3
	add	$m0, $m0, $m3
	add	$m1, $m1, $m2
	.else
	add	$m1, $m1, $m2
	add	$m0, $m0, $m3
	.endif
	add	$m0, $m0, $m1
	.endif
	.endm

// With own = 1 m0 holds one more value already.
	.macro SUM words, own
	.if (\words) < 8
	SUM_FEW \words, \own
	.else
	SUM_MANY \words, \own
	.endif
	.endm

	.macro SUM_FEW words, own
	.if (\own) == 0
	setzi	$m0, 0
	.endif
	.set	W, 0
	.rept	\words
	ld32	$m4, $m8, W
	add	$m0, $m0, $m4
	.set	W, W + 1
	.endr
	.endm

	.macro SUM_MANY words, own
	.set	W, 0
	.if (\own) == 0
	ld32	$m0, $m8, 0
	.set	W, 1
	.endif
	ld32	$m4, $m8, W
	ld32	$m1, $m8, W + 1
	ld32	$m5, $m8, W + 2
	ld32	$m2, $m8, W + 3
	ld32	$m6, $m8, W + 4
	ld32	$m3, $m8, W + 5
	ld32	$m7, $m8, W + 6
	.set	W, W + 7
	.set	I, 0
	.rept	(\words) - W
	ADD_ONE I
	LOAD_ONE I, W
	.set	I, I + 1
	.set	W, W + 1
	.endr
	ADD_ONE I
	ADD_ONE I + 1
	ADD_ONE I + 2
	ADD_ONE I + 3
	SUM_PAIRS I
	.endm

// ---- first exchange: word a of the group reaches the mux of the summer at event FIRST + a ----

// Sets S to the tile whose word is number a of this group.
	.macro MEMBER a
	.set	M, SUMMER_N(G) + 1 + (\a)
	.set	M, M - (M >= FIRST_N(G) + SIZE_G) * SIZE_G
	.set	S, TILE_OF(M)
	.endm

	.supervisor
main:
	sync	SYNC_CHIP
	.exchange TILE
	.if TILE == SUMMER
	.set	A, 0
	.rept	SIZE_G - 1
	MEMBER A
	.receive words + 4 * A, 1, FIRST + A - exch_delay(S, TILE), S
	.set	A, A + 1
	.endr
	.else
	.set	A, N - SUMMER_N(G) - 1
	.set	A, A + (A < 0) * SIZE_G
	.send	word, 1, FIRST + A - exch_delay(TILE, SUMMER)
	.endif
	.endexchange
	.if TILE == SUMMER
	setzi	$m9, word
	ld32	$m0, $m9, 0
	setzi	$m8, words
	setzi	$m9, mine
	.endif
	sync	SYNC_RECV
	.if TILE == SUMMER
	SUM	SIZE_G - 1, 1
	st32	$m0, $m9, 0
	.endif

// ---- second exchange: summers repeat their word at every event, so that everybody takes it when it suits him. On every tile
// the word of summer SPEAKER(k) is in memory at event LAST_LAG + k; TURN puts those last that are far away from some tiles ----

	.if !IS_MK2			// where the first instruction of the exchange may stand
	.align	8
	nop
	.endif
	sync	SYNC_CHIP
	.exchange TILE
	.set	P, 0
	.set	K, 0
	.rept	SUMMERS
	.set	S, TILE_OF(SUMMER_N(SPEAKER(P)))
	.if S != TILE
	.receive sums + 4 * K, 1, LAST_LAG + P - pic_lag(TILE) - exch_delay(S, TILE), S
	.set	K, K + 1
	.endif
	.set	P, P + 1
	.endr
	.if TILE == SUMMER
	.set	E, 0
	.rept	LAST_LAG + SUMMERS - NEAREST
	.send	mine, 1, E
	.set	E, E + 1
	.endr
	.endif
	.endexchange
	setzi	$m8, sums
	setzi	$m9, total
	sync	SYNC_RECV
	SUM	K, TILE == SUMMER	// a summer has its own word in m0
	st32	$m0, $m9, 0
	sync	SYNC_HOST
