/* conv_pack.h - weights in the order in which the convolution codelets read them. */
#ifndef PROGRAMS_CONV_PACK_H
#define PROGRAMS_CONV_PACK_H

#include <stdint.h>

/* f16 values of one block of 16 channels of a depthwise convolution, kernel k x k. */
uint32_t dw_pack_halves(uint32_t k);
/* w [16][k][k] -> packed. */
void dw_pack(uint32_t k, const uint16_t *w, uint16_t *packed);

/* f16 values of one block of 16 output channels of a first layer, kernel k x k. */
uint32_t conv_first_pack_halves(uint32_t k);
/* w [16][channels][k][k], channels 3 or 4 -> packed. */
void conv_first_pack(uint32_t k, uint32_t channels, const uint16_t *w, uint16_t *packed);

#endif
