/* weights.c - lists the parameters of a network, finds them, and folds batch norms. */
#include "emu/base/alloc.h"
#include "models/weights/weights.h"

#include <math.h>
#include <string.h>

/* In the order of struct weights. Statistics belong to batch norms only. */
static const char *const suffix_of[] = { "weight", "bias", "running_mean", "running_var" };

static int has_param(const struct layer *l, unsigned suffix)
{
    if (!l->weight_rank)
        return 0;
    if (l->op == LAYER_NORM)
        return suffix < 2 || l->norm == NORM_BATCH;
    return suffix == 0 || (suffix == 1 && l->bias);
}

static void set_shape(struct param *p, const struct layer *l, unsigned suffix)
{
    p->rank = suffix ? 1 : l->weight_rank;
    p->shape[0] = l->out_c;
    p->elements = l->out_c;
    if (p->rank == 1)
        return;
    p->shape[1] = l->in_c / l->groups;
    p->shape[2] = p->shape[3] = l->kernel;
    for (unsigned i = 1; i < p->rank; i++)
        p->elements *= p->shape[i];
    for (unsigned i = p->rank; i < 4; i++)
        p->shape[i] = 0;
}

/* Returns the number of parameters; fills p unless it is NULL. */
static uint32_t list_params(const struct net *n, struct param *p)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < n->layers; i++) {
        for (unsigned k = 0; k < EMU_COUNT_OF(suffix_of); k++) {
            if (!has_param(&n->layer[i], k))
                continue;
            if (p) {
                snprintf(p[count].name, sizeof(p[count].name), "%s.%s", n->layer[i].param,
                         suffix_of[k]);
                p[count].layer = i;
                set_shape(&p[count], &n->layer[i], k);
            }
            count++;
        }
    }
    return count;
}

enum emu_status weights_new_shapes(const struct net *n, struct weights **out)
{
    struct weights *w = emu_alloc(1, sizeof(*w));

    *out = NULL;
    if (!w)
        return FAIL(NO_MEMORY, "weights");
    w->params = list_params(n, NULL);
    w->param = emu_alloc(w->params, sizeof(*w->param));
    if (!w->param) {
        weights_free(w);
        return FAIL(NO_MEMORY, "%u weights of %s", list_params(n, NULL), n->name);
    }
    list_params(n, w->param);
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
    emu_free(w->data);
    emu_free(w->param);
    emu_free(w);
}

/* The first parameter that belongs to this layer or a later one. */
static uint32_t first_param(const struct weights *w, uint32_t layer)
{
    uint32_t low = 0, high = w->params;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (w->param[middle].layer < layer)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct param *weights_find(const struct weights *w, uint32_t layer, const char *suffix)
{
    for (uint32_t i = first_param(w, layer); i < w->params && w->param[i].layer == layer; i++) {
        if (!strcmp(strrchr(w->param[i].name, '.') + 1, suffix))
            return &w->param[i];
    }
    return NULL;
}

void weights_fold(const struct weights *w, const struct net *n, uint32_t layer, float *scale,
                  float *shift)
{
    const struct layer *l = &n->layer[layer];
    const float *gamma = weights_find(w, layer, "weight")->data;
    const float *beta = weights_find(w, layer, "bias")->data;
    const struct param *mean = weights_find(w, layer, "running_mean");
    const struct param *var = weights_find(w, layer, "running_var");

    EMU_ASSERT(mean && var);
    for (uint32_t c = 0; c < l->out_c; c++) {
        double s = gamma[c] / sqrt(var->data[c] + l->eps);

        scale[c] = (float)s;
        shift[c] = (float)(beta[c] - mean->data[c] * s);
    }
}
