// Exercise 7: a codelet of your own

	.section .text.dot, "ax"
	.globl	dot
	.worker
dot:
	get	$m0, $WSR
	and	$m0, $m0, 7			// w
	ld32	$m1, $mvertex_base, $mzero, 0	// x
	ld32	$m2, $mvertex_base, $mzero, 1	// y
	ld32	$m3, $mvertex_base, $mzero, 2	// out
	ld32	$m4, $mvertex_base, $mzero, 3	// n
	mov	$m5, $m0
	zero	$a0
1:	cmpult	$m6, $m0, $m4
	brz	$m6, 2f
	ld32	$a1, $m1, $mzero, $m0
	ld32	$a2, $m2, $mzero, $m0
	f32mul	$a1, $a1, $a2
	f32add	$a0, $a0, $a1
	add	$m0, $m0, 6
	bri	1b
2:
	shl	$m5, $m5, 2
	add	$m3, $m3, $m5
	st32	$a0, $m3, $mzero, 0
	exitz	$mzero
