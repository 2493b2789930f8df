/* op_error.c - nodes with bounds: values, and which rule holds for which family. */
#include "models/bound/op_error_rules.h"

#include <string.h>

/* ---- values ---- */

void bounded_value_free(struct bounded_value *x)
{
    op_tensor_free(&x->t);
    ss_free(x->e);
    memset(x, 0, sizeof(*x));
}

/* Sets x->e to what rounding to a type changes, if it changes anything. */
static enum emu_status round_constant(enum elem e, struct bounded_value *x)
{
    const struct rounding r = rounding_of(e);
    uint64_t n = count_of(x), first = 0;

    if (!is_float(x))
        return EMU_OK;
    while (first < n && bounded_constant(&r, x->t.f[first]).e == 0)
        first++;
    if (first == n)
        return EMU_OK;
    x->e = emu_alloc(n, sizeof(*x->e));
    if (!x->e)
        return FAIL(NO_MEMORY, "bounds");
    for (uint64_t i = first; i < n; i++)
        x->e[i] = bounded_constant(&r, x->t.f[i]).e;
    return EMU_OK;
}

enum emu_status bounded_value_constant(const struct op_graph *g, uint32_t value, enum elem e,
                                       struct bounded_value *out)
{
    *out = (struct bounded_value){ .e = NULL };
    TRY(op_value_read(g, value, &out->t));
    return round_constant(e, out);
}

void bounded_value_round(enum elem e, struct bounded_value *x)
{
    const struct rounding r = rounding_of(e);

    for (uint64_t i = 0; x->t.any && x->e && is_float(x) && i < count_of(x); i++)
        x->e[i] = bounded_round(&r, bounded_at(x, i), 1).e;
}

enum emu_status op_error_run(const struct op_error *o, const struct op_node *n,
                             const struct op_tensor *const *in, double **out)
{
    struct op_tensor *result = emu_alloc(n->outs + 1, sizeof(*result));
    enum emu_status s;

    *out = NULL;
    if (!result)
        return FAIL(NO_MEMORY, "%s", n->name);
    s = op_node_run(o->g, n, in, result);
    if (s == EMU_OK) {
        *out = result[0].f;
        result[0].any = NULL;
    }
    for (uint32_t k = 0; k < n->outs; k++)
        op_tensor_free(&result[k]);
    ss_free(result);
    return s;
}

enum emu_status op_error_as_f16(const struct bounded_value *x, double **out)
{
    const struct rounding r = rounding_of(ELEM_F16);
    uint64_t n = count_of(x);
    int any = 0;

    *out = emu_alloc(n + 1, sizeof(**out));
    if (!*out)
        return FAIL(NO_MEMORY, "bounds");
    for (uint64_t i = 0; i < n; i++) {
        struct bounded b = bounded_at(x, i);

        (*out)[i] = b.e + bounded_constant(&r, b.v).e;
        any |= (*out)[i] > 0;
    }
    if (!any) {
        ss_free(*out);
        *out = NULL;
    }
    return EMU_OK;
}

/* ---- what moves numbers ---- */

/* Numbers of the machine are of its type; constants, and what pads, are rounded to it. */
static enum emu_status move_error(const struct op_error *o, const struct op_node *n,
                                  const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct rounding r = rounding_of(o->elem);

    (void)in;
    for (uint32_t k = 0; k < n->outs; k++) {
        for (uint64_t i = 0; out[k].e && is_float(&out[k]) && i < count_of(&out[k]); i++)
            out[k].e[i] = bounded_constant(&r, out[k].t.f[i]).e;
    }
    return EMU_OK;
}

static enum emu_status cast_error(const struct op_error *o, const struct op_node *n,
                                  const struct bounded_value *const *in, struct bounded_value *out)
{
    int half = out->t.shape.type == OP_TYPE_F16;
    const struct rounding r = rounding_of(half ? ELEM_F16 : o->elem);

    (void)n;
    for (uint64_t i = 0; i < count_of(out); i++) {
        struct bounded x = bounded_at(in[0], i);

        if (is_float(out))
            out->e[i] = x.e + bounded_constant(&r, x.v).e;
        else
            out->e[i] = x.e > 0; /* may be on the other side of a whole number */
    }
    return EMU_OK;
}

/* ---- nodes ---- */

/* Families that move numbers; those that have no bounds yet. */
#define alias_error    move_error
#define constant_error NULL
#define einsum_error   NULL
#define gather_error   move_error
#define random_error   NULL
#define resize_error   move_error
#define shape_error    NULL
#define slice_error    move_error
#define update_error   NULL
#define view_error     move_error
static op_error_rule *const rules[] = {
#define FAMILY(name, flags) [FAMILY_##name] = name##_error,
#include "models/operators/op_families.def"
#undef FAMILY
};

/* The results' numbers, and room for their bounds. */
static enum emu_status run_node(const struct op_error *o, const struct op_node *n,
                                const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct op_tensor **from = emu_alloc(n->ins + 1, sizeof(*from));
    struct op_tensor *to = emu_alloc(n->outs + 1, sizeof(*to));
    enum emu_status s = from && to ? EMU_OK : FAIL(NO_MEMORY, "%s", n->name);

    for (uint32_t k = 0; s == EMU_OK && k < n->ins; k++)
        from[k] = in[k] ? &in[k]->t : NULL;
    if (s == EMU_OK)
        s = op_node_run(o->g, n, from, to);
    for (uint32_t k = 0; to && k < n->outs; k++) {
        out[k].t = to[k];
        if (s != EMU_OK || !to[k].any)
            continue;
        out[k].e = emu_alloc(count_of(&out[k]) + 1, sizeof(*out[k].e));
        if (!out[k].e)
            s = FAIL(NO_MEMORY, "%s", n->name);
    }
    ss_free(from);
    ss_free(to);
    return s;
}

enum emu_status op_error_node(const struct op_error *o, const struct op_node *n,
                              const struct bounded_value *const *in, struct bounded_value *out)
{
    op_error_rule *rule = rules[n->row->family_code];

    memset(out, 0, n->outs * sizeof(*out));
    if (!rule)
        return FAIL(BAD_FILE, "node %s (%s): no bounds of the operator are built yet", n->name,
                    n->row->name);
    TRY(run_node(o, n, in, out));
    return rule(o, n, in, out);
}
