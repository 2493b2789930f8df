/* op_json.c - an operator graph, and what of it cannot run, as JSON. */
#include "emu/base/json_text.h"
#include "models/operators/op_print.h"

/* Takes over both; NULL if one is NULL. */
static json_t *with_item(json_t *list, json_t *item)
{
    if (list && !json_array_append_new(list, item))
        return list;
    json_decref(list);
    return NULL;
}

static json_t *shape_json(const struct op_shape *s)
{
    json_t *list = json_array();

    for (unsigned k = 0; list && k < s->rank; k++)
        list = with_item(list, json_integer((json_int_t)s->dim[k]));
    return list;
}

static json_t *value_json(const struct op_value *v)
{
    return json_pack("{s:o, s:s, s:o}", "name", json_text(v->name), "type",
                     op_type_text(v->shape.type), "shape", shape_json(&v->shape));
}

json_t *op_graph_values_json(const struct op_graph *g, const uint32_t *value, uint32_t values)
{
    json_t *list = json_array();

    for (uint32_t k = 0; list && k < values; k++)
        list = with_item(list, value[k] == OP_NONE ? json_null() : value_json(&g->value[value[k]]));
    return list;
}

/* ---- nodes ---- */

static json_t *item_json(const struct op_attr *a, uint32_t k)
{
    if (a->kind == OP_ATTR_INTS)
        return json_integer(a->ints[k]);
    return a->kind == OP_ATTR_FLOATS ? json_real(a->floats[k]) : json_text(a->texts[k]);
}

static json_t *attr_json(const struct op_graph *g, const struct op_attr *a)
{
    json_t *list;

    if (a->kind == OP_ATTR_INT)
        return json_integer(a->i);
    if (a->kind == OP_ATTR_FLOAT)
        return json_real(a->f);
    if (a->kind == OP_ATTR_STRING)
        return json_text(a->s);
    if (a->kind == OP_ATTR_TENSOR)
        return json_text(g->value[a->value].name);
    list = json_array();
    for (uint32_t k = 0; list && k < a->count; k++)
        list = with_item(list, item_json(a, k));
    return list;
}

/* The attributes that differ from their defaults. A float that JSON cannot hold becomes null. */
static json_t *attrs_json(const struct op_graph *g, const struct op_node *n)
{
    struct op_attr_spec spec;
    json_t *o = json_object();

    for (unsigned k = 0; o && op_row_attr(n->row, k, &spec); k++) {
        json_t *value;

        if (op_attr_is_preset(&n->attr[k], &spec.preset))
            continue;
        value = attr_json(g, &n->attr[k]);
        if (json_object_set_new(o, spec.name, value ? value : json_null())) {
            json_decref(o);
            return NULL;
        }
    }
    return o;
}

static json_t *inputs_json(const struct op_graph *g, const struct op_node *n)
{
    json_t *list = json_array();

    for (uint32_t k = 0; list && k < n->ins; k++)
        list =
            with_item(list, n->in[k] == OP_NONE ? json_null() : json_text(g->value[n->in[k]].name));
    return list;
}

json_t *op_graph_nodes_json(const struct op_graph *g, const struct op_work *work)
{
    json_t *list = json_array();

    for (uint32_t k = 0; list && k < g->nodes; k++) {
        const struct op_node *n = &g->node[k];
        int wide = k < g->f32_nodes || n->precision != OP_AS_OTHERS;

        list = with_item(list, json_pack("{s:o, s:s, s:o, s:s, s:o, s:o, s:o, s:I, s:I, s:I}",
                                         "name", json_text(n->name), "op", n->row->name, "block",
                                         json_text(n->block), "precision", wide ? "f32" : "f16",
                                         "inputs", inputs_json(g, n), "outputs",
                                         op_graph_values_json(g, n->out, n->outs), "attributes",
                                         attrs_json(g, n), "macs", (json_int_t)work[k].macs,
                                         "weight_bytes", (json_int_t)work[k].weight_bytes,
                                         "result_bytes", (json_int_t)work[k].result_bytes));
    }
    return list;
}

/* ---- what cannot run ---- */

json_t *op_graph_problems_json(const struct op_graph *g)
{
    json_t *list = json_array();

    for (uint32_t k = 0; list && k < g->problems; k++) {
        const struct op_problem *p = &g->problem[k];

        list = with_item(list, json_pack("{s:o, s:I, s:o, s:o, s:o}", "op", json_text(p->op),
                                         "nodes", (json_int_t)p->nodes, "node", json_text(p->node),
                                         "inputs", json_text(p->inputs), "why", json_text(p->why)));
    }
    return list;
}
