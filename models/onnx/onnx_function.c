/* onnx_function.c - functions of a file, and their bodies in the place of calls. */
#include <stdlib.h>
#include <string.h>

#include "models/onnx/onnx_reader.h"

/* --- reading ------------------------------------------------------------------------------ */

enum emu_status onnx_opset_read(struct onnx_reader *r, struct wire_span message, uint64_t *version)
{
    struct wire_span domain = { message.at, message.at };
    struct wire_field f;
    uint64_t v = 0;

    for (;;) {
        TRY(onnx_next(&r->source, ONNX_OPSET, &message, &f));
        if (!f.number)
            break;
        if (f.number == ONNX_OPSET_DOMAIN)
            domain = f.bytes;
        else
            v = f.value;
    }
    if (wire_length(domain) && !onnx_text_is(domain, "ai.onnx"))
        return EMU_OK;
    if (v < OP_VERSION_MIN || (v > OP_VERSION_MAX && version != &r->model->opset))
        return FAIL(BAD_FILE, "version %lld of the operators: %d to %d are known", (long long)v,
                    OP_VERSION_MIN, OP_VERSION_MAX);
    if (*version && *version != v)
        return FAIL(BAD_FILE, "versions %llu and %llu of the operators",
                    (unsigned long long)*version, (unsigned long long)v);
    *version = v;
    return EMU_OK;
}

static enum emu_status function_field(struct onnx_reader *r, const struct wire_field *f,
                                      struct onnx_function *to)
{
    switch (f->number) {
    case ONNX_FUNCTION_NAME:
        to->name = f->bytes;
        return onnx_text_check(f->bytes);
    case ONNX_FUNCTION_DOMAIN:
        to->domain = f->bytes;
        return onnx_text_check(f->bytes);
    case ONNX_FUNCTION_INPUT:
        return onnx_spans_add(r, &to->input, f->bytes, ONNX_PORTS_MAX, "inputs of a function");
    case ONNX_FUNCTION_OUTPUT:
        return onnx_spans_add(r, &to->output, f->bytes, ONNX_PORTS_MAX, "outputs of a function");
    case ONNX_FUNCTION_ATTRIBUTE:
        return onnx_spans_add(r, &to->attribute, f->bytes, ONNX_ATTRIBUTES_MAX,
                              "attributes of a function");
    case ONNX_FUNCTION_PRESET:
        return onnx_spans_add(r, &to->preset, f->bytes, ONNX_ATTRIBUTES_MAX,
                              "attributes of a function");
    case ONNX_FUNCTION_NODE:
        return onnx_spans_add(r, &to->body.node, f->bytes, ONNX_NODES_MAX, "nodes");
    case ONNX_FUNCTION_OPSET:
        return onnx_opset_read(r, f->bytes, &to->version);
    default:
        return EMU_OK;
    }
}

enum emu_status onnx_function_read(struct onnx_reader *r, struct wire_span message)
{
    struct onnx_function *to;
    struct wire_field f;

    if (r->functions == ONNX_FUNCTIONS_MAX)
        return FAIL(BAD_FILE, "more than %d functions", ONNX_FUNCTIONS_MAX);
    TRY(emu_grow((void **)&r->function, r->functions, &r->function_cap, sizeof(*r->function)));
    to = &r->function[r->functions++];
    *to = (struct onnx_function){ .name = { message.at, message.at },
                                  .domain = { message.at, message.at } };
    for (;;) {
        TRY(onnx_next(&r->source, ONNX_FUNCTION, &message, &f));
        if (!f.number)
            return EMU_OK;
        TRY(function_field(r, &f, to));
    }
}

/* --- the table ---------------------------------------------------------------------------- */

static int compare_texts(struct wire_span a, struct wire_span b)
{
    size_t n = wire_length(a), m = wire_length(b);
    int order = memcmp(a.at, b.at, n < m ? n : m);

    return order ? order : (n > m) - (n < m);
}

static int by_name(const void *a, const void *b)
{
    const struct onnx_function *x = a, *y = b;
    int order = compare_texts(x->name, y->name);

    return order ? order : compare_texts(x->domain, y->domain);
}

const struct onnx_function *onnx_function_find(const struct onnx_reader *r,
                                               const struct onnx_node *n)
{
    const struct onnx_function key = { .name = n->op, .domain = n->domain };

    return r->functions ? bsearch(&key, r->function, r->functions, sizeof(key), by_name) : NULL;
}

static enum emu_status check_body(struct onnx_reader *r, struct onnx_function *f)
{
    for (uint32_t k = 0; k < f->input.count; k++)
        TRY(onnx_body_source(r, &f->body, f->input.at[k]));
    TRY(onnx_body_check(r, &f->body));
    return onnx_body_mark(r, &f->body, f->output.at, f->output.count);
}

enum emu_status onnx_functions_check(struct onnx_reader *r)
{
    if (r->functions)
        qsort(r->function, r->functions, sizeof(*r->function), by_name);
    for (uint32_t k = 0; k < r->functions; k++) {
        struct onnx_function *f = &r->function[k];
        enum emu_status s = check_body(r, f);

        if (s == EMU_BAD_FILE)
            return FAIL(BAD_FILE, "function %.*s: %s", ONNX_SHOWN(f->name), ss_error());
        TRY(s);
        if (k && !by_name(f - 1, f))
            return FAIL(BAD_FILE, "two functions are called %.*s", ONNX_SHOWN(f->name));
    }
    return EMU_OK;
}

/* --- a call ------------------------------------------------------------------------------- */

static int has_attribute(const struct onnx_function *f, struct wire_span name)
{
    for (uint32_t k = 0; k < f->attribute.count; k++) {
        if (onnx_text_same(f->attribute.at[k], name))
            return 1;
    }
    return 0;
}

static const struct onnx_argument *find_argument(const struct onnx_call *c, struct wire_span name)
{
    for (uint32_t k = 0; k < c->arguments; k++) {
        if (onnx_text_same(c->argument[k].name, name))
            return &c->argument[k];
    }
    return NULL;
}

/* Arguments that the caller gives; those with a default may also be unknown to the list of names.
 */
static enum emu_status take_arguments(struct onnx_reader *r, const struct onnx_node *n,
                                      struct onnx_call *c, struct onnx_argument *list)
{
    struct wire_span rest = n->message;
    struct onnx_argument a;
    struct wire_field f;

    c->argument = list;
    for (;;) {
        TRY(onnx_next(&r->source, ONNX_NODE, &rest, &f));
        if (!f.number)
            return EMU_OK;
        if (f.number != ONNX_NODE_ATTRIBUTE)
            continue;
        TRY(onnx_argument_read(r, c->caller, f.bytes, &a));
        if (find_argument(c, a.name))
            return FAIL(BAD_FILE, "attribute %.*s is there twice", ONNX_SHOWN(a.name));
        list[c->arguments] = a;
        c->arguments += a.message.at != NULL;
    }
}

/* Defaults of what the caller does not give; then all must be attributes of the function. */
static enum emu_status complete_arguments(struct onnx_reader *r, const struct onnx_function *f,
                                          struct onnx_call *c, struct onnx_argument *list)
{
    uint32_t given = c->arguments, known = 0;
    struct onnx_argument a;

    for (uint32_t k = 0; k < given; k++)
        known += has_attribute(f, list[k].name);
    for (uint32_t k = 0; k < f->preset.count; k++) {
        TRY(onnx_argument_read(r, c->caller, f->preset.at[k], &a));
        if (find_argument(c, a.name))
            known += !has_attribute(f, a.name);
        else
            list[c->arguments++] = a;
    }
    if (known < given)
        return FAIL(BAD_FILE, "it has attributes that the function has not");
    return EMU_OK;
}

/* An output of a call that the caller wants: its name there, and what it is to be called. */
struct wanted_output {
    uint32_t at; /* ONNX_NAME_NONE: not wanted */
    const char *name;
};

static enum emu_status take_output(struct onnx_reader *r, struct onnx_call *c,
                                   struct wire_span name, uint32_t inner, const char **result,
                                   struct wanted_output *to)
{
    const struct onnx_body *outer = c->caller->body;

    to->at = wire_length(name) ? onnx_names_find(&outer->names, name) : ONNX_NAME_NONE;
    if (to->at == ONNX_NAME_NONE || !outer->wanted[to->at]) {
        to->at = ONNX_NAME_NONE;
        return EMU_OK;
    }
    to->name = onnx_result_name(r, c->caller, to->at);
    if (!result[inner])
        result[inner] = to->name;
    return to->name ? EMU_OK : FAIL(NO_MEMORY, "a name");
}

static enum emu_status take_ports(struct onnx_reader *r, const struct onnx_node *n,
                                  struct onnx_call *c, const char **result,
                                  struct wanted_output *want)
{
    struct wire_span rest = n->message;
    uint32_t in = 0, out = 0;
    struct wire_field f;

    for (;;) {
        TRY(onnx_next(&r->source, ONNX_NODE, &rest, &f));
        if (!f.number)
            return EMU_OK;
        if (f.number == ONNX_NODE_INPUT) {
            /* Inputs of a function are the first names of its body. */
            if (wire_length(f.bytes))
                c->value[in] = c->caller->value[onnx_names_find(&c->caller->body->names, f.bytes)];
            in++;
        } else if (f.number == ONNX_NODE_OUTPUT) {
            uint32_t inner = onnx_names_find(&c->body->names, c->function->output.at[out]);

            TRY(take_output(r, c, f.bytes, inner, result, &want[out++]));
        }
    }
}

/* Gives the caller what it wants. Results of the body have its names already, unless one is an
 * input or is given twice; Identity makes those. */
static enum emu_status give_results(struct onnx_reader *r, const struct onnx_call *c,
                                    const struct wanted_output *want, uint32_t outs)
{
    for (uint32_t k = 0; k < outs; k++) {
        struct wire_span inner = c->function->output.at[k];
        uint32_t value = c->value[onnx_names_find(&c->body->names, inner)], *to;
        const struct op_request q = {
            .op = op_name(OP_Identity), .in = &value, .ins = 1, .out_name = &want[k].name, .outs = 1
        };

        if (want[k].at == ONNX_NAME_NONE)
            continue;
        if (value == OP_NONE)
            return FAIL(BAD_FILE, "its output %.*s is an input that is absent", ONNX_SHOWN(inner));
        to = &c->caller->value[want[k].at];
        *to = value;
        if (strcmp(r->g->value[value].name, want[k].name)) {
            TRY(onnx_keep(r, ONNX_KEPT_NODE + ONNX_KEPT_VALUE));
            TRY(op_node(r->g, &q, to));
        }
    }
    return EMU_OK;
}

/* What can be wrong with a call before anything is made. */
static enum emu_status check_call(const struct onnx_call *caller, const struct onnx_function *f,
                                  const struct onnx_node *n)
{
    if (n->ins > f->input.count || n->outs > f->output.count)
        return FAIL(BAD_FILE, "%u inputs and %u outputs; the function has %u and %u", n->ins,
                    n->outs, f->input.count, f->output.count);
    for (const struct onnx_call *c = caller; c; c = c->caller) {
        if (c->function == f)
            return FAIL(BAD_FILE, "the function calls itself");
    }
    if (caller->depth == ONNX_DEPTH_MAX)
        return FAIL(BAD_FILE, "calls inside of calls, more than %d deep", ONNX_DEPTH_MAX);
    return EMU_OK;
}

enum emu_status onnx_call_make(struct onnx_reader *r, const struct onnx_call *caller,
                               const struct onnx_function *f, const struct onnx_node *n)
{
    uint32_t names = f->body.names.names;
    struct onnx_call c = { .body = &f->body, .function = f, .caller = caller };
    struct onnx_argument *list;
    struct wanted_output *want;
    const char **result, *block;

    TRY(check_call(caller, f, n));
    TRY(wire_spend(&r->source, (uint64_t)names + f->body.node.count));
    TRY(onnx_keep(r, ONNX_KEPT_NODE));
    TRY(onnx_node_name(r, caller, n, &c.prefix, &block));
    if (strlen(c.prefix) > ONNX_TEXT_MAX)
        return FAIL(BAD_FILE, "the names of calls have more than %d bytes", ONNX_TEXT_MAX);
    c.depth = caller->depth + 1;
    c.version = f->version ? f->version : caller->version;
    c.value = onnx_scratch(r, names, sizeof(*c.value));
    result = onnx_scratch(r, names, sizeof(*result));
    list = onnx_scratch(r, n->attrs + f->preset.count, sizeof(*list));
    want = onnx_scratch(r, n->outs, sizeof(*want));
    if (!c.value || !result || !list || !want)
        return FAIL(NO_MEMORY, "a call");
    c.result = result;
    memset(c.value, 0xff, names * sizeof(*c.value)); /* OP_NONE */
    TRY(take_arguments(r, n, &c, list));
    TRY(complete_arguments(r, f, &c, list));
    TRY(take_ports(r, n, &c, result, want));
    TRY(onnx_build(r, &c));
    return give_results(r, &c, want, n->outs);
}
