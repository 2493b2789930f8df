/* compare_groups.c - every group of a run against the reference. */
#include "models/bound/compare_groups.h"

#include <math.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "emu/job/run_image.h"
#include "models/bound/op_error.h"

enum { F16_MAX = 65504, NODE_NAME = 28, GROUP_OPS = 28 };

struct comparer {
    const struct op_program *p;
    const struct op_graph *g;
    const struct lower_options *o;
    struct session *s;
    struct bounded_value *value;  /* owned; by value: what the group at hand reads and makes */
    uint32_t *last_reader;        /* owned; by value: the last group compared that reads it */
    struct group_comparison *sum; /* borrowed */
    enum elem real, around;       /* of the group that is compared now, and of those around it */
};

/* ---- comparison ---- */

struct difference {
    double largest, error, bound,
        worst; /* the largest value; error, bound and ratio of the worst number */
    double square_error, square;
    uint32_t value; /* the worst: its value and element */
    uint64_t at;
    int has_nan; /* the reference has */
    int lost;    /* but the machine has numbers there, so nothing can be compared */
};

/* How far a number is from its bound: 1 is at it. Infinities and NaN must be met, unless the bound
 * is infinite. */
static double ratio_of(struct bounded want, double got, double *error)
{
    *error = got == want.v || (isnan(got) && isnan(want.v)) ? 0 : fabs(got - want.v);
    if (*error == 0 || want.e == INFINITY)
        return 0;
    return isnan(*error) || isnan(want.e) ? INFINITY : *error / want.e;
}

static void differ(const struct bounded_value *want, const struct op_tensor *got, uint32_t value,
                   struct difference *d)
{
    for (uint64_t i = 0; i < op_shape_count(&got->shape); i++) {
        struct bounded w = { op_tensor_number(&want->t, i), want->e ? want->e[i] : 0 };
        double error, ratio = ratio_of(w, op_tensor_number(got, i), &error);

        d->has_nan |= isnan(w.v) != 0;
        d->lost |= isnan(w.v) && error != 0;
        if (ratio > d->worst) {
            d->worst = ratio;
            d->error = error;
            d->bound = w.e;
            d->value = value;
            d->at = i;
        }
        if (!isfinite(w.v) || !isfinite(error))
            continue;
        d->largest = fmax(d->largest, fabs(w.v));
        d->square_error += error * error;
        d->square += w.v * w.v;
    }
}

/* What is wrong with a result; empty: nothing. */
static const char *verdict_of(const struct difference *d)
{
    if (d->worst <= 1)
        return d->has_nan ? "NOT FINITE: NaN, as in the reference" : "";
    return d->largest > F16_MAX ? "BROKEN: beyond the range of f16" : "BROKEN";
}

static double rms_error(const struct difference *d)
{
    return d->square > 0 ? sqrt(d->square_error / d->square) : 0;
}

/* ---- rows ---- */

/* JSON has neither infinity nor NaN. */
static json_t *real_json(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

/* Takes row, which may be NULL. */
static enum emu_status add_json(struct comparer *c, json_t *row)
{
    return json_array_append_new(c->sum->rows, row) ? FAIL(NO_MEMORY, "the answer") : EMU_OK;
}

/* The end of a name, which tells more than its beginning. */
static const char *short_name(const char *name)
{
    size_t n = strlen(name);

    return n > NODE_NAME ? name + n - NODE_NAME : name;
}

/* A group that is not compared, and why. */
static enum emu_status add_uncompared(struct comparer *c, const char *name, const char *why)
{
    if (c->sum->rows)
        return add_json(
            c, json_pack("{s:o, s:b, s:s}", "name", json_text(name), "compared", 0, "note", why));
    fprintf(c->sum->f, "%-*s %s\n", NODE_NAME, short_name(name), why);
    return EMU_OK;
}

static enum emu_status add_compared(struct comparer *c, const char *name, const char *op,
                                    const struct difference *d)
{
    const char *verdict = verdict_of(d);

    if (c->sum->rows)
        return add_json(c, json_pack("{s:o, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:s}", "name",
                                     json_text(name), "compared", 1, "op", op, "largest",
                                     real_json(d->largest), "error", real_json(d->error), "bound",
                                     real_json(d->bound), "ratio", real_json(d->worst), "rms_error",
                                     real_json(rms_error(d)), "note", verdict));
    fprintf(c->sum->f, "%-*s %-*.*s %10.4g %10.3g %10.3g %7.3f %10.3g%s%s\n", NODE_NAME,
            short_name(name), GROUP_OPS, GROUP_OPS, op, d->largest, d->error, d->bound, d->worst,
            rms_error(d), *verdict ? "  " : "", verdict);
    return EMU_OK;
}

/* " [0, 3, 7]": an element of a shape. */
static void place_text(const struct op_shape *s, uint64_t at, char *out, size_t bytes)
{
    size_t used = (size_t)snprintf(out, bytes, " [");

    for (unsigned d = 0; d < s->rank && used + 1 < bytes; d++)
        used += (size_t)snprintf(
            out + used, bytes - used, "%s%llu", d ? ", " : "",
            (unsigned long long)(at / op_shape_span(s, d + 1, s->rank) % s->dim[d]));
    if (used + 1 < bytes)
        snprintf(out + used, bytes - used, "]");
}

/* Counts a group and adds its row. */
static enum emu_status add_difference(struct comparer *c, const struct node_group *group,
                                      const struct difference *d)
{
    const char *name = c->g->node[group->node[0]].name;
    char op[GROUP_TEXT], place[OP_SHAPE_TEXT];

    if (d->has_nan && !c->sum->not_finite++)
        snprintf(c->sum->first_not_finite, sizeof(c->sum->first_not_finite), "%s", name);
    if (d->lost)
        return add_uncompared(c, name, "NOT FINITE: NaN in the reference, numbers on the machine");
    TRY(add_compared(c, name, node_group_text(c->g, group, op), d));
    c->sum->compared++;
    if (d->worst <= 1 || c->sum->broken++)
        return EMU_OK;
    place_text(&c->g->value[d->value].shape, d->at, place, sizeof(place));
    snprintf(c->sum->first, sizeof(c->sum->first), "%s, %s%s: error %.3g, bound %.3g", name,
             c->g->value[d->value].name, place, d->error, d->bound);
    return EMU_OK;
}

/* ---- values ---- */

static void round_all(struct op_tensor *t)
{
    for (uint64_t k = 0;
         op_type_kind(t->shape.type) == OP_KIND_FLOAT && k < op_shape_count(&t->shape); k++)
        t->f[k] = rounded_number(ELEM_F16, t->f[k]);
}

/* Whether a value is of the part of a graph that is f32 (lower_narrow()). */
static int is_narrowed(const struct op_graph *g, uint32_t value)
{
    uint32_t node = g->value[value].node;

    return g->f32_nodes && (node == OP_NONE || node < g->f32_nodes);
}

/* The machine's numbers of a value; of a constant those of the graph, with what rounding to elem
 * changes as their error. rounded: its reader computes in f16, and reads what was made in f32
 * rounded (lower_reads_f32()).
 */
static enum emu_status read_value(struct comparer *c, uint32_t value, enum elem elem, int rounded)
{
    const struct lowered_value *kept = lower_kept(c->p->network, value);
    struct bounded_value *v = &c->value[value];

    if (!v->t.any && op_value_constant_kind(&c->g->value[value]))
        return bounded_value_constant(c->g, value, elem, v);
    if (kept && kept->elem == ELEM_F32 && c->o->real == ELEM_F16)
        bounded_value_free(v); /* another group may have rounded it */
    if (!v->t.any) {
        EMU_ASSERT(kept);
        TRY(op_program_read_value(c->p, c->s, kept, &v->t));
    }
    if (kept && kept->elem == ELEM_F32 && c->around == ELEM_F16 &&
        ((rounded && c->real == ELEM_F16) || is_narrowed(c->g, value)))
        round_all(&v->t);
    return EMU_OK;
}

/* Frees what a group has read or made inside, and what no later group reads. */
static void release(struct comparer *c, uint32_t group, const struct node_group *at)
{
    for (unsigned k = 0; k < at->nodes; k++) {
        const struct op_node *n = &c->g->node[at->node[k]];

        for (uint32_t i = 0; i < n->ins; i++) {
            uint32_t v = n->in[i];

            if (v != OP_NONE &&
                (c->last_reader[v] <= group || op_value_constant_kind(&c->g->value[v])))
                bounded_value_free(&c->value[v]);
        }
        for (uint32_t i = 0; i < n->outs; i++) {
            uint32_t v = n->out[i];

            if (v != OP_NONE && c->last_reader[v] <= group)
                bounded_value_free(&c->value[v]);
        }
    }
}

/* ---- groups ---- */

/* The results of a group's last node on the machine. */
struct made {
    struct op_tensor *at; /* owned; by output; any NULL: not kept */
    uint32_t count;
    enum elem elem; /* of the first */
};

static void made_free(struct made *m)
{
    for (uint32_t k = 0; m->at && k < m->count; k++)
        op_tensor_free(&m->at[k]);
    ss_free(m->at);
}

static enum emu_status read_made(struct comparer *c, const struct op_node *last, struct made *m)
{
    *m = (struct made){ .count = last->outs, .elem = ELEM_COUNT };
    m->at = emu_alloc(last->outs + 1, sizeof(*m->at));
    if (!m->at)
        return FAIL(NO_MEMORY, "%s", last->name);
    for (uint32_t k = 0; k < last->outs; k++) {
        const struct lowered_value *kept =
            last->out[k] == OP_NONE ? NULL : lower_kept(c->p->network, last->out[k]);

        if (!kept)
            continue;
        if (m->elem == ELEM_COUNT)
            m->elem = kept->elem;
        TRY(op_program_read_value(c->p, c->s, kept, &m->at[k]));
    }
    return EMU_OK;
}

/* Computes a node from c->value; its results go there. The result of the group is rounded once
 * more at most. */
static enum emu_status compute_node(struct comparer *c, const struct op_node *n,
                                    const struct op_error *how)
{
    const struct bounded_value **in = emu_alloc(n->ins + 1, sizeof(*in));
    struct bounded_value *out = emu_alloc(n->outs + 1, sizeof(*out));
    enum emu_status s = in && out ? EMU_OK : FAIL(NO_MEMORY, "%s", n->name);

    for (uint32_t k = 0; s == EMU_OK && k < n->ins; k++) {
        if (n->in[k] == OP_NONE)
            continue;
        s = read_value(c, n->in[k], how->elem, !lower_reads_f32(c->g, n));
        in[k] = &c->value[n->in[k]];
    }
    if (s == EMU_OK)
        s = op_error_node(how, n, in, out);
    for (uint32_t k = 0; out && k < n->outs; k++) {
        if (s != EMU_OK || n->out[k] == OP_NONE)
            bounded_value_free(&out[k]);
        else
            c->value[n->out[k]] = out[k];
    }
    ss_free(in);
    ss_free(out);
    return s;
}

/* Compares the results, which then take the place of the reference's. */
static enum emu_status compare_made(struct comparer *c, const struct node_group *group,
                                    const struct op_node *last, struct made *m)
{
    struct difference d = { .value = last->out[0] };
    int any = 0;

    for (uint32_t k = 0; k < last->outs; k++) {
        struct bounded_value *want = last->out[k] == OP_NONE ? NULL : &c->value[last->out[k]];

        if (!m->at[k].any)
            continue;
        differ(want, &m->at[k], last->out[k], &d);
        bounded_value_free(want);
        want->t = m->at[k];
        m->at[k].any = NULL;
        any = 1;
    }
    return any ? add_difference(c, group, &d) : EMU_OK;
}

/* Whether a group must be f32, so that f16 on the machine is a mistake. In a graph that is f32 by
 * options alone, the kernels of windows may be f16 (pass_spell_windows()). */
static int is_asked_for_f32(const struct comparer *c, const struct node_group *group)
{
    return group->precision != OP_AS_OTHERS || group->node[0] < c->g->f32_nodes;
}

static enum emu_status compare_group(struct comparer *c, uint32_t i)
{
    const struct node_group *group = &c->p->network->groups.at[i];
    const struct op_node *last = &c->g->node[group->node[group->nodes - 1]];
    struct op_error how = { .g = c->g, .partials = c->o->partials };
    struct made m;
    enum emu_status s = read_made(c, last, &m);

    c->real = group->real;
    c->around = node_group_around(group);
    how.elem = m.elem == ELEM_F32 || is_asked_for_f32(c, group) ||
                       (m.elem != ELEM_F16 && group->real == ELEM_F32)
                   ? ELEM_F32
                   : ELEM_F16;
    if (s == EMU_OK && group->added != OP_NONE) {
        s = read_value(c, group->added, how.elem, 1);
        how.added = &c->value[group->added];
    }
    for (unsigned k = 0; s == EMU_OK && k < group->nodes; k++) {
        how.made = k + 1 == group->nodes ? m.at : NULL;
        s = compute_node(c, &c->g->node[group->node[k]], &how);
    }
    for (uint32_t k = 0; s == EMU_OK && group->precision == OP_WIDE_INSIDE && k < last->outs; k++) {
        if (last->out[k] != OP_NONE)
            bounded_value_round(ELEM_F16, &c->value[last->out[k]]);
    }
    if (s == EMU_OK)
        s = compare_made(c, group, last, &m);
    made_free(&m);
    release(c, i, group);
    return s;
}

static enum emu_status compare_all(struct comparer *c)
{
    const struct node_groups *groups = &c->p->network->groups;
    uint32_t end = c->o->keep_end < groups->count ? c->o->keep_end : groups->count;

    for (uint32_t i = c->o->keep_begin; i < end; i++) {
        const struct node_group *group = &groups->at[i];

        for (unsigned k = 0; k < group->nodes; k++) {
            const struct op_node *n = &c->g->node[group->node[k]];

            for (uint32_t j = 0; j < n->ins; j++) {
                if (n->in[j] != OP_NONE)
                    c->last_reader[n->in[j]] = i;
            }
        }
    }
    for (uint32_t i = c->o->keep_begin; i < end; i++)
        TRY(compare_group(c, i));
    return EMU_OK;
}

enum emu_status compare_groups(const struct op_program *p, struct session *s,
                               const struct lower_options *o, struct group_comparison *sum)
{
    struct comparer c = { .p = p, .g = p->network->graph, .o = o, .s = s, .sum = sum };
    enum emu_status st;

    c.value = emu_alloc(c.g->values + 1, sizeof(*c.value));
    c.last_reader = emu_alloc(c.g->values + 1, sizeof(*c.last_reader));
    st = c.value && c.last_reader ? compare_all(&c) : FAIL(NO_MEMORY, "%u values", c.g->values);
    for (uint32_t v = 0; c.value && v < c.g->values; v++)
        bounded_value_free(&c.value[v]);
    ss_free(c.value);
    ss_free(c.last_reader);
    return st;
}

/* ---- head and summary ---- */

void compare_groups_begin(const struct group_comparison *sum)
{
    if (sum->rows)
        return;
    fprintf(sum->f,
            "Groups of nodes against the f64 reference, fed with the machine's inputs\n"
            "%-*s %-*s %10s %10s %10s %7s %10s\n",
            NODE_NAME, "node", GROUP_OPS, "operators", "largest", "error", "bound", "ratio",
            "rms error");
}

static enum emu_status print_json(const struct group_comparison *sum)
{
    json_t *o =
        json_pack("{s:I, s:I, s:o, s:I, s:o, s:O}", "compared", (json_int_t)sum->compared,
                  "beyond_bound", (json_int_t)sum->broken, "first_beyond", json_text(sum->first),
                  "not_finite", (json_int_t)sum->not_finite, "first_not_finite",
                  json_text(sum->first_not_finite), "layers", sum->rows);

    if (!o)
        return FAIL(NO_MEMORY, "the answer");
    ss_run_print_json(o, sum->f);
    json_decref(o);
    return EMU_OK;
}

enum emu_status compare_groups_end(const struct group_comparison *sum)
{
    if (sum->rows) {
        TRY(print_json(sum));
    } else {
        fprintf(sum->f,
                "%u results compared, %u beyond their bound. error, bound: of the number with the "
                "largest ratio;\nrms error: of all numbers, relative to the group's own.\n",
                sum->compared, sum->broken);
        if (sum->not_finite)
            fprintf(sum->f, "%u results have NaN in the reference.\n", sum->not_finite);
    }
    if (sum->broken)
        return FAIL(FAULT, "%s", sum->first);
    return sum->not_finite ? FAIL(FAULT, "%s: NaN in the reference of this and %u later results",
                                  sum->first_not_finite, sum->not_finite - 1)
                           : EMU_OK;
}
