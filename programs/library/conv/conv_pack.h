/* conv_pack.h - what the codelets of convolutions need besides their tensors: weights in the order
 * in which the codelets read them, work lists, sizes of scratch.
 */
#ifndef PROGRAMS_CONV_PACK_H
#define PROGRAMS_CONV_PACK_H

#include <stdint.h>

/* ---- depthwise, dw*_f16 ---- */

/* Which of these codelets: kernel k x k (3 or 5), stride 1 or 2; mixed 1: the matrix unit takes
 * part (dw.inc), 0: the sliding unit works alone. */
struct dw_kind {
    uint32_t k, stride;
    int mixed;
};

/* How many f16 values the packed weights of a block of 16 channels have. */
uint32_t dw_pack_halves(struct dw_kind kind);
/* w [16][k][k] -> packed. */
void dw_pack(struct dw_kind kind, const uint16_t *w, uint16_t *packed);
/* The words of the field `work` of dw_pack_f16, which packs w [k][k][16]; returns how many. An
 * entry has DW_PACK_ENTRY of them. */
enum { DW_PACK_ENTRY = 3, DW_PACK_VECTOR = 8, DW_PACK_WORDS = DW_PACK_ENTRY * 2 * 4 * 10 };
uint32_t dw_pack_work(struct dw_kind kind, uint32_t work[DW_PACK_WORDS]);
/* How many f16 values the edge `scratch` has; the same for any number of blocks. */
uint32_t dw_scratch_halves(struct dw_kind kind, uint32_t ho, uint32_t wo, uint32_t wp);
/* Writes the words of the field `work`. hp and wp: rows and columns of x, at least (ho - 1) stride
 * + k and (wo - 1) stride + k. */
enum { DW_WORK_WORDS = 1 + 6 * 14 };
void dw_work(struct dw_kind kind, uint32_t ho, uint32_t wo, uint32_t hp, uint32_t wp,
             uint32_t work[DW_WORK_WORDS]);

/* ---- first layer, conv_first_f16: kernel k x k (3 to 8), stride 2, 3 or 4 channels ---- */

/* The field `kb`: how many blocks of 4 pixels a kernel is cut into. */
uint32_t conv_first_blocks(uint32_t k);
/* How many f16 values the packed weights of a block of 16 output channels have. */
uint32_t conv_first_pack_halves(uint32_t k);
/* Block `block` of a kernel: pixels [begin, end) of a row of the kernel, after `before` zeros. */
struct conv_first_pixels {
    uint32_t row, begin, end, before;
};
struct conv_first_pixels conv_first_pixels(uint32_t k, uint32_t block);
/* w [16][channels][k][k] -> packed; channels 3 or 4. */
void conv_first_pack(uint32_t k, uint32_t channels, const uint16_t *w, uint16_t *packed);
/* Packed weights [kb][16][16], of 16 outputs, -> [2][kb][8][16], two blocks of 8 outputs: the order
 * for codelets with f32 sums. */
void conv_pack_f32(uint32_t kb, const uint16_t *packed, uint16_t *out);
/* The field `rows`: how many words it has; writes them. */
uint32_t conv_first_row_words(uint32_t k, uint32_t ho);
void conv_first_rows(uint32_t k, uint32_t ho, uint32_t wo, uint32_t wp, uint32_t *words);

/* ---- windows, conv_window_f16: kernel k x k, stride 1, input [blocks][hp][wp][16] ---- */

/* Writes the field `steps`, blocks x k x k words. own 0: every block of outputs is computed from
 * the same `blocks` blocks of the input; 1: each from the `blocks` input blocks after those of the
 * one before. Weights are [nb][blocks][k][k][16][16]. */
void conv_window_steps(uint32_t k, uint32_t blocks, uint32_t hp, uint32_t wp, int own,
                       int32_t *steps);

#endif
