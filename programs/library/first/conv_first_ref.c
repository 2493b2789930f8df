/* conv_first_ref.c - conv_first_f16, conv_first_f16_f32: meaning and cycles. */
#include "emu/arch/arch_numbers.h"
#include "programs/library/kernel/codelet_ref.h"
#include "programs/library/first/first_pack.h"

_Static_assert((int)conv_first__patches == matmul__in && (int)conv_first__y == matmul__out &&
                   (int)conv_first__weights == matmul__weights &&
                   (int)conv_first__kb == matmul__kb && (int)conv_first__nb == matmul__nb &&
                   (int)conv_first__f == matmul__f,
               "patches times weights is a call of matmul");

enum { BLOCK_BYTES = 32, PIXEL_BYTES = 8, STRIDE = 2 };

/* Copies the rows that the list names: each position has 4 pixels, and begins 2 pixels after the
 * one before. */
static void copy_patches(const struct codelet_call *call)
{
    uint32_t rows = call->arg[conv_first__kb].value * call->arg[conv_first__ho].value,
             wo = call->arg[conv_first__wo].value;
    const uint32_t *row = call->arg[conv_first__rows].data;
    const uint8_t *x = call->arg[conv_first__x].data;
    uint8_t *patches = call->arg[conv_first__patches].data;

    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t c = 0; c < wo; c++)
            memcpy(patches + row[2 * i + 1] + c * BLOCK_BYTES,
                   x + row[2 * i] + c * STRIDE * PIXEL_BYTES, BLOCK_BYTES);
    }
}

void conv_first_f16_ref(const struct codelet_call *call)
{
    copy_patches(call);
    matmul_f16_ref(call);
}

void conv_first_f16_f32_ref(const struct codelet_call *call)
{
    copy_patches(call);
    matmul_f16_f32_ref(call);
}

/* The instructions of conv_first.inc, counted; then as `matmul`. Takes the size of the kernel from
 * hp, so that the fields of blocks and positions need not be given. */
static uint64_t conv_first_cycles(const struct codelet_call *call,
                                  uint64_t (*matmul)(const struct codelet_call *call))
{
    const struct arch *a = call->arch;
    struct codelet_call product = *call;
    uint64_t ho = call->arg[conv_first__ho].value, wo = call->arg[conv_first__wo].value, rows,
             slots;
    uint32_t k = call->arg[conv_first__hp].value - STRIDE * ((uint32_t)ho - 1);

    product.arg[conv_first__kb].value = conv_first_blocks(k);
    product.arg[conv_first__f].value = (uint32_t)(ho * wo);
    rows = codelet_share(a, product.arg[conv_first__kb].value * ho, 0);
    slots = !rows ? 16 : !wo ? 17 : 23 + rows * (10 + 4 * wo);
    return arch_sup_result_cycles(a) + codelet_multi_cycles(a, slots) + matmul(&product);
}

uint64_t conv_first_f16_cycles(const struct codelet_call *call)
{
    return conv_first_cycles(call, matmul_f16_cycles);
}

uint64_t conv_first_f16_f32_cycles(const struct codelet_call *call)
{
    return conv_first_cycles(call, matmul_f16_f32_cycles);
}
