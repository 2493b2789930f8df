/* conv_pack.h - what the convolution codelets need besides their tensors: weights in the order in
 * which they read them, work lists, sizes of scratch.
 */
#ifndef PROGRAMS_CONV_PACK_H
#define PROGRAMS_CONV_PACK_H

#include <stdint.h>

/* Depthwise, dw*_f16: kernel k x k (3 or 5), stride 1 or 2. */

/* f16 values of one block of 16 channels. */
uint32_t dw_pack_halves(uint32_t k, uint32_t stride);
/* w [16][k][k] -> packed. */
void dw_pack(uint32_t k, uint32_t stride, const uint16_t *w, uint16_t *packed);
/* f16 values of the edge `scratch`, for any number of blocks. */
uint32_t dw_scratch_halves(uint32_t k, uint32_t stride, uint32_t ho, uint32_t wo, uint32_t wp);
/* The words of `work`. hp, wp: rows and columns of x, at least (ho - 1) stride + k and
 * (wo - 1) stride + k. */
enum { DW_WORK_WORDS = 1 + 6 * 14 };
void dw_work(uint32_t k, uint32_t stride, uint32_t ho, uint32_t wo, uint32_t hp, uint32_t wp,
             uint32_t work[DW_WORK_WORDS]);

/* First layer, conv_first_f16: kernel k x k (3 to 8), stride 2, 3 or 4 channels. */

/* Blocks of 4 pixels that a kernel is cut into: `kb`. */
uint32_t conv_first_blocks(uint32_t k);
/* f16 values of one block of 16 output channels. */
uint32_t conv_first_pack_halves(uint32_t k);
/* w [16][channels][k][k], channels 3 or 4 -> packed. */
void conv_first_pack(uint32_t k, uint32_t channels, const uint16_t *w, uint16_t *packed);
/* A block of 16 outputs of kb blocks of inputs, [kb][16][16], as two of 8 outputs each,
 * [2][kb][8][16], as the codelets with f32 sums take it. */
void conv_pack_f32(uint32_t kb, const uint16_t *packed, uint16_t *out);
/* The words of `rows`: how many, and which. */
uint32_t conv_first_row_words(uint32_t k, uint32_t ho);
void conv_first_rows(uint32_t k, uint32_t ho, uint32_t wo, uint32_t wp, uint32_t *words);

/* Windows, conv_window_f16: kernel k x k, stride 1, on in [blocks][hp][wp][16]. */

/* The words of `steps`, blocks k k of them. Every output block is made of the same `blocks` blocks
 * of in; or, with own, of as many of its own, those of the next outputs being after them. Weights
 * are [nb][blocks][k][k][16][16]. */
void conv_window_steps(uint32_t k, uint32_t blocks, uint32_t hp, uint32_t wp, int own,
                       int32_t *steps);

#endif
