// prefix_u32: y[i] = x[0] + .. + x[i], and their total. State: x [n], y [n], total [1], n, which is not 0.
// Worker 0 alone, 4 slots for each number: every sum needs the one before it.
	.section .text.prefix_u32, "ax"
	.globl	prefix_u32
	.type	prefix_u32, @function
	.worker
prefix_u32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	brnz	$m0, 2f
	ld32	$m1, $mvertex_base, $mzero, 0	// x
	ld32	$m2, $mvertex_base, $mzero, 1	// y
	ld32	$m3, $mvertex_base, $mzero, 2	// total
	ld32	$m4, $mvertex_base, $mzero, 3	// n
	add	$m4, $m4, -1
1:	ld32step $m6, $mzero, $m1+=, 1
	add	$m0, $m0, $m6
	st32step $m0, $mzero, $m2+=, 1
	brnzdec	$m4, 1b
	st32	$m0, $m3, $mzero, 0
2:	exitz	$mzero
	.size	prefix_u32, . - prefix_u32
