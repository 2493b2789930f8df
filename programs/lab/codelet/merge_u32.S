// merge_u32: out has the numbers of x in ascending order; x is sorted in parts of `part` numbers (sort_part_u32).
// State: x [n], rank [n], out [n], n, part. Worker w finds how many numbers stand before each of part w: its place in the part, and for each
// other part how many of its numbers are smaller, or, in an earlier part, equal. Both parts are walked once, 13 slots for each number.
	.section .text.merge_u32, "ax"

// Adds to the ranks of part w what part $m8 .. $m2 has before its numbers; it is an earlier part, or a later one.
	.macro RANK earlier
	add	$m0, $m7, -1
1:	ld32step $m3, $mzero, $m9+=, 1
2:	cmpult	$m11, $m8, $m2
	brz	$m11, 3f
	ld32	$m11, $m8, $mzero, 0
	.if \earlier
	cmpult	$m11, $m3, $m11
	brnz	$m11, 3f
	.else
	cmpult	$m11, $m11, $m3
	brz	$m11, 3f
	.endif
	add	$m8, $m8, 4
	bri	2b
3:	shl	$m11, $m6, 2
	add	$m11, $m11, $m1
	sub	$m11, $m8, $m11
	shr	$m11, $m11, 2			// so many
	ld32	$m3, $m10, $mzero, 0
	add	$m11, $m11, $m3
	st32step $m11, $mzero, $m10+=, 1
	brnzdec	$m0, 1b
	shl	$m11, $m7, 2			// back to the begin of part w
	sub	$m9, $m9, $m11
	sub	$m10, $m10, $m11
	.endm

	.globl	merge_u32
	.type	merge_u32, @function
	.worker
merge_u32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	ld32	$m1, $mvertex_base, $mzero, 0	// x
	ld32	$m10, $mvertex_base, $mzero, 1	// rank
	ld32	$m4, $mvertex_base, $mzero, 3	// n
	ld32	$m5, $mvertex_base, $mzero, 4	// part
	mul	$m9, $m0, $m5
	cmpult	$m6, $m9, $m4
	brz	$m6, 19f
	sub	$m7, $m4, $m9			// numbers of part w
	cmpult	$m6, $m5, $m7
	brz	$m6, 11f
	mov	$m7, $m5
11:	shl	$m9, $m9, 2
	add	$m10, $m10, $m9
	add	$m9, $m9, $m1			// part w
	mov	$m8, $m10
	zero	$m11
	add	$m2, $m7, -1
12:	st32step $m11, $mzero, $m8+=, 1		// places in the part
	add	$m11, $m11, 1
	brnzdec	$m2, 12b
	zero	$m6				// first number of another part
13:	cmpult	$m11, $m6, $m4
	brz	$m11, 17f
	shl	$m8, $m6, 2
	add	$m8, $m8, $m1
	sub	$m11, $m8, $m9
	brz	$m11, 16f
	sub	$m2, $m4, $m6
	cmpult	$m11, $m5, $m2
	brz	$m11, 14f
	mov	$m2, $m5
14:	shl	$m2, $m2, 2
	add	$m2, $m2, $m8			// its end
	cmpult	$m11, $m8, $m9
	brz	$m11, 15f
	RANK	1
	bri	16f
15:	RANK	0
16:	add	$m6, $m6, $m5
	bri	13b
17:	ld32	$m3, $mvertex_base, $mzero, 2	// out
	add	$m7, $m7, -1
18:	ld32step $m11, $mzero, $m9+=, 1
	ld32step $m0, $mzero, $m10+=, 1
	stm32	$m11, $m3, $m0
	brnzdec	$m7, 18b
19:	exitz	$mzero
	.size	merge_u32, . - merge_u32
