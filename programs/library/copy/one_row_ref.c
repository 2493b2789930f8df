/* one_row_ref.c - row_get_*, row_put_*, row_next: meaning, and the cycles of row.S. */
#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "programs/library/kernel/codelet_ref.h"

/* Bytes of a row, and where row at[0] begins. */
static size_t row_of(const struct codelet_call *call, unsigned bytes, uint8_t **begin)
{
    const uint32_t *at = call->arg[row_get__at].data;
    size_t size = (size_t)call->arg[row_get__n].value * bytes;

    *begin = (uint8_t *)call->arg[row_get__rows].data + at[0] * size;
    return size;
}

static uint64_t row_slots(const struct codelet_call *call, unsigned bytes, unsigned w)
{
    return 21 + 2 * codelet_share(call->arch, (uint64_t)call->arg[row_get__n].value * bytes / 8, w);
}

static uint64_t halves_slots(const void *call, unsigned w)
{
    return row_slots(call, 2, w);
}

static uint64_t words_slots(const void *call, unsigned w)
{
    return row_slots(call, 4, w);
}

#define ROW(type, bytes, slots)                                                                    \
    void row_get_##type##_ref(const struct codelet_call *call)                                     \
    {                                                                                              \
        uint8_t *begin;                                                                            \
        size_t size = row_of(call, bytes, &begin);                                                 \
                                                                                                   \
        if (size)                                                                                  \
            memcpy(call->arg[row_get__row].data, begin, size);                                     \
    }                                                                                              \
    void row_put_##type##_ref(const struct codelet_call *call)                                     \
    {                                                                                              \
        uint8_t *begin;                                                                            \
        size_t size = row_of(call, bytes, &begin);                                                 \
                                                                                                   \
        if (size)                                                                                  \
            memcpy(begin, call->arg[row_put__row].data, size);                                     \
    }                                                                                              \
    uint64_t row_get_##type##_cycles(const struct codelet_call *call)                              \
    {                                                                                              \
        return codelet_workers_cycles(call->arch, slots, call);                                    \
    }                                                                                              \
    uint64_t row_put_##type##_cycles(const struct codelet_call *call)                              \
    {                                                                                              \
        return codelet_workers_cycles(call->arch, slots, call);                                    \
    }

_Static_assert((int)row_get__row == row_put__row && (int)row_get__n == row_put__n,
               "both have the same fields");
ROW(f16, 2, halves_slots)
ROW(f32, 4, words_slots)

void row_next_ref(const struct codelet_call *call)
{
    uint32_t *at = call->arg[row_next__at].data;

    at[0] = at[0] + 1 == call->arg[row_next__rows].value ? 0 : at[0] + 1;
}

/* call, five results waited for (the address, the number, the sum, the comparison, the choice),
 * st32, br. */
uint64_t row_next_cycles(const struct codelet_call *call)
{
    const struct arch *a = call->arch;

    return 2 * (uint64_t)arch_sup_branch_cycles(a) + 5 * (uint64_t)arch_sup_result_cycles(a) + 1;
}
