// sort_part_u32: out has the numbers of x, each part of `part` numbers (the last one may be shorter) in ascending order.
// State: x [n], out [n], n, part. There are at most six parts; worker w sorts part w by insertion, 8 slots for each place that a number moves.
	.section .text.sort_part_u32, "ax"
	.globl	sort_part_u32
	.type	sort_part_u32, @function
	.worker
sort_part_u32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	ld32	$m1, $mvertex_base, $mzero, 0	// x
	ld32	$m2, $mvertex_base, $mzero, 1	// out
	ld32	$m3, $mvertex_base, $mzero, 2	// n
	ld32	$m4, $mvertex_base, $mzero, 3	// part
	mul	$m5, $m0, $m4
	cmpult	$m6, $m5, $m3
	brz	$m6, 9f
	sub	$m3, $m3, $m5			// numbers of this part
	cmpult	$m6, $m4, $m3
	brz	$m6, 1f
	mov	$m3, $m4
1:	shl	$m5, $m5, 2
	add	$m1, $m1, $m5
	add	$m2, $m2, $m5
	mov	$m7, $m2			// where the next number would stand
	add	$m3, $m3, -1
2:	ld32step $m6, $mzero, $m1+=, 1		// a number
	mov	$m8, $m7
3:	cmpult	$m9, $m2, $m8			// larger ones make room
	brz	$m9, 4f
	add	$m10, $m8, -4
	ld32	$m11, $m10, $mzero, 0
	cmpult	$m9, $m6, $m11
	brz	$m9, 4f
	st32	$m11, $m8, $mzero, 0
	mov	$m8, $m10
	bri	3b
4:	st32	$m6, $m8, $mzero, 0
	add	$m7, $m7, 4
	brnzdec	$m3, 2b
9:	exitz	$mzero
	.size	sort_part_u32, . - sort_part_u32
