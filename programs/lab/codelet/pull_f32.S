// pull_f32: a round of PageRank for n pages: rank = base + damp (the sum of the shares of the pages that link to it), share = rank
// times part, 1 over its own links. State: share [all], links [n][degree], part [n], rank [n], own [n], base, damp, degree, n.
// Worker w takes the pages w, w + 6, ..; 3 slots for each link, 16 more.
	.section .text.pull_f32, "ax"
	.globl	pull_f32
	.type	pull_f32, @function
	.worker
pull_f32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	ld32	$m1, $mvertex_base, $mzero, 0	// share
	ld32	$m2, $mvertex_base, $mzero, 1	// links
	ld32	$m3, $mvertex_base, $mzero, 2	// part
	ld32	$m4, $mvertex_base, $mzero, 3	// rank
	ld32	$m5, $mvertex_base, $mzero, 4	// own
	ld32	$a4, $mvertex_base, $mzero, 5	// base
	ld32	$a5, $mvertex_base, $mzero, 6	// damp
	ld32	$m6, $mvertex_base, $mzero, 7	// degree
	ld32	$m7, $mvertex_base, $mzero, 8	// n
1:	cmpult	$m8, $m0, $m7
	brz	$m8, 3f
	mul	$m8, $m0, $m6
	shl	$m8, $m8, 2
	add	$m8, $m8, $m2
	add	$m9, $m6, -1
	zero	$a0
2:	ld32step $m10, $mzero, $m8+=, 1
	ld32	$a1, $m1, $mzero, $m10
	{
	brnzdec	$m9, 2b
	f32add	$a0, $a0, $a1
	}
	f32mul	$a0, $a0, $a5
	f32add	$a0, $a4, $a0
	ld32	$a1, $m3, $mzero, $m0
	{
	st32	$a0, $m4, $mzero, $m0
	f32mul	$a1, $a0, $a1
	}
	st32	$a1, $m5, $mzero, $m0
	add	$m0, $m0, 6
	bri	1b
3:	exitz	$mzero
	.size	pull_f32, . - pull_f32
