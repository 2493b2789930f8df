// darts_u32: throws darts at a square and counts those that hit the quarter of a circle in it. State: hits [6], throws, seed.
// Worker w throws `throws` of them, 12 slots each, and counts in hits[w]. A coordinate is the upper 15 bits of the next number of
// the sequence s = 1664525 s + 1013904223, which begins with seed + w.
	.section .text.darts_u32, "ax"
	.globl	darts_u32
	.type	darts_u32, @function
	.worker
darts_u32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	ld32	$m1, $mvertex_base, $mzero, 0	// hits
	ld32	$m2, $mvertex_base, $mzero, 1	// throws
	ld32	$m3, $mvertex_base, $mzero, 2	// seed
	add	$m3, $m3, $m0
	ldconst	$m4, 1664525
	ldconst	$m5, 1013904223
	ldconst	$m6, 1 << 30			// the radius, squared
	zero	$m7
	add	$m2, $m2, -1
1:	mul	$m3, $m3, $m4
	add	$m3, $m3, $m5
	shr	$m8, $m3, 17
	mul	$m8, $m8, $m8
	mul	$m3, $m3, $m4
	add	$m3, $m3, $m5
	shr	$m9, $m3, 17
	mul	$m9, $m9, $m9
	add	$m8, $m8, $m9
	cmpult	$m8, $m8, $m6
	add	$m7, $m7, $m8
	brnzdec	$m2, 1b
	stm32	$m7, $m1, $m0
	exitz	$mzero
	.size	darts_u32, . - darts_u32
