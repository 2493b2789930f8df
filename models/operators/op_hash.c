/* op_hash.c - a graph as a list of bytes, of which the hash is taken; numbers as hashes of their
 * own.
 */
#include "models/operators/op_hash.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/operators/operators.h"

static void put(FILE *f, const void *data, size_t bytes)
{
    fwrite(data, 1, bytes, f);
}

static void put_number(FILE *f, uint64_t n)
{
    put(f, &n, sizeof(n));
}

/* With the NUL at its end, so that no two lists of texts are the same bytes. */
static void put_text(FILE *f, const char *text)
{
    put(f, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void put_list(FILE *f, const uint32_t *value, uint32_t n)
{
    put_number(f, n);
    put(f, value, n * sizeof(*value));
}

/* writes_it: a run begins with numbers of its own. */
static void put_value(FILE *f, const struct op_value *v, int writes_it)
{
    struct hash128 numbers = { 0 };

    put_text(f, v->name);
    put_number(f, v->kind);
    put_number(f, v->shape.type);
    put_list(f, v->shape.dim, v->shape.rank);
    put_number(f, v->twin);
    if (v->data && !writes_it)
        numbers = hash128(v->data, op_shape_count(&v->shape) * op_type_bytes(v->shape.type));
    put(f, &numbers, sizeof(numbers));
}

static void put_attr(FILE *f, const struct op_attr *a)
{
    put_number(f, a->kind);
    put_number(f, a->count);
    switch (a->kind) {
    case OP_ATTR_NONE:
        break;
    case OP_ATTR_INT:
        put(f, &a->i, sizeof(a->i));
        break;
    case OP_ATTR_FLOAT:
        put(f, &a->f, sizeof(a->f));
        break;
    case OP_ATTR_STRING:
        put_text(f, a->s);
        break;
    case OP_ATTR_INTS:
        put(f, a->ints, a->count * sizeof(*a->ints));
        break;
    case OP_ATTR_FLOATS:
        put(f, a->floats, a->count * sizeof(*a->floats));
        break;
    case OP_ATTR_TENSOR:
        put_number(f, a->value);
        break;
    case OP_ATTR_STRINGS:
        for (uint32_t k = 0; k < a->count; k++)
            put_text(f, a->texts[k]);
        break;
    }
}

static void put_node(FILE *f, const struct op_node *n)
{
    put_text(f, n->row->name);
    put_text(f, n->name);
    put_text(f, n->block);
    put_number(f, n->precision);
    put_list(f, n->in, n->ins);
    put_list(f, n->out, n->outs);
    put_number(f, n->attrs);
    for (uint32_t k = 0; k < n->attrs; k++)
        put_attr(f, &n->attr[k]);
}

static void put_graph(FILE *f, const struct op_graph *g, const uint8_t *begins)
{
    put_number(f, g->f32_nodes);
    put_list(f, g->input, g->inputs);
    put_list(f, g->output, g->outputs);
    put_number(f, g->updates);
    for (uint32_t k = 0; k < g->updates; k++) {
        put_number(f, g->update[k].state);
        put_number(f, g->update[k].value);
    }
    put_number(f, g->values);
    for (uint32_t v = 0; v < g->values; v++)
        put_value(f, &g->value[v], begins[v]);
    put_number(f, g->nodes);
    for (uint32_t k = 0; k < g->nodes; k++)
        put_node(f, &g->node[k]);
}

enum emu_status op_graph_hash(const struct op_graph *g, struct hash128 *out)
{
    uint8_t *begins = emu_alloc(g->values + 1, 1);
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = begins ? open_memstream(&text, &bytes) : NULL;
    int good = f != NULL;

    if (f) {
        for (uint32_t k = 0; k < g->inputs; k++)
            begins[g->input[k]] = 1;
        put_graph(f, g, begins);
        good = !ferror(f);
        good = !fclose(f) && good;
        *out = hash128(text, bytes);
    }
    free(text); /* allocated by open_memstream */
    ss_free(begins);
    return good ? EMU_OK : FAIL(NO_MEMORY, "a hash of a network");
}
