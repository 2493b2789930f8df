/* random_codelets.h - random vertices of a random graph: which codelets, with edges of which sizes.
 *
 * A rule says for each field that needs one a number, written as a product of numbers and of the
 * letters n, m and k, which are drawn for each vertex: elements of an edge, of all runs of a list,
 * value of a u32. The lists of a vertex have runs of equal lengths. `y~x`: y may be the same memory
 * as x, and sometimes is. Floats, and lengths that the compiler fills, need no rule.
 */
#ifndef TESTS_RANDOM_CODELETS_H
#define TESTS_RANDOM_CODELETS_H

#include "tests/unit/random_graph.h"

struct rg_rule {
    const char *codelet;
    uint32_t n, m, k; /* letters are drawn from 1 (n: 0 seldom) to these */
    const char *sizes;
};

static const struct rg_rule rg_rules[] = {
#define RULE(codelet, n, m, k, sizes) { codelet, n, m, k, sizes },
#include "tests/unit/random_codelets.def"
#undef RULE
};

/* The value of a product like "n*m*16". */
static inline uint32_t rg_product(const char *text, const uint32_t letter[3])
{
    uint32_t p = 1;

    for (;;) {
        char *end = (char *)(uintptr_t)text + 1;

        if (*text == 'n')
            p *= letter[0];
        else if (*text == 'm')
            p *= letter[1];
        else if (*text == 'k')
            p *= letter[2];
        else
            p *= (uint32_t)strtoul(text, &end, 10);
        if (*end != '*')
            return p;
        text = end + 1;
    }
}

/* What stands behind "field=" in a rule; NULL: nothing. */
static inline const char *rg_size_of(const struct rg_rule *rule, const char *field)
{
    size_t length = strlen(field);

    for (const char *at = rule->sizes; (at = strstr(at, field)); at += length) {
        if ((at == rule->sizes || at[-1] == ' ') && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}

/* The field that may be the same memory as this one: y for x where the rule says y~x; -1: none. */
static inline int rg_same_as(const struct rg_rule *rule, const struct codelet *c, const char *field)
{
    size_t length = strlen(field);

    for (const char *at = rule->sizes; (at = strchr(at, '~')); at++) {
        const char *name = at;
        char other[32];

        if (strncmp(at + 1, field, length) || (at[1 + length] && at[1 + length] != ' '))
            continue;
        while (name > rule->sizes && name[-1] != ' ')
            name--;
        snprintf(other, sizeof(other), "%.*s", (int)(at - name), name);
        return codelet_field_find(c, other);
    }
    return -1;
}

/* Edges chosen for a vertex, before it is made. */
struct rg_edges {
    struct tensor t[CODELET_MAX_FIELDS][RG_RUNS];
    unsigned count[CODELET_MAX_FIELDS];
    uint32_t cut[RG_RUNS]; /* elements of the runs of a list */
    unsigned cuts;
};

static inline void rg_note(struct random_graph *r, struct rg_access *a, struct tensor t,
                           enum field_kind kind)
{
    if (kind != FIELD_OUT && kind != FIELD_OUT_LIST && a->reads < EMU_COUNT_OF(a->read)) {
        a->read[a->reads++] = t;
        rg_all(r, t, rg_mark_read);
    }
    if (field_is_written(kind) && a->writes < EMU_COUNT_OF(a->write)) {
        a->write[a->writes++] = t;
        rg_all(r, t, rg_unmark);
        rg_all(r, t, rg_mark_once);
    }
}

/* One edge, or one run of a list. */
static inline int rg_edge(struct random_graph *r, const struct codelet_field *f, uint32_t n,
                          struct rg_access *a, struct tensor *out)
{
    rg_element_fn *may = f->kind == FIELD_INOUT      ? rg_may_change
                         : field_is_written(f->kind) ? rg_may_write
                                                     : rg_may_read;

    if (!n || !rg_flat(r, f->elem, n, may, out))
        return 0;
    rg_note(r, a, *out, f->kind);
    return 1;
}

/* Cuts n elements into runs, once for all lists of a vertex. */
static inline void rg_cut(struct random_graph *r, uint32_t n, struct rg_edges *e)
{
    while (n) {
        uint32_t want = e->cuts == RG_RUNS - 1 ? n : rg_between(r, 1, n);

        e->cut[e->cuts++] = want;
        n -= want;
    }
}

static inline int rg_list(struct random_graph *r, const struct codelet_field *f, uint32_t n,
                          struct rg_access *a, struct rg_edges *e, unsigned field)
{
    if (!e->cuts)
        rg_cut(r, n, e);
    for (unsigned *k = &e->count[field]; *k < e->cuts; ++*k) {
        if (!rg_edge(r, f, e->cut[*k], a, &e->t[field][*k]))
            return 0;
    }
    return 1;
}

/* What a codelet leaves in its scratch memory is nobody's business: a variable that is never read.
 */
static inline struct tensor rg_scratch(struct random_graph *r, enum elem e, uint32_t n)
{
    struct rg_variable *v = rg_variable(r, e, 1, &n, RG_PLAIN);

    v->reserved = 1;
    return v->t;
}

/* Chooses all edges; 0: one could not be had. `a` and the flags of elements then have marks of what
 * was chosen, which does no harm but to keep others from it. */
static inline int rg_choose(struct random_graph *r, const struct rg_rule *rule,
                            const struct codelet *c, const uint32_t letter[3], struct rg_access *a,
                            struct rg_edges *e)
{
    for (unsigned i = 0; i < c->fields; i++) {
        const struct codelet_field *f = &c->field[i];
        const char *size = rg_size_of(rule, f->name);
        int same = rg_same_as(rule, c, f->name);
        uint32_t n;

        if ((!field_is_edge(f->kind) && !field_is_list(f->kind)) || e->count[i])
            continue;
        EMU_ASSERT(size); /* a rule for every edge */
        n = rg_product(size, letter);
        if (!strcmp(f->name, "scratch")) {
            if (r->vars == RG_VARIABLES)
                return 0;
            e->t[i][e->count[i]++] = rg_scratch(r, f->elem, n);
            continue;
        }
        if (same >= 0 && !e->count[same] && rg_chance(r, 35)) {
            struct codelet_field changed = *f;

            changed.kind = FIELD_INOUT;
            if (!rg_edge(r, &changed, n, a, &e->t[i][0]))
                return 0;
            e->t[same][0] = e->t[i][0];
            e->count[i] = e->count[same] = 1;
            continue;
        }
        if (field_is_list(f->kind) ? !rg_list(r, f, n, a, e, i)
                                   : !rg_edge(r, f, n, a, &e->t[i][e->count[i]++]))
            return 0;
    }
    return 1;
}

static inline void rg_connect(struct random_graph *r, uint32_t vertex, const struct rg_rule *rule,
                              const struct codelet *c, const uint32_t letter[3],
                              const struct rg_edges *e)
{
    for (unsigned i = 0; i < c->fields; i++) {
        const struct codelet_field *f = &c->field[i];
        const char *size = rg_size_of(rule, f->name);
        float value = ((float)rg_below(r, 64) - 32) / 8;

        for (unsigned k = 0; k < e->count[i]; k++)
            vertex_connect(r->g, vertex, f->name, e->t[i][k]);
        if (f->kind == FIELD_U32)
            vertex_set_u32(r->g, vertex, f->name,
                           size ? rg_product(size, letter) : rg_below(r, 1u << 16));
        else if (f->kind == FIELD_F32)
            vertex_set_f32(r->g, vertex, f->name, value);
        else if (f->kind == FIELD_F16)
            vertex_set_f16(r->g, vertex, f->name, value);
    }
}

/* 0: no room. */
static inline int rg_merge(struct rg_access *to, const struct rg_access *from)
{
    if (to->reads + from->reads > EMU_COUNT_OF(to->read) ||
        to->writes + from->writes > EMU_COUNT_OF(to->write))
        return 0;
    memcpy(to->read + to->reads, from->read, from->reads * sizeof(from->read[0]));
    memcpy(to->write + to->writes, from->write, from->writes * sizeof(from->write[0]));
    to->reads += from->reads;
    to->writes += from->writes;
    return 1;
}

/* Adds a random vertex to a compute set, if one can be had. */
static inline void rg_vertex(struct random_graph *r, struct rg_set *set)
{
    const struct rg_rule *rule = &rg_rules[rg_below(r, EMU_COUNT_OF(rg_rules))];
    const struct codelet *c = codelet_find(rule->codelet);
    uint32_t letter[3] = { rg_between(r, 1, rule->n), rg_between(r, 1, rule->m),
                           rg_between(r, 1, rule->k) };
    uint32_t tile = rg_tile(r);
    struct rg_access a = { .reads = 0 };
    struct rg_edges e = { .count = { 0 } };

    EMU_ASSERT(c);
    if (rg_chance(r, 50))
        letter[0] = rg_between(r, 1, rule->n < 20 ? rule->n : 20);
    if (!rg_choose(r, rule, c, letter, &a, &e) || !rg_merge(&set->access, &a))
        return;
    if (rg_step_dropped(r) || !rg_has_now(r, &a))
        return;
    EMU_ASSERT(rg_merge(&set->built, &a));
    rg_connect(r, graph_vertex(r->g, set->set, c->name, tile), rule, c, letter, &e);
}

#endif
