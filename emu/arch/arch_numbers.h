/* arch_numbers.h - the numbers of a machine that are no members of struct arch, by name:
 * arch_isa(a) is the row `isa` of arch_fields.def. A source that reads one includes this header, so
 * that a new number compiles only those sources.
 */
#ifndef EMU_ARCH_NUMBERS_H
#define EMU_ARCH_NUMBERS_H

#include "emu/arch/arch.h"

SUPERSTEP_API_BEGIN

/* All fields, members too, in the order of the table: what ss_arch_field_at() and others count by.
 */
enum arch_field_id {
#define FIELD(name, type, unit, min, max, stage, mark, source, doc) ARCH_FIELD_##name,
#include "emu/arch/arch_fields.def"
#undef FIELD
    ARCH_FIELD_COUNT
};

/* Places in `number` of struct arch, for who changes one: a.number[ARCH_NUMBER_isa] = 21. */
enum arch_number {
#define MEMBER(...)
#define NUMBER(name, type, unit, min, max, stage, mark, source, doc) ARCH_NUMBER_##name,
#include "emu/arch/arch_fields.def"
    ARCH_NUMBER_COUNT
};

#define ARCH_NUMBER_u32   uint32_t
#define ARCH_NUMBER_hex   uint32_t
#define ARCH_NUMBER_kind  uint32_t
#define ARCH_NUMBER_clash uint32_t
#define ARCH_NUMBER_rails uint32_t
#define ARCH_NUMBER_u64   uint64_t

#define MEMBER(...)
#define NUMBER(name, type, unit, min, max, stage, mark, source, doc)                               \
    static inline ARCH_NUMBER_##type arch_##name(const struct arch *a)                             \
    {                                                                                              \
        return (ARCH_NUMBER_##type)a->number[ARCH_NUMBER_##name];                                  \
    }
#include "emu/arch/arch_fields.def"

#undef ARCH_NUMBER_u32
#undef ARCH_NUMBER_hex
#undef ARCH_NUMBER_kind
#undef ARCH_NUMBER_clash
#undef ARCH_NUMBER_rails
#undef ARCH_NUMBER_u64

SUPERSTEP_API_END

#endif
