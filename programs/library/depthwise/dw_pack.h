/* dw_pack.h - what the codelets of depthwise convolutions need besides their tensors: weights in
 * the order in which dw*_f16 reads them, work lists, sizes of scratch.
 */
#ifndef PROGRAMS_DW_PACK_H
#define PROGRAMS_DW_PACK_H

#include <stdint.h>

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

#endif
