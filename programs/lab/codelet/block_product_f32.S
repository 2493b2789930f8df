// block_product_f32: c += a b, all [n][n]. State: a, b, c, n. Worker w takes the rows w, w + 6, ..; 4 slots for each of the n products
// of an element, 6 more; a product and a sum are rounded each.
	.section .text.block_product_f32, "ax"
	.globl	block_product_f32
	.type	block_product_f32, @function
	.worker
block_product_f32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	ld32	$m1, $mvertex_base, $mzero, 0	// row of a
	ld32	$m2, $mvertex_base, $mzero, 1	// b
	ld32	$m3, $mvertex_base, $mzero, 2	// row of c
	ld32	$m4, $mvertex_base, $mzero, 3	// n
	mul	$m5, $m0, $m4
	shl	$m5, $m5, 2
	add	$m1, $m1, $m5
	add	$m3, $m3, $m5
1:	cmpult	$m5, $m0, $m4
	brz	$m5, 4f
	mov	$m6, $m2			// column of b
	add	$m7, $m4, -1
2:	mov	$m8, $m1
	mov	$m9, $m6
	add	$m10, $m4, -1
	ld32	$a0, $m3, $mzero, 0
3:	ld32step $a1, $mzero, $m8+=, 1
	ld32step $a2, $mzero, $m9+=, $m4
	f32mul	$a1, $a1, $a2
	{
	brnzdec	$m10, 3b
	f32add	$a0, $a0, $a1
	}
	st32step $a0, $mzero, $m3+=, 1
	add	$m6, $m6, 4
	brnzdec	$m7, 2b
	mul	$m5, $m4, 20			// five rows of others
	add	$m3, $m3, $m5
	mul	$m5, $m4, 24
	add	$m1, $m1, $m5
	add	$m0, $m0, 6
	bri	1b
4:	exitz	$mzero
	.size	block_product_f32, . - block_product_f32
