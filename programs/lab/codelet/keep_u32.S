// keep_u32: of the numbers of two sorted blocks out has the n smallest (high 0) or the n largest, in order.
// State: mine [n], other [n], out [n], high, n. Worker 0 alone, about 8 slots for each number of out.
	.section .text.keep_u32, "ax"
	.globl	keep_u32
	.type	keep_u32, @function
	.worker
keep_u32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	brnz	$m0, 6f
	ld32	$m1, $mvertex_base, $mzero, 0	// mine
	ld32	$m2, $mvertex_base, $mzero, 1	// other
	ld32	$m3, $mvertex_base, $mzero, 2	// out
	ld32	$m4, $mvertex_base, $mzero, 3	// high
	ld32	$m9, $mvertex_base, $mzero, 4	// n
	add	$m9, $m9, -1
	brnz	$m4, 3f
1:	ld32	$m5, $m1, $mzero, 0
	ld32	$m6, $m2, $mzero, 0
	cmpult	$m7, $m6, $m5
	brnz	$m7, 2f
	st32step $m5, $mzero, $m3+=, 1
	add	$m1, $m1, 4
	brnzdec	$m9, 1b
	bri	6f
2:	st32step $m6, $mzero, $m3+=, 1
	add	$m2, $m2, 4
	brnzdec	$m9, 1b
	bri	6f
3:	shl	$m8, $m9, 2			// the same from the ends on
	add	$m1, $m1, $m8
	add	$m2, $m2, $m8
	add	$m3, $m3, $m8
4:	ld32	$m5, $m1, $mzero, 0
	ld32	$m6, $m2, $mzero, 0
	cmpult	$m7, $m5, $m6
	brnz	$m7, 5f
	st32step $m5, $mzero, $m3+=, -1
	add	$m1, $m1, -4
	brnzdec	$m9, 4b
	bri	6f
5:	st32step $m6, $mzero, $m3+=, -1
	add	$m2, $m2, -4
	brnzdec	$m9, 4b
6:	exitz	$mzero
	.size	keep_u32, . - keep_u32
