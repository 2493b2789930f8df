/* weights.c - memory for the parameters of a network. */
#include "emu/base/alloc.h"
#include "models/weights/weights.h"

#include <string.h>

static void describe(const struct net *n, uint32_t i, struct param *p)
{
    const struct op_shape *s = net_param_shape(n, i);

    snprintf(p->name, sizeof(p->name), "%s", n->graph->value[n->param[i].value].name);
    p->rank = s->rank;
    memcpy(p->shape, s->dim, sizeof(p->shape));
    p->elements = op_shape_count(s);
}

enum emu_status weights_new_shapes(const struct net *n, struct weights **out)
{
    struct weights *w = emu_alloc(1, sizeof(*w));

    *out = NULL;
    if (!w)
        return FAIL(NO_MEMORY, "weights");
    w->params = n->params;
    w->param = emu_alloc(w->params + 1, sizeof(*w->param));
    if (!w->param) {
        weights_free(w);
        return FAIL(NO_MEMORY, "%u weights of %s", n->params, n->name);
    }
    for (uint32_t i = 0; i < w->params; i++)
        describe(n, i, &w->param[i]);
    *out = w;
    return EMU_OK;
}

enum emu_status weights_new(const struct net *n, struct weights **out)
{
    struct weights *w;
    uint64_t elements = 0, at = 0;

    *out = NULL;
    TRY(weights_new_shapes(n, &w));
    for (uint32_t i = 0; i < w->params; i++)
        elements += w->param[i].elements;
    w->data = emu_alloc_aligned(elements, sizeof(*w->data), 64);
    if (!w->data) {
        weights_free(w);
        return FAIL(NO_MEMORY, "%llu weights of %s", (unsigned long long)elements, n->name);
    }
    for (uint32_t i = 0; i < w->params; i++) {
        w->param[i].data = w->data + at;
        at += w->param[i].elements;
    }
    *out = w;
    return EMU_OK;
}

void weights_free(struct weights *w)
{
    if (!w)
        return;
    ss_free(w->data);
    ss_free(w->param);
    ss_free(w);
}

struct param *weights_find(const struct weights *w, const struct net *n, const char *layer,
                           const char *suffix)
{
    for (uint32_t i = 0; i < w->params; i++) {
        if (!strcmp(n->param[i].layer, layer) && !strcmp(n->param[i].suffix, suffix))
            return &w->param[i];
    }
    return NULL;
}

void weights_attach(const struct weights *w, struct net *n)
{
    EMU_ASSERT(w->params == n->params);
    for (uint32_t i = 0; i < w->params; i++)
        n->graph->value[n->param[i].value].data = w->param[i].data;
}
