// fft_rows_f32: Fourier transforms of rows of n complex numbers, in place, then every number times its own factor. The numbers of a
// row come out in bit-reversed order. State: x [rows][n][2], root [n / 2][2], the powers of the n-th root of one, factor [rows][n][2],
// n, which is a power of two, rows. Worker w takes the rows w, w + 6, ..; 11 slots for each butterfly, 8 for each factor.
	.section .text.fft_rows_f32, "ax"
	.globl	fft_rows_f32
	.type	fft_rows_f32, @function
	.worker
fft_rows_f32:
	get	$m0, $WSR
	and	$m0, $m0, 7
1:	ld32	$m1, $mvertex_base, $mzero, 4	// rows
	cmpult	$m1, $m0, $m1
	brz	$m1, 9f
	ld32	$m2, $mvertex_base, $mzero, 3	// n
	shl	$m3, $m2, 2			// bytes of half a row: from a number to its partner
	setzi	$m4, 8				// from a root to the next one
2:	ld32	$m1, $mvertex_base, $mzero, 0	// a stage, over the whole row
	shl	$m5, $m2, 3
	mul	$m5, $m5, $m0
	add	$m1, $m1, $m5
	shr	$m5, $m4, 3
	add	$m5, $m5, -1			// groups
3:	ld32	$m6, $mvertex_base, $mzero, 1	// roots, for every group from the first on
	shr	$m7, $m3, 3
	add	$m7, $m7, -1			// butterflies of a group
	add	$m8, $m1, $m3
4:	ld64	$a0:1, $m1, $mzero, $mzero
	ld64	$a2:3, $m8, $mzero, $mzero
	f32v2add $a4:5, $a0:1, $a2:3
	{
	st64step $a4:5, $mzero, $m1+=, 1
	f32v2sub $a0:1, $a0:1, $a2:3
	}
	ld64	$a2:3, $m6, $mzero, $mzero
	{
	add	$m6, $m6, $m4
	f32v2mul $a4:5, $a2:B, $a0:1
	}
	f32v2mul $a6:7, $a3:B, $a0:1
	f32sub	$a4, $a4, $a7
	f32add	$a5, $a5, $a6
	st64step $a4:5, $mzero, $m8+=, 1
	brnzdec	$m7, 4b
	mov	$m1, $m8			// the next group
	brnzdec	$m5, 3b
	shr	$m3, $m3, 1
	shl	$m4, $m4, 1
	cmpult	$m5, $m3, 8
	brz	$m5, 2b
	ld32	$m1, $mvertex_base, $mzero, 0	// the factors
	ld32	$m6, $mvertex_base, $mzero, 2
	shl	$m5, $m2, 3
	mul	$m5, $m5, $m0
	add	$m1, $m1, $m5
	add	$m6, $m6, $m5
	add	$m7, $m2, -1
5:	ld64	$a0:1, $m1, $mzero, $mzero
	ld64step $a2:3, $mzero, $m6+=, 1
	f32v2mul $a4:5, $a2:B, $a0:1
	f32v2mul $a6:7, $a3:B, $a0:1
	f32sub	$a4, $a4, $a7
	f32add	$a5, $a5, $a6
	st64step $a4:5, $mzero, $m1+=, 1
	brnzdec	$m7, 5b
	add	$m0, $m0, 6
	bri	1b
9:	exitz	$mzero
	.size	fft_rows_f32, . - fft_rows_f32
