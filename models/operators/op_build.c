/* op_build.c - makes nodes: row, attributes, constant inputs, older versions, types, shapes, and
 * what can be computed at once.
 */
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "models/operators/operators.h"

enum {
    FOLD_MAX = 64 << 10,     /* bytes of a folded result that is larger than all inputs */
    FOLD_WORK_MAX = 64 << 20 /* inputs times results of a dense operator */
};

/* A node while it is made. */
struct making {
    struct op_graph *g;
    const struct op_request *r;
    const struct op_row *row;
    struct op_attr *attr; /* by the row; the graph's */
    uint32_t attrs;
    uint32_t ins;  /* in canonical form */
    char why[256]; /* why it cannot run; "": it can */
};

static void cannot(struct making *m, const char *fmt, ...) EMU_PRINTF(2, 3);
static void cannot(struct making *m, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(m->why, sizeof(m->why), fmt, args);
    va_end(args);
}

/* --- row and attributes ------------------------------------------------------------------- */

static unsigned first_version(enum op_code code)
{
    unsigned first = OP_VERSION_OURS;

    for (unsigned k = 0; op_row(k); k++) {
        if (op_row(k)->code == code && op_row(k)->since < first)
            first = op_row(k)->since;
    }
    return first;
}

static void find_row(struct making *m)
{
    const struct op_request *r = m->r;
    const struct op_row *newest = op_row_find(r->op, 0);

    m->row = op_row_find(r->op, r->version);
    if (!newest)
        cannot(m, "no operator of that name is built (superstep operators lists them); one that "
                  "ONNX Runtime's optimiser made goes if the model is saved without optimisation");
    else if (!m->row)
        cannot(m, "version %u of the operator set has none: it came with %u", r->version,
               first_version(newest->code));
}

/* Whether the number of results changes what they are (Split). */
static int counts_outputs(const struct op_row *row)
{
    return row && row->outs_min && row->outs_max == OP_MANY;
}

static void check_counts(struct making *m)
{
    const struct op_request *r = m->r;
    uint32_t ins = r->ins, least = m->row->ins_min;

    if (!r->version && least > op_row_inputs(m->row)) /* the others are attributes */
        least = op_row_inputs(m->row);
    while (ins && r->in[ins - 1] == OP_NONE)
        ins--;
    if (ins < least || ins > m->row->ins_max)
        cannot(m, "%u inputs: %u to %u are expected", ins, least, m->row->ins_max);
    else if (r->outs < m->row->outs_min || r->outs > m->row->outs_max)
        cannot(m, "%u outputs: %u to %u are expected", r->outs, m->row->outs_min, m->row->outs_max);
    for (uint32_t k = 0; !*m->why && k < least; k++) {
        if (r->in[k] == OP_NONE)
            cannot(m, "input %u is missing", k);
    }
}

static const char *const *keep_texts(struct op_graph *g, const char *const *from, uint32_t n)
{
    const char **to = op_graph_alloc(g, n, sizeof(*to));

    for (uint32_t k = 0; to && k < n; k++) {
        to[k] = op_graph_text(g, "%s", from[k]);
        if (!to[k])
            return NULL;
    }
    return to;
}

/* Copies lists and texts to the graph. */
static enum emu_status keep_attr(struct op_graph *g, const struct op_attr *from, struct op_attr *to)
{
    const void *kept = from;

    *to = *from;
    if (from->kind == OP_ATTR_STRING)
        kept = to->s = op_graph_text(g, "%s", from->s);
    else if (from->kind == OP_ATTR_INTS)
        kept = to->ints = op_graph_copy(g, from->ints, from->count * sizeof(*from->ints));
    else if (from->kind == OP_ATTR_FLOATS)
        kept = to->floats = op_graph_copy(g, from->floats, from->count * sizeof(*from->floats));
    else if (from->kind == OP_ATTR_STRINGS)
        kept = to->texts = keep_texts(g, from->texts, from->count);
    return kept ? EMU_OK : FAIL(NO_MEMORY, "an attribute");
}

static const char *kind_text(enum op_attr_kind kind)
{
    static const char *const text[] = { "nothing",  "an integer", "a float",  "a string",
                                        "integers", "floats",     "a tensor", "strings" };

    return text[kind];
}

static enum emu_status take_attr(struct making *m, const struct op_named_attr *given)
{
    struct op_attr_spec spec;

    for (unsigned k = 0; op_row_attr(m->row, k, &spec); k++) {
        if ((spec.input >= 0 && m->r->version) || strcmp(spec.name, given->name))
            continue;
        if (spec.kind != given->attr.kind) {
            cannot(m, "attribute %s is %s, expected %s", spec.name, kind_text(given->attr.kind),
                   kind_text(spec.kind));
            return EMU_OK;
        }
        return keep_attr(m->g, &given->attr, &m->attr[k]);
    }
    cannot(m, "attribute %.60s is not known to version %u", given->name, m->row->since);
    return EMU_OK;
}

/* --- inputs that are attributes ----------------------------------------------------------- */

/* The numbers of a constant as an attribute. */
static enum emu_status attr_of_tensor(struct making *m, const struct op_attr_spec *spec,
                                      const struct op_tensor *t, struct op_attr *out)
{
    uint64_t n = op_shape_count(&t->shape);
    int whole = op_type_kind(t->shape.type) != OP_KIND_FLOAT;
    int wants_whole = spec->kind == OP_ATTR_INT || spec->kind == OP_ATTR_INTS;
    int list = spec->kind == OP_ATTR_INTS || spec->kind == OP_ATTR_FLOATS;

    if (whole != wants_whole || t->shape.rank > 1 || (!list && n != 1) || n > UINT32_MAX) {
        char text[OP_SHAPE_TEXT];

        cannot(m, "%s is %s, expected %s", spec->name, op_shape_text(&t->shape, text),
               kind_text(spec->kind));
        return EMU_OK;
    }
    *out = (struct op_attr){ .kind = spec->kind, .count = (uint32_t)n };
    if (spec->kind == OP_ATTR_INT)
        out->i = t->i[0];
    else if (spec->kind == OP_ATTR_FLOAT)
        out->f = t->f[0];
    else if (spec->kind == OP_ATTR_INTS)
        out->ints = t->i;
    else
        out->floats = t->f;
    return keep_attr(m->g, out, out);
}

static enum emu_status take_input(struct making *m, const struct op_attr_spec *spec,
                                  struct op_attr *out)
{
    uint32_t in = (uint32_t)spec->input < m->r->ins ? m->r->in[spec->input] : OP_NONE;
    struct op_tensor t;
    enum emu_status s;

    if (in == OP_NONE)
        return EMU_OK;
    if (!op_value_constant_kind(&m->g->value[in])) {
        cannot(m,
               "%s (input %d) depends on data: only a constant is built; export it with fixed %s",
               spec->name, spec->input, spec->name);
        return EMU_OK;
    }
    if (spec->kind == OP_ATTR_TENSOR) {
        *out = (struct op_attr){ .kind = OP_ATTR_TENSOR, .value = in };
        return EMU_OK;
    }
    if (op_type_kind(m->g->value[in].shape.type) == OP_KIND_NONE) {
        cannot(m, "%s (input %d) is a %s", spec->name, spec->input,
               op_type_text(m->g->value[in].shape.type));
        return EMU_OK;
    }
    TRY(op_value_read(m->g, in, &t));
    s = attr_of_tensor(m, spec, &t, out);
    op_tensor_free(&t);
    return s;
}

/* Fills in defaults, and the inputs that stand for attributes. */
static enum emu_status complete_attrs(struct making *m)
{
    struct op_attr_spec spec;

    for (unsigned k = 0; !*m->why && op_row_attr(m->row, k, &spec); k++) {
        if (spec.input >= 0)
            TRY(take_input(m, &spec, &m->attr[k]));
        if (m->attr[k].kind != OP_ATTR_NONE || *m->why)
            continue;
        if (spec.required)
            cannot(m, "%s is missing", spec.name);
        TRY(keep_attr(m->g, &spec.preset, &m->attr[k]));
    }
    return EMU_OK;
}

/* Room for the attributes of the row, all absent. */
static enum emu_status attrs_new(struct making *m, const struct op_row *row)
{
    struct op_attr_spec spec;

    m->row = row;
    m->attrs = 0;
    while (op_row_attr(row, m->attrs, &spec))
        m->attrs++;
    m->attr = op_graph_alloc(m->g, m->attrs, sizeof(*m->attr));
    return m->attr ? EMU_OK : FAIL(NO_MEMORY, "attributes");
}

static enum emu_status take_attrs(struct making *m)
{
    TRY(attrs_new(m, m->row));
    for (uint32_t k = 0; k < m->r->attrs && !*m->why; k++)
        TRY(take_attr(m, &m->r->attr[k]));
    return complete_attrs(m);
}

/* Attributes of an older row in the order of the newest, which the node has from here on. */
static enum emu_status renew(struct making *m)
{
    const struct op_row *row = op_row_find(m->r->op, 0), *old_row = m->row;
    const struct op_attr *old = m->attr;
    struct op_attr_spec want, have;

    m->ins = op_row_inputs(m->row);
    if (m->ins > m->r->ins)
        m->ins = m->r->ins;
    while (m->ins && m->r->in[m->ins - 1] == OP_NONE)
        m->ins--;
    if (row == m->row)
        return EMU_OK;
    TRY(attrs_new(m, row));
    for (unsigned k = 0; op_row_attr(row, k, &want); k++) {
        unsigned from = 0;

        while (op_row_attr(old_row, from, &have) && strcmp(have.name, want.name))
            from++;
        if (op_row_attr(old_row, from, &have))
            m->attr[k] = old[from];
        else
            TRY(keep_attr(m->g, &want.preset, &m->attr[k]));
    }
    return EMU_OK;
}

/* --- types -------------------------------------------------------------------------------- */

static int type_fits(char want, enum op_type type)
{
    enum op_kind kind = op_type_kind(type);

    switch (want) {
    case 'F':
        return kind == OP_KIND_FLOAT;
    case 'I':
        return kind == OP_KIND_INT;
    case 'B':
        return kind == OP_KIND_BOOL;
    case 'N':
        return kind == OP_KIND_FLOAT || kind == OP_KIND_INT;
    default:
        return kind != OP_KIND_NONE;
    }
}

static const char *type_text(char want)
{
    return want == 'F'   ? "a float"
           : want == 'I' ? "an integer"
           : want == 'B' ? "a bool"
                         : "a number";
}

static void check_types(struct making *m)
{
    const struct op_value *value = m->g->value;
    const char *types = m->row->types;
    enum op_type before = OP_TYPE_UNKNOWN;

    for (uint32_t k = 0; k < m->ins && !*m->why; k++) {
        uint32_t in = m->r->in[k];
        enum op_type type;

        if (in != OP_NONE) {
            type = value[in].shape.type;
            if (*types == 'S' || *types == 'T') {
                enum op_type want = *types == 'T' ? before : value[m->r->in[0]].shape.type;

                if (type != want)
                    cannot(m, "input %u is %s, expected %s", k, op_type_text(type),
                           op_type_text(want));
            } else if (!type_fits(*types, type)) {
                cannot(m, "input %u is %s, expected %s", k, op_type_text(type), type_text(*types));
            }
            before = type;
        }
        if (types[0] && types[1])
            types++;
    }
}

/* --- shapes and numbers ------------------------------------------------------------------- */

/* A call of a node's family. Free c->in and c->out. */
static enum emu_status call_new(const struct op_graph *g, const struct op_row *row,
                                const struct op_attr *attr, const uint32_t *in, uint32_t ins,
                                uint32_t outs, struct op_call *c)
{
    const struct op_shape **shape = emu_alloc(ins + 1, sizeof(*shape));

    *c = (struct op_call){ .row = row, .attr = attr, .g = g, .ins = ins, .outs = outs };
    c->in = shape;
    c->out = emu_alloc(outs + 1, sizeof(*c->out));
    if (!shape || !c->out)
        return FAIL(NO_MEMORY, "a node");
    for (uint32_t k = 0; k < ins; k++)
        shape[k] = in[k] == OP_NONE ? NULL : &g->value[in[k]].shape;
    return EMU_OK;
}

static void call_free(struct op_call *c)
{
    ss_free((void *)c->in);
    ss_free(c->out);
}

static enum emu_status infer(struct op_call *c)
{
    TRY(c->row->family->infer(c));
    for (uint32_t k = 0; k < c->outs; k++) {
        if (op_shape_check(&c->out[k]) != EMU_OK)
            return op_refuse(c, "its result has %s", ss_error());
    }
    return EMU_OK;
}

enum emu_status op_node_run(const struct op_graph *g, const struct op_node *n,
                            const struct op_tensor *const *in, struct op_tensor *out)
{
    struct op_call c;
    enum emu_status s = call_new(g, n->row, n->attr, n->in, n->ins, n->outs, &c);

    memset(out, 0, n->outs * sizeof(*out));
    if (s == EMU_OK)
        s = infer(&c);
    for (uint32_t k = 0; s == EMU_OK && k < n->outs; k++)
        s = op_tensor_new(&c.out[k], &out[k]);
    if (s == EMU_OK)
        s = n->row->family->ref(&c, in, out);
    call_free(&c);
    return s;
}

/* Elements of the largest tensor among the attributes. */
static uint64_t largest_attr(const struct making *m)
{
    struct op_attr_spec spec;
    uint64_t most = 0;

    for (unsigned k = 0; op_row_attr(m->row, k, &spec); k++) {
        if (m->attr[k].kind == OP_ATTR_TENSOR) {
            uint64_t n = op_shape_count(&m->g->value[m->attr[k].value].shape);

            most = n > most ? n : most;
        }
    }
    return most;
}

/* What it takes of the graph's room to compute the results now. */
static uint64_t fold_bytes(const struct op_call *c)
{
    uint64_t n = 0;

    for (uint32_t k = 0; k < c->outs; k++)
        n += op_shape_count(&c->out[k]) * sizeof(double);
    return n;
}

int op_value_settled(const struct op_graph *g, uint32_t value)
{
    const struct op_value *v = &g->value[value];

    if (g->parameters_change && v->kind == OP_PARAM && v->shape.rank &&
        op_type_kind(v->shape.type) == OP_KIND_FLOAT)
        return 0;
    return op_value_constant_kind(v);
}

/* Whether the results are to be computed now. */
static int can_fold(const struct making *m, const struct op_call *c)
{
    uint64_t most_in = largest_attr(m), most_out = 0, bytes = 0;

    for (uint32_t k = 0; k < m->ins; k++) {
        int constant;

        if (m->r->in[k] == OP_NONE)
            continue;
        constant = op_value_settled(m->g, m->r->in[k]);
        if (!constant && !(op_family_flags(m->row->family_code) & OP_OF_SHAPES))
            return 0;
        if (constant && op_shape_count(c->in[k]) > most_in)
            most_in = op_shape_count(c->in[k]);
    }
    for (uint32_t k = 0; k < c->outs; k++) {
        uint64_t n = op_shape_count(&c->out[k]);

        most_out = n > most_out ? n : most_out;
        bytes += n * op_type_bytes(c->out[k].type);
    }
    if (fold_bytes(c) > m->g->fold_room ||
        (op_family_flags(m->row->family_code) & OP_IS_DENSE && most_in * most_out > FOLD_WORK_MAX))
        return 0;
    return bytes <= FOLD_MAX || most_out <= most_in;
}

static const char *out_name(const struct op_request *r, uint32_t k)
{
    return r->out_name ? r->out_name[k] : NULL;
}

static int wanted(const struct op_request *r, uint32_t k)
{
    return !r->out_name || (r->out_name[k] && *r->out_name[k]);
}

/* Numbers of the inputs, NULL where absent or not needed. The caller frees t. */
static enum emu_status read_inputs(const struct making *m, struct op_tensor *t,
                                   const struct op_tensor **in)
{
    for (uint32_t k = 0; k < m->ins; k++) {
        if (m->r->in[k] == OP_NONE)
            continue;
        t[k].shape = m->g->value[m->r->in[k]].shape;
        if (!(op_family_flags(m->row->family_code) & OP_OF_SHAPES))
            TRY(op_value_read(m->g, m->r->in[k], &t[k]));
        in[k] = &t[k];
    }
    return EMU_OK;
}

static enum emu_status keep_results(const struct making *m, struct op_tensor *t, uint32_t *out)
{
    for (uint32_t k = 0; k < m->r->outs; k++) {
        if (wanted(m->r, k))
            TRY(op_value_constant(m->g, out_name(m->r, k), &t[k], &out[k]));
    }
    return EMU_OK;
}

static enum emu_status fold(const struct making *m, struct op_call *c, uint32_t *out)
{
    const struct op_node n = {
        .row = m->row, .attr = m->attr, .in = m->r->in, .ins = m->ins, .outs = c->outs
    };
    struct op_tensor *t = emu_alloc(m->ins + c->outs + 1, sizeof(*t));
    const struct op_tensor **in = emu_alloc(m->ins + 1, sizeof(*in));
    enum emu_status s = t && in ? EMU_OK : FAIL(NO_MEMORY, "folding");

    m->g->fold_room -= fold_bytes(c);
    if (s == EMU_OK)
        s = read_inputs(m, t, in);
    if (s == EMU_OK)
        s = op_node_run(m->g, &n, in, t + m->ins);
    if (s == EMU_OK)
        s = keep_results(m, t + m->ins, out);
    for (uint32_t k = 0; t && k < m->ins + c->outs; k++)
        op_tensor_free(&t[k]);
    ss_free(t);
    ss_free(in);
    return s;
}

/* --- the node ----------------------------------------------------------------------------- */

static enum emu_status append(const struct making *m, const struct op_call *c, uint32_t *out)
{
    struct op_graph *g = m->g;
    const struct op_request *r = m->r;
    struct op_node n = {
        .row = m->row, .attr = m->attr, .attrs = m->attrs, .ins = m->ins, .outs = r->outs
    };
    uint32_t *kept;

    for (uint32_t k = 0; k < r->outs; k++) {
        if (wanted(r, k))
            TRY(op_value_new(g, out_name(r, k), OP_RESULT, &c->out[k], &out[k]));
    }
    n.name = r->name && *r->name ? op_graph_text(g, "%s", r->name)
                                 : op_graph_text(g, "%s_%u", r->op, g->nodes_read);
    n.block = op_graph_text(g, "%s", r->block ? r->block : "");
    n.in = op_graph_copy(g, r->in, m->ins * sizeof(*r->in));
    n.out = kept = op_graph_copy(g, out, r->outs * sizeof(*out));
    if (!n.name || !n.block || !n.in || !kept)
        return FAIL(NO_MEMORY, "a node");
    return op_graph_append(g, &n);
}

/* Adds the results of a node that cannot run. */
static enum emu_status make_unknown(const struct making *m, uint32_t *out)
{
    static const struct op_shape unknown = { .type = OP_TYPE_UNKNOWN };

    for (uint32_t k = 0; k < m->r->outs; k++) {
        if (wanted(m->r, k))
            TRY(op_value_new(m->g, out_name(m->r, k), OP_RESULT, &unknown, &out[k]));
    }
    return EMU_OK;
}

static enum emu_status report(const struct making *m, uint32_t *out)
{
    const struct op_request *r = m->r;
    char inputs[512] = "", name[64], shape[OP_SHAPE_TEXT];
    size_t n = 0;

    for (uint32_t k = 0; k < r->ins && n < sizeof(inputs) - 1; k++) {
        const char *text =
            r->in[k] == OP_NONE ? "-" : op_shape_text(&m->g->value[r->in[k]].shape, shape);

        n += (size_t)snprintf(inputs + n, sizeof(inputs) - n, "%s%s", k ? ", " : "", text);
    }
    snprintf(name, sizeof(name), "%.40s_%u", r->op, m->g->nodes_read);
    TRY(op_graph_problem(m->g, r->name && *r->name ? r->name : name, r->op, inputs, m->why));
    return make_unknown(m, out);
}

enum emu_status op_node_refuse(struct op_graph *g, const struct op_request *r, uint32_t *out,
                               const char *fmt, ...)
{
    struct making m = { .g = g, .r = r };
    va_list args;

    va_start(args, fmt);
    vsnprintf(m.why, sizeof(m.why), fmt, args);
    va_end(args);
    return report(&m, out);
}

/* Types, shapes, and the node or its numbers. */
static enum emu_status settle(struct making *m, uint32_t *out)
{
    struct op_call c = { .in = NULL };
    enum emu_status s;

    check_types(m);
    if (*m->why)
        return report(m, out);
    s = call_new(m->g, m->row, m->attr, m->r->in, m->ins, m->r->outs, &c);
    if (s == EMU_OK)
        s = infer(&c);
    if (s == EMU_BAD_FILE && *c.why) {
        cannot(m, "%s", c.why);
        s = report(m, out);
    } else if (s == EMU_OK) {
        s = can_fold(m, &c) ? fold(m, &c, out) : append(m, &c, out);
    }
    call_free(&c);
    return s;
}

/* Whether an input is the result of a node that cannot run. */
static int behind_problem(const struct op_graph *g, const struct op_request *r)
{
    for (uint32_t k = 0; k < r->ins; k++) {
        if (r->in[k] != OP_NONE && g->value[r->in[k]].kind == OP_RESULT &&
            g->value[r->in[k]].shape.type == OP_TYPE_UNKNOWN)
            return 1;
    }
    return 0;
}

enum emu_status op_node(struct op_graph *g, const struct op_request *asked, uint32_t *out)
{
    struct op_request request = *asked;
    const struct op_request *r = &request;
    struct making m = { .g = g, .r = r };

    for (uint32_t k = 0; k < r->outs; k++)
        out[k] = OP_NONE;
    find_row(&m);
    while (request.outs && !wanted(r, request.outs - 1) && !counts_outputs(m.row))
        request.outs--; /* some operators do more if more is wanted */
    if (behind_problem(g, r) && !*m.why) {
        g->nodes_behind++;
        return make_unknown(&m, out);
    }
    if (!*m.why)
        check_counts(&m);
    if (!*m.why)
        TRY(take_attrs(&m));
    if (*m.why)
        return report(&m, out);
    if (m.row->upgrade)
        return m.row->upgrade(g, r, out);
    TRY(renew(&m));
    return settle(&m, out);
}
