/* codelet_ref.h - what the families' meanings in C share: prototypes, parts of formulas, and the
 * exact times of codelets whose time depends on the addresses of their edges.
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

/* How many slots a worker issues in, its exit included. */
typedef uint64_t worker_slots(const void *shape, unsigned worker);

/* Cycles of a MULTI call, from the slots of its slowest worker. */
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

/* How many of n vectors worker w takes if workers take them in turn (SHARE of worker.inc), or if
 * each takes a block of neighbours (BLOCK). */
static inline uint64_t codelet_share(const struct arch *a, uint64_t n, unsigned w)
{
    return (n + a->workers - 1 - w) / a->workers;
}

static inline uint64_t codelet_block(const struct arch *a, uint64_t n, unsigned w)
{
    uint64_t most = (n + a->workers - 1) / a->workers, first = most * w;

    return first >= n ? 0 : n - first < most ? n - first : most;
}

/* The exact cycles of calls with edges at given byte addresses.
 *
 * fill_*: n elements of `bits` bits. copy_*: bits 8, 16, 32, or 64, where n counts words. */
uint64_t fill_cycles_at(const struct arch *a, unsigned bits, uint32_t out, uint32_t n);
uint64_t copy_cycles_at(const struct arch *a, unsigned bits, uint32_t src, uint32_t dst,
                        uint32_t n);
/* copy_list_*: n runs; run k has elements[k] elements (bits 64: words) at src[k] and dst[k]. */
uint64_t copy_list_cycles_at(const struct arch *a, unsigned bits, const uint32_t *src,
                             const uint32_t *dst, const uint32_t *elements, uint32_t n);
/* total_* with x there. */
uint64_t total_cycles_at(const struct codelet_call *call, const struct codelet *codelet,
                         uint32_t x);
/* transpose_32 with y there; mul_by_f32. */
uint64_t transpose_32_cycles_at(const struct codelet_call *call, uint32_t y);
uint64_t mul_by_f32_cycles_at(const struct codelet_call *call, uint32_t x, uint32_t y);

#endif
