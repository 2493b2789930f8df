/* codelet_table.c - the table of codelets, made from families.def. */
#include "emu/arch/arch_numbers.h"
#include "programs/library/kernel/codelet_ref.h"

#include <string.h>

#define EDGE(kind, field, elem, align, region)                                                     \
    { FIELD_##kind, #field, ELEM_##elem, align, region, NULL },
#define PLAIN(kind, field, other)               { FIELD_##kind, #field, ELEM_U32, 4, ANY, other },
#define IN(s, field, elem, align, region)       EDGE(IN, field, elem, align, region)
#define OUT(s, field, elem, align, region)      EDGE(OUT, field, elem, align, region)
#define INOUT(s, field, elem, align, region)    EDGE(INOUT, field, elem, align, region)
#define IN_LIST(s, field, elem, align, region)  EDGE(IN_LIST, field, elem, align, region)
#define OUT_LIST(s, field, elem, align, region) EDGE(OUT_LIST, field, elem, align, region)
#define WORDS(s, field)                         PLAIN(WORDS, field, NULL)
#define U32(s, field)                           PLAIN(U32, field, NULL)
#define F32(s, field)                           PLAIN(F32, field, NULL)
#define F16(s, field)                           PLAIN(F16, field, NULL)
#define LENGTH(s, field, of)                    PLAIN(LENGTH, field, #of)
#define APART(s, a, b)                          PLAIN(APART, a, #b)
#define NEAR(s, a, b)

#define STATE(...)
#define KERNEL(name, state, kind, time, text, ...)                                                 \
    static const struct codelet_field name##_fields[] = { FIELDS_##state(state, ##__VA_ARGS__) };  \
    _Static_assert(EMU_COUNT_OF(name##_fields) <= CODELET_MAX_FIELDS, "fields of " #name);
#include "programs/library/kernel/families.def"
#undef KERNEL

const struct codelet codelet_table[] = {
#define KERNEL(name, state, kind, time, text, ...)                                                 \
    { #name,                                                                                       \
      CODELET_##kind,                                                                              \
      TIME_##time,                                                                                 \
      text,                                                                                        \
      name##_fields,                                                                               \
      EMU_COUNT_OF(name##_fields),                                                                 \
      name##_ref,                                                                                  \
      name##_cycles,                                                                               \
      NULL,                                                                                        \
      0,                                                                                           \
      0 },
#include "programs/library/kernel/families.def"
#undef KERNEL
    { 0 },
};

static const uint8_t state_of_row[] = {
#define KERNEL(name, state, ...) STATE_##state,
#include "programs/library/kernel/families.def"
};
#include "programs/library/kernel/rows_end.def"

enum kernel_state codelet_state(const struct codelet *c)
{
    return (enum kernel_state)state_of_row[c - codelet_table];
}

const unsigned codelet_count = EMU_COUNT_OF(codelet_table) - 1;

/* Rows by the hash of their names: graphs look up a codelet for every vertex that is added by name.
 */
enum { NAME_SLOTS = 1024 };
_Static_assert(EMU_COUNT_OF(codelet_table) < NAME_SLOTS / 2, "slots for the names of codelets");
static uint16_t name_slot[NAME_SLOTS]; /* row + 1; filled before main() */

static unsigned name_hash(const char *name)
{
    unsigned h = 2166136261u;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

/* The slot that has the row of a name, or the free slot in which it belongs. */
static uint16_t *name_find(const char *name)
{
    for (unsigned i = name_hash(name);; i++) {
        uint16_t *slot = &name_slot[i % NAME_SLOTS];

        if (!*slot || !strcmp(codelet_table[*slot - 1].name, name))
            return slot;
    }
}

__attribute__((constructor)) static void fill_names(void)
{
    for (unsigned i = 0; i < codelet_count; i++)
        *name_find(codelet_table[i].name) = (uint16_t)(i + 1);
}

const struct codelet *codelet_find(const char *name)
{
    uint16_t row = *name_find(name);

    return row ? &codelet_table[row - 1] : NULL;
}

uint64_t codelet_multi_cycles(const struct arch *a, uint64_t slots)
{
    /* docs/timing.md 4: launch, the worker's slots, the last worker's slot, its exit, sync LOCAL.
     */
    return arch_launch_cycles(a) + a->workers * (slots - 1) + (a->workers - 1) +
           arch_exit_seen_cycles(a) + arch_sup_sync_local_cycles(a);
}

/* ---- the library as the compiler sees it ---- */

const struct codelet_library ss_kernel_library = {
    .find = codelet_find,
    .copy = { KERNEL_ROW(copy_8), KERNEL_ROW(copy_16), KERNEL_ROW(copy_32), KERNEL_ROW(copy_64) },
    .copy_list = { KERNEL_ROW(copy_list_8), KERNEL_ROW(copy_list_16), KERNEL_ROW(copy_list_32),
                   KERNEL_ROW(copy_list_64) },
    .link = codelet_link,
};
