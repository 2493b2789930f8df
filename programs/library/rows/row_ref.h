/* row_ref.h - what the meanings and formulas of the kernels of rows share: the parts of rows, which
 * of them a worker has, and what all partial results of a row make.
 */
#ifndef PROGRAMS_ROW_REF_H
#define PROGRAMS_ROW_REF_H

#include "programs/library/kernel/codelet_ref.h"

/* The first fields of all states (FIELDS_rows). */
struct row_share {
    uint32_t n, rows, parts, step, each;
    uint32_t lanes; /* elements of a vector of 8 bytes */
    uint32_t pitch; /* elements from one row to the next */
};

struct row_share row_share(const struct codelet_call *call, unsigned bits);

/* Elements [begin, whole) of a row are the whole vectors of a part, [whole, end) come after. */
struct row_part {
    uint32_t begin, whole, end;
};
struct row_part row_part(const struct row_share *s, uint32_t part);

/* Element i of an edge of 16 or 32 bits, as f32. */
uint32_t row_element(const void *data, unsigned bits, size_t i, struct fp_env *env);
/* Writes f32 v as element i. */
void row_write(void *data, unsigned bits, size_t i, uint32_t v, struct fp_env *env);

typedef uint32_t row_op(uint32_t a, uint32_t b, struct fp_env *env);
/* op over p partial results of a row, in their order, from `first` on. */
uint32_t row_total(const void *partial, uint32_t p, uint32_t row, row_op *op, uint32_t first,
                   struct fp_env *env);
uint32_t row_add(uint32_t a, uint32_t b, struct fp_env *env);
uint32_t row_max(uint32_t a, uint32_t b, struct fp_env *env);

enum { ROW_LOWEST = 0xff800000 };

/* What a kernel takes: once, for each row, for each vector of 8 bytes of x and each element after
 * the last whole one, or, if padded, for the vector that these are in. */
struct row_slots {
    unsigned once, row, vector, element, end;
    int padded;
};

/* Cycles of a call. */
uint64_t row_cycles(const struct codelet_call *call, unsigned bits, const struct row_slots *slots);

enum { ROW_SHARE_SLOTS = 32, ROW_PARTIALS_SLOTS = 8 }; /* ROWS, ROW_PARTIALS of rows.inc */

/* The functions of the kernel row_NAME for elements of so many bits. */
#define ROW_KERNEL(name, meaning, time, bits)                                                      \
    void row_##name##_ref(const struct codelet_call *call)                                         \
    {                                                                                              \
        meaning(call, bits);                                                                       \
    }                                                                                              \
    uint64_t row_##name##_cycles(const struct codelet_call *call)                                  \
    {                                                                                              \
        return time(call, bits);                                                                   \
    }

#endif
