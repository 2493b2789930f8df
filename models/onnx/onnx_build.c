/* onnx_build.c - makes the nodes of a body: inputs by name, attributes, names of results. */
#include <string.h>

#include "models/onnx/onnx_reader.h"

void *onnx_scratch(struct onnx_reader *r, size_t count, size_t size)
{
    void *p;

    if (emu_grow((void **)&r->scratch, r->scratches, &r->scratch_cap, sizeof(*r->scratch)) !=
        EMU_OK)
        return NULL;
    p = emu_alloc(count, size);
    if (p)
        r->scratch[r->scratches++] = p;
    return p;
}

void onnx_scratch_free(struct onnx_reader *r, size_t mark)
{
    while (r->scratches > mark)
        ss_free(r->scratch[--r->scratches]);
}

/* --- names -------------------------------------------------------------------------------- */

/* Whether a value has a name, or is going to have it: those of the file's graph are known. */
static int is_taken(const struct onnx_reader *r, const char *name)
{
    const uint8_t *at = (const uint8_t *)name;
    struct wire_span span = { at, at + strlen(name) };

    return onnx_names_find(&r->body.names, span) != ONNX_NAME_NONE ||
           op_value_find(r->g, name) != OP_NONE;
}

const char *onnx_result_name(struct onnx_reader *r, const struct onnx_call *c, uint32_t at)
{
    struct wire_span name = c->body->names.name[at];
    size_t room = (c->prefix ? strlen(c->prefix) : 0) + ONNX_TEXT_MAX + 16;
    char *text, own[ONNX_TEXT_MAX + 1];

    if (c->result && c->result[at])
        return c->result[at];
    text = onnx_scratch(r, room, 1);
    if (!text || !c->prefix)
        return text ? onnx_text_copy(name, text) : NULL;
    snprintf(text, room, "%s/%s", c->prefix, onnx_text_copy(name, own));
    for (unsigned k = 2; is_taken(r, text); k++)
        snprintf(text, room, "%s/%s_%u", c->prefix, own, k);
    return text;
}

/* Adds a node's name if it is free. *out: the graph's text, NULL if it is taken. */
static enum emu_status take_name(struct onnx_reader *r, const char *name, const char **out)
{
    const uint8_t *at = (const uint8_t *)name;
    struct wire_span span = { at, at + strlen(name) };
    uint32_t index;

    *out = NULL;
    if (!*name || onnx_names_find(&r->node_names, span) != ONNX_NAME_NONE)
        return EMU_OK;
    TRY(onnx_keep(r, ONNX_KEPT_NAME + wire_length(span)));
    at = op_graph_copy(r->g, name, wire_length(span) + 1);
    if (!at)
        return FAIL(NO_MEMORY, "a node's name");
    *out = (const char *)at;
    return onnx_names_add(&r->node_names, (struct wire_span){ at, at + wire_length(span) }, &index);
}

enum emu_status onnx_node_name(struct onnx_reader *r, const struct onnx_call *c,
                               const struct onnx_node *n, const char **name, const char **block)
{
    char own[ONNX_TEXT_MAX + 1], op[ONNX_TEXT_MAX + 1], text[2 * ONNX_TEXT_MAX + 16];
    char *of_path = onnx_scratch(r, ONNX_TEXT_MAX + 1, 1);

    if (!of_path)
        return FAIL(NO_MEMORY, "a node's name");
    onnx_text_copy(n->op, op);
    onnx_text_copy(n->name, own);
    *block = of_path;
    if (c->prefix) {
        *block = c->prefix;
        snprintf(text, sizeof(text), "%s.%s", c->prefix, *own ? own : op);
    } else {
        onnx_modules_name(&r->modules, n->name, text, of_path);
    }
    TRY(take_name(r, text, name));
    for (uint32_t k = r->nodes; !*name; k++) {
        snprintf(text, sizeof(text), "%s_%u", op, k);
        TRY(take_name(r, text, name));
    }
    return EMU_OK;
}

/* --- inputs, results, attributes ---------------------------------------------------------- */

/* The lists of a request while they are filled. */
struct filling {
    struct op_request *q;
    uint32_t *in, *out, *result; /* result: names of the body by output, or ONNX_NAME_NONE */
    const char **out_name;
    struct op_named_attr *attr;
    char *why;
};

static enum emu_status fill_attribute(struct onnx_reader *r, const struct onnx_call *c,
                                      struct wire_span message, struct filling *to)
{
    struct op_named_attr *attr = &to->attr[to->q->attrs];
    struct onnx_argument a;

    TRY(onnx_argument_read(r, c, message, &a));
    if (!a.message.at)
        return EMU_OK;
    TRY(onnx_attribute_make(r, &a, attr, to->why));
    for (uint32_t k = 0; k < to->q->attrs; k++) {
        if (!strcmp(to->attr[k].name, attr->name))
            return FAIL(BAD_FILE, "attribute %.60s is there twice", attr->name);
    }
    to->q->attrs++;
    return EMU_OK;
}

static enum emu_status fill(struct onnx_reader *r, const struct onnx_call *c,
                            const struct wire_field *f, struct filling *to)
{
    struct op_request *q = to->q;
    uint32_t at = ONNX_NAME_NONE;

    if (f->number == ONNX_NODE_ATTRIBUTE)
        return fill_attribute(r, c, f->bytes, to);
    if (f->number != ONNX_NODE_INPUT && f->number != ONNX_NODE_OUTPUT)
        return EMU_OK;
    if (wire_length(f->bytes))
        at = onnx_names_find(&c->body->names, f->bytes);
    if (f->number == ONNX_NODE_INPUT) {
        to->in[q->ins++] = at == ONNX_NAME_NONE ? OP_NONE : c->value[at];
        return EMU_OK;
    }
    to->result[q->outs] = ONNX_NAME_NONE;
    if (at != ONNX_NAME_NONE && c->body->wanted[at]) {
        to->result[q->outs] = at;
        to->out_name[q->outs] = onnx_result_name(r, c, at);
        if (!to->out_name[q->outs])
            return FAIL(NO_MEMORY, "a name");
        TRY(onnx_keep(r, ONNX_KEPT_VALUE + strlen(to->out_name[q->outs])));
    }
    q->outs++;
    return EMU_OK;
}

static enum emu_status fill_all(struct onnx_reader *r, const struct onnx_call *c,
                                const struct onnx_node *n, struct filling *to)
{
    struct wire_span rest = n->message;
    struct wire_field f;

    to->in = onnx_scratch(r, n->ins, sizeof(*to->in));
    to->out = onnx_scratch(r, n->outs, sizeof(*to->out));
    to->result = onnx_scratch(r, n->outs, sizeof(*to->result));
    to->out_name = onnx_scratch(r, n->outs, sizeof(*to->out_name));
    to->attr = onnx_scratch(r, n->attrs, sizeof(*to->attr));
    if (!to->in || !to->out || !to->result || !to->out_name || !to->attr)
        return FAIL(NO_MEMORY, "a node");
    do {
        TRY(onnx_next(&r->source, ONNX_NODE, &rest, &f));
        TRY(fill(r, c, &f, to));
    } while (f.number);
    to->q->in = to->in;
    to->q->out_name = to->out_name;
    to->q->attr = to->attr;
    return EMU_OK;
}

/* --- the node ----------------------------------------------------------------------------- */

/* Why an operator of another domain is not built, and what to do. */
static const char *domain_why(struct wire_span domain)
{
    if (onnx_text_is(domain, "com.microsoft") || onnx_text_is(domain, "com.microsoft.nchwc"))
        return "what ONNX Runtime's optimiser writes is not built: save the model without "
               "optimisation (ORT_DISABLE_ALL), or export it again";
    if (onnx_text_is(domain, "ai.onnx.ml"))
        return "trees, scalers and the like of ai.onnx.ml are not built: export the network "
               "without them";
    return "an operator of another domain than ai.onnx, which the file does not define as a "
           "function";
}

/* Operator and version. Those of other domains are told as "DOMAIN.Op". */
static enum emu_status choose_operator(const struct onnx_call *c, const struct onnx_node *n,
                                       char op[2 * ONNX_TEXT_MAX + 2], char why[ONNX_WHY],
                                       struct op_request *q)
{
    size_t length = wire_length(n->domain);

    q->op = op;
    if (!length || onnx_text_is(n->domain, "ai.onnx")) {
        onnx_text_copy(n->op, op);
        if (!c->version)
            return FAIL(BAD_FILE, "the file does not name a version of the operators");
        q->version = (unsigned)c->version;
        return EMU_OK;
    }
    onnx_text_copy(n->domain, op);
    op[length] = '.';
    onnx_text_copy(n->op, op + length + 1);
    snprintf(why, ONNX_WHY, "%s", domain_why(n->domain));
    return EMU_OK;
}

/* Whether a value is a constant of one number, and which. */
static enum emu_status known_number(const struct op_graph *g, uint32_t value, int *known,
                                    double *number)
{
    const struct op_value *v = value == OP_NONE ? NULL : &g->value[value];
    struct op_tensor t;

    *known = v && op_value_constant_kind(v) && v->data && op_shape_count(&v->shape) == 1 &&
             op_type_kind(v->shape.type) != OP_KIND_NONE;
    if (!*known)
        return EMU_OK;
    TRY(op_value_read(g, value, &t));
    *number = op_tensor_number(&t, 0);
    op_tensor_free(&t);
    return EMU_OK;
}

/* Graphs inside a node are not built; what is to be done depends on what they are for. */
static enum emu_status control_why(const struct op_graph *g, const struct op_request *q,
                                   char why[ONNX_WHY])
{
    int known = 0, if_node = !strcmp(q->op, "If");
    double number = 0;

    if (if_node && q->ins)
        TRY(known_number(g, q->in[0], &known, &number));
    if (known)
        snprintf(why, ONNX_WHY,
                 "its condition is always %s: simplify the file (onnxsim FILE NEW), which leaves "
                 "its %s_branch alone",
                 number != 0 ? "true" : "false", number != 0 ? "then" : "else");
    else if (if_node)
        snprintf(why, ONNX_WHY,
                 "it chooses between graphs by what is known at run time only: export the branch "
                 "that is wanted (torch.jit.trace takes it)");
    else if (!strcmp(q->op, "Loop") || !strcmp(q->op, "Scan"))
        snprintf(why, ONNX_WHY,
                 "a loop over a graph inside it: export it unrolled, for one length "
                 "(torch.jit.trace does)");
    return EMU_OK;
}

static enum emu_status make_node(struct onnx_reader *r, const struct onnx_call *c,
                                 const struct onnx_node *n)
{
    char op[2 * ONNX_TEXT_MAX + 2], why[ONNX_WHY] = "";
    struct op_request q = { .version = 0 };
    struct filling to = { .q = &q, .why = why };

    TRY(onnx_keep(r, ONNX_KEPT_NODE + (uint64_t)(n->ins + n->outs) * ONNX_KEPT_PORT));
    TRY(choose_operator(c, n, op, why, &q));
    TRY(fill_all(r, c, n, &to));
    if (!wire_length(n->domain) || onnx_text_is(n->domain, "ai.onnx"))
        TRY(control_why(r->g, &q, why));
    TRY(onnx_node_name(r, c, n, &q.name, &q.block));
    r->g->nodes_read++;
    TRY(*why ? op_node_refuse(r->g, &q, to.out, "%s", why) : op_node(r->g, &q, to.out));
    for (uint32_t k = 0; k < q.outs; k++) {
        if (to.result[k] != ONNX_NAME_NONE)
            c->value[to.result[k]] = to.out[k];
    }
    return EMU_OK;
}

static enum emu_status build_node(struct onnx_reader *r, const struct onnx_call *c,
                                  struct wire_span message)
{
    const struct onnx_function *f;
    size_t mark = r->scratches;
    struct onnx_node n;
    enum emu_status s;

    TRY(onnx_node_read(r, message, &n));
    if (r->nodes++ == ONNX_NODES_MAX)
        return FAIL(BAD_FILE, "more than %d nodes", ONNX_NODES_MAX);
    f = onnx_function_find(r, &n);
    s = f ? onnx_call_make(r, c, f, &n) : make_node(r, c, &n);
    onnx_scratch_free(r, mark);
    return onnx_node_failed(&n, s);
}

enum emu_status onnx_build(struct onnx_reader *r, const struct onnx_call *c)
{
    for (uint32_t k = 0; k < c->body->node.count; k++) {
        if (c->body->live[k])
            TRY(build_node(r, c, c->body->node.at[k]));
    }
    return EMU_OK;
}
