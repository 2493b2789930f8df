/* vertex_fields.h - adds vertices with all their fields; the C compiler checks them.
 *
 *   VERTEX(norm_fold_f32, g, cs, tile, .sum = s, .sumsq = q, .totals = t, .first = 0, .each = 16,
 * .channels = 64); VERTEX_OF(binary, codelet, g, cs, tile, .a = x, .b = y, .out = z);
 *
 * The first is for a kernel that is known, the second for a codelet that is chosen at run time
 * among kernels with the same state. Each adds a vertex to compute set cs and returns its number.
 * Fields are tensors, float (F32, F16), uint32_t (U32), struct word_list and struct tensor_list;
 * lengths are filled in when the graph is compiled. A field that does not exist, is missing, is
 * given twice or has another type is an error of the C compiler.
 */
#ifndef PROGRAMS_VERTEX_FIELDS_H
#define PROGRAMS_VERTEX_FIELDS_H

#include "programs/library/kernel/codelet_table.h"
#include "programs/library/kernel/fields.h"

struct word_list {
    const uint32_t *at; /* borrowed during the call */
    uint32_t n;
};

static inline struct word_list word_list(const uint32_t *at, uint32_t n)
{
    return (struct word_list){ at, n };
}

struct tensor_list {
    const struct tensor *at;
    size_t n;
};

/* Adds a vertex of a codelet, which must have that state. A NULL codelet adds none. */
uint32_t vertex_of_state(struct graph *g, uint32_t compute_set, const struct codelet *codelet,
                         enum kernel_state state, uint32_t tile);

static inline void vertex_connect_list(struct graph *g, uint32_t vertex, unsigned field,
                                       struct tensor_list list)
{
    for (size_t i = 0; i < list.n; i++)
        vertex_connect_field(g, vertex, field, list.at[i]);
}

#ifdef __clang__
#define ONLY_BY_NAME
#else
#define ONLY_BY_NAME __attribute__((designated_init))
#endif

/* ---- struct STATE_fields: what is to be set ---- */

#define IN(s, field, elem, align, region)       struct tensor field;
#define OUT(s, field, elem, align, region)      struct tensor field;
#define INOUT(s, field, elem, align, region)    struct tensor field;
#define IN_LIST(s, field, elem, align, region)  struct tensor_list field;
#define OUT_LIST(s, field, elem, align, region) struct tensor_list field;
#define WORDS(s, field)                         struct word_list field;
#define U32(s, field)                           uint32_t field;
#define F32(s, field)                           float field;
#define F16(s, field)                           float field;
#define LENGTH(s, field, of)
#define APART(s, a, b)
#define NEAR(s, a, b)
#define STATE(state, ...)                                                                          \
    struct state##_fields {                                                                        \
        FIELDS_##state(state, ##__VA_ARGS__)                                                       \
    } ONLY_BY_NAME;
#define KERNEL(...)
#include "programs/library/kernel/families.def"
#include "programs/library/kernel/rows_end.def"

/* ---- STATE_members: how many these are ---- */

#define INDEX(s, field) +1
#define LENGTH(...)
#include "programs/library/kernel/fields_alike.def"
#define STATE(state, ...)        enum { state##_members = 0 FIELDS_##state(state, ##__VA_ARGS__) };
#define KERNEL(name, state, ...) enum { name##_set = state##_members };
#include "programs/library/kernel/families.def"
#include "programs/library/kernel/rows_end.def"

/* ---- vertex_STATE and NAME_vertex: the functions that set them ---- */

#define IN(s, field, elem, align, region)       vertex_connect_field(g, v, s##__##field, f->field);
#define OUT(s, field, elem, align, region)      vertex_connect_field(g, v, s##__##field, f->field);
#define INOUT(s, field, elem, align, region)    vertex_connect_field(g, v, s##__##field, f->field);
#define IN_LIST(s, field, elem, align, region)  vertex_connect_list(g, v, s##__##field, f->field);
#define OUT_LIST(s, field, elem, align, region) vertex_connect_list(g, v, s##__##field, f->field);
#define WORDS(s, field)                         vertex_set_field_words(g, v, s##__##field, f->field.at, f->field.n);
#define U32(s, field)                           vertex_set_field_u32(g, v, s##__##field, f->field);
#define F32(s, field)                           vertex_set_field_float(g, v, s##__##field, f->field);
#define F16(s, field)                           vertex_set_field_float(g, v, s##__##field, f->field);
#define LENGTH(s, field, of)
#define APART(s, a, b)
#define NEAR(s, a, b)
#define STATE(state, ...)                                                                          \
    static inline uint32_t vertex_##state(struct graph *g, uint32_t cs, const struct codelet *c,   \
                                          uint32_t tile, const struct state##_fields *f)           \
    {                                                                                              \
        uint32_t v = vertex_of_state(g, cs, c, STATE_##state, tile);                               \
                                                                                                   \
        FIELDS_##state(state, ##__VA_ARGS__) return v;                                             \
    }
#define KERNEL(name, state, ...)                                                                   \
    typedef struct state##_fields name##_fields;                                                   \
    static inline uint32_t name##_vertex(struct graph *g, uint32_t cs, uint32_t tile,              \
                                         const struct state##_fields *f)                           \
    {                                                                                              \
        return vertex_##state(g, cs, KERNEL_ROW(name), tile, f);                                   \
    }
#include "programs/library/kernel/families.def"
#include "programs/library/kernel/rows_end.def"

/* ---- the macros ---- */

#define FIELDS_GIVEN(...)                                                                          \
    FIELDS_GIVEN_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
#define FIELDS_GIVEN_(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, n, ...) n

/* Between FIELDS_STRICT and FIELDS_LAX it is an error to give a number for a tensor, or a number
 * that its field cannot hold. */
#ifdef __clang__
#define FIELDS_EXTRA _Pragma("clang diagnostic error \"-Wliteral-conversion\"")
#else
#define FIELDS_EXTRA _Pragma("GCC diagnostic error \"-Wdesignated-init\"")
#endif
#define FIELDS_STRICT                                                                              \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic error \"-Wfloat-conversion\"")          \
        _Pragma("GCC diagnostic error \"-Wmissing-braces\"")                                       \
            _Pragma("GCC diagnostic error \"-Woverride-init\"") FIELDS_EXTRA
#define FIELDS_LAX _Pragma("GCC diagnostic pop")

#define VERTEX(kernel, g, cs, tile, ...)                                                           \
    ({                                                                                             \
        _Static_assert(FIELDS_GIVEN(__VA_ARGS__) == kernel##_set,                                  \
                       "every field of " #kernel " is set once");                                  \
        FIELDS_STRICT                                                                              \
        const kernel##_fields fields_ = { __VA_ARGS__ };                                           \
        FIELDS_LAX                                                                                 \
        kernel##_vertex(g, cs, tile, &fields_);                                                    \
    })

#define VERTEX_OF(state, codelet, g, cs, tile, ...)                                                \
    ({                                                                                             \
        _Static_assert(FIELDS_GIVEN(__VA_ARGS__) == state##_members,                               \
                       "every field of " #state " is set once");                                   \
        FIELDS_STRICT                                                                              \
        const struct state##_fields fields_ = { __VA_ARGS__ };                                     \
        FIELDS_LAX                                                                                 \
        vertex_##state(g, cs, codelet, tile, &fields_);                                            \
    })

#endif
