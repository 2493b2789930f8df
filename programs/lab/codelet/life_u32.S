// life_u32: a generation of Conway's game for rows of a field. State: x [rows + 2][w], y [rows][w], rows, w. The first and the last
// column are dead and stay so. Worker w takes the rows w, w + 6, ..; 16 slots for each cell.
//
// A cell lives if it and its neighbours are as the sum of the eight says: (sum or cell) = 3.
	.section .text.life_u32, "ax"
	.globl	life_u32
	.type	life_u32, @function
	.worker
life_u32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	ld32	$m4, $mvertex_base, $mzero, 3	// w
1:	ld32	$m5, $mvertex_base, $mzero, 2	// rows
	cmpult	$m5, $m0, $m5
	brz	$m5, 3f
	mul	$m5, $m0, $m4
	shl	$m5, $m5, 2
	ld32	$m3, $mvertex_base, $mzero, 1
	add	$m3, $m3, $m5			// row of y
	ld32	$m2, $mvertex_base, $mzero, 0
	add	$m2, $m2, $m5			// the row above, in x
	st32step $mzero, $mzero, $m3+=, 1
	ld32	$m6, $m2, $mzero, 0		// sums of three cells below each other: left, here, right
	ld32	$m9, $m2, $mzero, $m4
	add	$m6, $m6, $m9
	shl	$m1, $m4, 3			// two rows
	ld32	$m9, $m2, $m1, 0
	add	$m6, $m6, $m9
	add	$m2, $m2, 4
	ld32	$m7, $m2, $mzero, 0
	ld32	$m5, $m2, $mzero, $m4		// the cell
	add	$m7, $m7, $m5
	ld32	$m9, $m2, $m1, 0
	add	$m7, $m7, $m9
	add	$m11, $m4, -3
2:	add	$m2, $m2, 4
	ld32	$m8, $m2, $mzero, 0
	ld32	$m10, $m2, $mzero, $m4		// the cell to the right
	add	$m8, $m8, $m10
	ld32	$m9, $m2, $m1, 0
	add	$m8, $m8, $m9
	add	$m9, $m6, $m8
	add	$m9, $m9, $m7
	sub	$m9, $m9, $m5
	or	$m9, $m9, $m5
	cmpeq	$m9, $m9, 3
	st32step $m9, $mzero, $m3+=, 1
	mov	$m6, $m7
	mov	$m7, $m8
	mov	$m5, $m10
	brnzdec	$m11, 2b
	st32	$mzero, $m3, $mzero, 0
	add	$m0, $m0, 6
	bri	1b
3:	exitz	$mzero
	.size	life_u32, . - life_u32
