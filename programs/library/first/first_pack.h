/* first_pack.h - what conv_first_f16 needs besides its tensors: weights in the order in which it
 * reads them, and its list of rows. The kernel is k x k (3 to 8), the stride 2, channels are 3
 * or 4.
 */
#ifndef PROGRAMS_FIRST_PACK_H
#define PROGRAMS_FIRST_PACK_H

#include <stdint.h>

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

#endif
