// sort_u32: out has the numbers of x in ascending order. State: x [n], out [n], n.
// Every number is put where as many are before it as are smaller (of equal ones, the earlier come first): worker w does so for the
// numbers w, w + 6, .., 4 slots for each of the n - 1 others, 20 more. No branch depends on the numbers, so all take equally long.
	.section .text.sort_u32, "ax"
	.globl	sort_u32
	.type	sort_u32, @function
	.worker
sort_u32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	ld32	$m1, $mvertex_base, $mzero, 0	// x
	ld32	$m2, $mvertex_base, $mzero, 1	// out
	ld32	$m3, $mvertex_base, $mzero, 2	// n
1:	cmpult	$m5, $m0, $m3
	brz	$m5, 6f
	ld32	$m6, $m1, $mzero, $m0		// the number
	mov	$m7, $m0			// its place: all earlier ones, without those that are larger
	mov	$m8, $m1
	brz	$m0, 3f
	add	$m9, $m0, -1
2:	ld32step $m10, $mzero, $m8+=, 1
	cmpult	$m10, $m6, $m10
	sub	$m7, $m7, $m10
	brnzdec	$m9, 2b
3:	add	$m8, $m8, 4
	sub	$m9, $m3, $m0
	add	$m9, $m9, -2
	brneg	$m9, 5f
4:	ld32step $m10, $mzero, $m8+=, 1		// and all later ones that are smaller
	cmpult	$m10, $m10, $m6
	add	$m7, $m7, $m10
	brnzdec	$m9, 4b
5:	stm32	$m6, $m2, $m7
	add	$m0, $m0, 6
	bri	1b
6:	exitz	$mzero
	.size	sort_u32, . - sort_u32
