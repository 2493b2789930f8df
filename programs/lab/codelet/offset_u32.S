// offset_u32: out[i] = y[i] + totals[0] + .. + totals[m - 1]. State: y [n], totals [m], out [n], n, m.
// All workers add up the totals, 3 slots each; then worker w takes the elements w, w + 6, .., 6 slots each.
	.section .text.offset_u32, "ax"
	.globl	offset_u32
	.type	offset_u32, @function
	.worker
offset_u32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	ld32	$m1, $mvertex_base, $mzero, 0	// y
	ld32	$m2, $mvertex_base, $mzero, 1	// totals
	ld32	$m3, $mvertex_base, $mzero, 2	// out
	ld32	$m4, $mvertex_base, $mzero, 3	// n
	ld32	$m5, $mvertex_base, $mzero, 4	// m
	zero	$m6
	add	$m5, $m5, -1
1:	ld32step $m7, $mzero, $m2+=, 1
	add	$m6, $m6, $m7
	brnzdec	$m5, 1b
2:	cmpult	$m7, $m0, $m4
	brz	$m7, 3f
	ld32	$m7, $m1, $mzero, $m0
	add	$m7, $m7, $m6
	stm32	$m7, $m3, $m0
	add	$m0, $m0, 6
	bri	2b
3:	exitz	$mzero
	.size	offset_u32, . - offset_u32
