// sum_rows_f32: out[j] = x[0][j] + x[1][j] + .., in this order. State: x [rows][n], out [n], rows.
// Worker w takes the columns w, w + 6, ..; 3 slots for each number, 8 more for each column.
	.section .text.sum_rows_f32, "ax"
	.globl	sum_rows_f32
	.type	sum_rows_f32, @function
	.worker
sum_rows_f32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	ld32	$m1, $mvertex_base, $mzero, 0	// x
	ld32	$m2, $mvertex_base, $mzero, 1	// out
	ld32	$m3, $mvertex_base, $mzero, 2	// rows
	ld32	$m4, $mvertex_base, $mzero, 3	// n
1:	cmpult	$m5, $m0, $m4
	brz	$m5, 3f
	shl	$m6, $m0, 2
	add	$m6, $m6, $m1
	add	$m7, $m3, -2
	ld32step $a0, $mzero, $m6+=, $m4
	brneg	$m7, 4f
2:	ld32step $a1, $mzero, $m6+=, $m4
	f32add	$a0, $a0, $a1
	brnzdec	$m7, 2b
4:	shl	$m6, $m0, 2
	st32	$a0, $m6, $m2, 0
	add	$m0, $m0, 6
	bri	1b
3:	exitz	$mzero
	.size	sum_rows_f32, . - sum_rows_f32
