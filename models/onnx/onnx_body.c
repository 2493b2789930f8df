/* onnx_body.c - the nodes of a graph or of a function: names, order, and which are needed. */
#include "models/onnx/onnx_reader.h"

enum emu_status onnx_spans_add(struct onnx_reader *r, struct onnx_spans *s, struct wire_span span,
                               uint32_t most, const char *what)
{
    if (s->count == most)
        return FAIL(BAD_FILE, "more than %u %s", most, what);
    TRY(onnx_keep(r, sizeof(*s->at)));
    TRY(emu_grow((void **)&s->at, s->count, &s->cap, sizeof(*s->at)));
    s->at[s->count++] = span;
    return EMU_OK;
}

void onnx_spans_free(struct onnx_spans *s)
{
    ss_free(s->at);
    *s = (struct onnx_spans){ .at = NULL };
}

void onnx_body_free(struct onnx_body *b)
{
    onnx_spans_free(&b->node);
    onnx_names_free(&b->names);
    ss_free(b->wanted);
    ss_free(b->live);
}

/* --- a node ------------------------------------------------------------------------------- */

static enum emu_status node_field(const struct wire_field *f, struct onnx_node *out)
{
    switch (f->number) {
    case ONNX_NODE_INPUT:
        out->ins++;
        break;
    case ONNX_NODE_OUTPUT:
        out->outs++;
        if (wire_length(out->made))
            break;
        out->made = f->bytes;
        return onnx_text_check(f->bytes);
    case ONNX_NODE_ATTRIBUTE:
        out->attrs++;
        break;
    case ONNX_NODE_NAME:
        out->name = f->bytes;
        return onnx_text_check(f->bytes);
    case ONNX_NODE_OP:
        out->op = f->bytes;
        return onnx_text_check(f->bytes);
    case ONNX_NODE_DOMAIN:
        out->domain = f->bytes;
        return onnx_text_check(f->bytes);
    default:
        break;
    }
    return EMU_OK;
}

enum emu_status onnx_node_read(struct onnx_reader *r, struct wire_span message,
                               struct onnx_node *out)
{
    struct wire_span rest = message, none = { message.at, message.at };
    struct wire_field f;

    *out = (struct onnx_node){
        .message = message, .name = none, .op = none, .domain = none, .made = none
    };
    for (;;) {
        TRY(onnx_next(&r->source, ONNX_NODE, &rest, &f));
        if (!f.number)
            break;
        TRY(node_field(&f, out));
    }
    if (!wire_length(out->op))
        return onnx_node_failed(out, FAIL(BAD_FILE, "it has no operator"));
    if (out->ins > ONNX_PORTS_MAX || out->outs > ONNX_PORTS_MAX)
        return onnx_node_failed(out, FAIL(BAD_FILE, "%u inputs and %u outputs: at most %d",
                                          out->ins, out->outs, ONNX_PORTS_MAX));
    if (out->attrs > ONNX_ATTRIBUTES_MAX)
        return onnx_node_failed(
            out, FAIL(BAD_FILE, "%u attributes: at most %d", out->attrs, ONNX_ATTRIBUTES_MAX));
    return EMU_OK;
}

enum emu_status onnx_node_failed(const struct onnx_node *n, enum emu_status s)
{
    if (s != EMU_BAD_FILE && s != EMU_IO)
        return s;
    return ss_fail(s, "node %s%.*s (%.*s): %s", wire_length(n->name) ? "" : "of ",
                   ONNX_SHOWN(wire_length(n->name) ? n->name : n->made), ONNX_SHOWN(n->op),
                   ss_error());
}

/* The next input or output of a node that onnx_node_read() has accepted; number 0: none is left. */
static enum emu_status next_port(struct onnx_reader *r, struct wire_span *rest,
                                 struct wire_field *f)
{
    do {
        TRY(onnx_next(&r->source, ONNX_NODE, rest, f));
    } while (f->number && f->number != ONNX_NODE_INPUT && f->number != ONNX_NODE_OUTPUT);
    return EMU_OK;
}

/* --- names and order ---------------------------------------------------------------------- */

enum emu_status onnx_body_source(struct onnx_reader *r, struct onnx_body *b, struct wire_span name)
{
    uint32_t at;

    TRY(onnx_text_check(name));
    if (!wire_length(name))
        return FAIL(BAD_FILE, "a value without a name");
    if (onnx_names_find(&b->names, name) != ONNX_NAME_NONE)
        return FAIL(BAD_FILE, "two values are called %.*s", ONNX_SHOWN(name));
    TRY(onnx_keep(r, ONNX_KEPT_NAME));
    return onnx_names_add(&b->names, name, &at);
}

/* Inputs are looked up before results are added, so a node that reads its own result is refused. */
static enum emu_status check_node(struct onnx_reader *r, struct onnx_body *b,
                                  const struct onnx_node *n)
{
    struct wire_span rest = n->message;
    struct wire_field f;

    for (;;) {
        TRY(next_port(r, &rest, &f));
        if (!f.number)
            break;
        if (f.number == ONNX_NODE_INPUT && wire_length(f.bytes) &&
            onnx_names_find(&b->names, f.bytes) == ONNX_NAME_NONE) {
            TRY(onnx_text_check(f.bytes));
            return FAIL(BAD_FILE, "it reads %.*s, which nothing before it makes",
                        ONNX_SHOWN(f.bytes));
        }
    }
    rest = n->message;
    for (;;) {
        TRY(next_port(r, &rest, &f));
        if (!f.number)
            return EMU_OK;
        if (f.number == ONNX_NODE_OUTPUT && wire_length(f.bytes))
            TRY(onnx_body_source(r, b, f.bytes));
    }
}

enum emu_status onnx_body_check(struct onnx_reader *r, struct onnx_body *b)
{
    struct onnx_node n;

    for (uint32_t k = 0; k < b->node.count; k++) {
        TRY(onnx_node_read(r, b->node.at[k], &n));
        TRY(onnx_node_failed(&n, check_node(r, b, &n)));
        if (b == &r->body)
            TRY(onnx_modules_add(&r->modules, n.name));
    }
    b->wanted = emu_alloc(b->names.names, 1);
    b->live = emu_alloc(b->node.count, 1);
    return b->wanted && b->live ? EMU_OK : FAIL(NO_MEMORY, "%u nodes", b->node.count);
}

/* --- what is needed ----------------------------------------------------------------------- */

/* Marks node k if one of its results is wanted; then its inputs are wanted, too. */
static enum emu_status mark_node(struct onnx_reader *r, struct onnx_body *b, uint32_t k)
{
    struct wire_span rest = b->node.at[k];
    struct wire_field f;

    for (;;) {
        TRY(next_port(r, &rest, &f));
        if (!f.number)
            break;
        if (f.number == ONNX_NODE_OUTPUT && wire_length(f.bytes))
            b->live[k] |= b->wanted[onnx_names_find(&b->names, f.bytes)];
    }
    rest = b->node.at[k];
    while (b->live[k]) {
        TRY(next_port(r, &rest, &f));
        if (!f.number)
            break;
        if (f.number == ONNX_NODE_INPUT && wire_length(f.bytes))
            b->wanted[onnx_names_find(&b->names, f.bytes)] = 1;
    }
    return EMU_OK;
}

enum emu_status onnx_body_mark(struct onnx_reader *r, struct onnx_body *b,
                               const struct wire_span *output, uint32_t outputs)
{
    for (uint32_t k = 0; k < outputs; k++) {
        uint32_t at = onnx_names_find(&b->names, output[k]);

        if (at == ONNX_NAME_NONE) {
            TRY(onnx_text_check(output[k]));
            return FAIL(BAD_FILE, "output %.*s: nothing makes it", ONNX_SHOWN(output[k]));
        }
        b->wanted[at] = 1;
    }
    for (uint32_t k = b->node.count; k-- > 0;)
        TRY(mark_node(r, b, k));
    return EMU_OK;
}
