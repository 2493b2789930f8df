// eliminate_f32: a step of Gauss's elimination on one row: factor = row[0] / pivot[0], row[j] -= factor pivot[j] for j > 0.
// State: pivot [n], row [n], factor [1], n. Worker w takes the columns 1 + w, 7 + w, ..; 8 slots each.
	.section .text.eliminate_f32, "ax"
	.globl	eliminate_f32
	.type	eliminate_f32, @function
	.worker
eliminate_f32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	ld32	$m1, $mvertex_base, $mzero, 0	// pivot
	ld32	$m2, $mvertex_base, $mzero, 1	// row
	ld32	$m3, $mvertex_base, $mzero, 2	// factor
	ld32	$m4, $mvertex_base, $mzero, 3	// n
	ld32	$a0, $m1, $mzero, 0
	ld32	$a1, $m2, $mzero, 0
	f32div	$a1, $a1, $a0
	brnz	$m0, 1f
	st32	$a1, $m3, $mzero, 0
1:	add	$m0, $m0, 1
	shl	$m5, $m0, 2
	add	$m1, $m1, $m5
	add	$m2, $m2, $m5
2:	cmpult	$m5, $m0, $m4
	brz	$m5, 3f
	ld32step $a2, $mzero, $m1+=, 6
	ld32	$a3, $m2, $mzero, 0
	f32mul	$a2, $a2, $a1
	{
	add	$m0, $m0, 6
	f32sub	$a3, $a3, $a2
	}
	st32step $a3, $mzero, $m2+=, 6
	bri	2b
3:	exitz	$mzero
	.size	eliminate_f32, . - eliminate_f32
