/* codelet_ref.h - what the references of the families share: prototypes, pieces of times, and the
 * exact times of codelets whose time depends on where their edges lie.
 */
#ifndef PROGRAMS_CODELET_REF_H
#define PROGRAMS_CODELET_REF_H

#include "programs/library/kernel/codelet_table.h"
#include "programs/library/kernel/fields.h"

#define STATE(...)
#define KERNEL(name, ...)                                                                          \
    void name##_ref(const struct codelet_call *call);                                              \
    uint64_t name##_cycles(const struct codelet_call *call);
#include "programs/library/kernel/families.def"
#include "programs/library/kernel/rows_end.def"

/* Issue slots of a worker, its exit included. */
typedef uint64_t worker_slots(const void *shape, unsigned worker);

/* Cycles of a MULTI call of a shape. */
static inline uint64_t codelet_workers_cycles(const struct arch *a, worker_slots *slots,
                                              const void *shape)
{
    uint64_t most = 0;

    for (unsigned w = 0; w < a->workers; w++) {
        uint64_t n = slots(shape, w);

        most = n > most ? n : most;
    }
    return codelet_multi_cycles(a, most);
}

/* How many of n vectors worker w takes: every workers-th (SHARE of worker.inc), or a block of
 * neighbours (BLOCK). */
static inline uint64_t codelet_share(const struct arch *a, uint64_t n, unsigned w)
{
    return (n + a->workers - 1 - w) / a->workers;
}

static inline uint64_t codelet_block(const struct arch *a, uint64_t n, unsigned w)
{
    uint64_t most = (n + a->workers - 1) / a->workers, first = most * w;

    return first >= n ? 0 : n - first < most ? n - first : most;
}

/* fill_*: n elements of `bits` bits at byte address out. copy_*: bits 8, 16, 32 or 64 (words). */
uint64_t fill_cycles_at(const struct arch *a, unsigned bits, uint32_t out, uint32_t n);
uint64_t copy_cycles_at(const struct arch *a, unsigned bits, uint32_t src, uint32_t dst,
                        uint32_t n);
/* copy_list_*: n runs of elements[k] elements (64: words) at byte addresses src[k], dst[k]. */
uint64_t copy_list_cycles_at(const struct arch *a, unsigned bits, const uint32_t *src,
                             const uint32_t *dst, const uint32_t *elements, uint32_t n);
/* total_*: x at that byte address. */
uint64_t total_cycles_at(const struct codelet_call *call, const struct codelet *codelet,
                         uint32_t x);
/* transpose_32: y at that byte address. */
uint64_t transpose_32_cycles_at(const struct codelet_call *call, uint32_t y);
uint64_t mul_by_f32_cycles_at(const struct codelet_call *call, uint32_t x, uint32_t y);

#endif
