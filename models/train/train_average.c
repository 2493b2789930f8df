/* train_average.c - averages in f64 of the states that a chip has after each epoch. */
#include "models/train/train_average.h"

#include <string.h>

int train_state_is_slot(const struct op_graph *g, uint32_t value)
{
    const char *name = g->value[value].name, *dot = strrchr(name, '.');
    char parameter[512];
    uint32_t of;

    if (!dot || (size_t)(dot - name) >= sizeof(parameter))
        return 0;
    memcpy(parameter, name, (size_t)(dot - name));
    parameter[dot - name] = '\0';
    of = op_value_find(g, parameter);
    return of != OP_NONE && g->value[of].kind == OP_STATE;
}

enum emu_status train_average_new(const struct op_graph *g, double share, struct train_average *out)
{
    *out = (struct train_average){ .share = share, .g = g };
    out->mean = emu_alloc(g->inputs + 1, sizeof(*out->mean));
    out->name = emu_alloc(g->inputs + 1, sizeof(*out->name));
    if (!out->mean || !out->name)
        return FAIL(NO_MEMORY, "averages");
    for (uint32_t k = 0; k < g->inputs; k++) {
        const struct op_value *v = &g->value[g->input[k]];

        if (v->kind != OP_STATE || train_state_is_slot(g, g->input[k]))
            continue;
        TRY(op_tensor_new(&v->shape, &out->mean[k]));
        snprintf(out->name[k], sizeof(out->name[k]), "superstep.average.%.480s", v->name);
    }
    return EMU_OK;
}

void train_average_free(struct train_average *a)
{
    for (uint32_t k = 0; a->mean && k < a->g->inputs; k++)
        op_tensor_free(&a->mean[k]);
    ss_free(a->mean);
    ss_free(a->name);
    memset(a, 0, sizeof(*a));
}

enum emu_status train_average_take(struct train_average *a, struct train_chip *chip)
{
    double old = a->taken ? a->share : 0;

    for (uint32_t k = 0; k < a->g->inputs; k++) {
        struct op_tensor now;

        if (!a->mean[k].any)
            continue;
        TRY(train_chip_read(chip, a->g->input[k], &now));
        for (uint64_t i = 0; i < op_shape_count(&now.shape); i++)
            a->mean[k].f[i] = old * a->mean[k].f[i] + (1 - old) * now.f[i];
        op_tensor_free(&now);
    }
    a->taken++;
    return EMU_OK;
}

enum emu_status train_average_give(const struct train_average *a, struct train_chip *chip)
{
    for (uint32_t k = 0; k < a->g->inputs; k++) {
        uint32_t to = op_value_find(chip->g, a->g->value[a->g->input[k]].name);

        if (a->mean[k].any && to != OP_NONE && chip->g->value[to].kind == OP_STATE)
            TRY(train_chip_write(chip, to, &a->mean[k]));
    }
    return EMU_OK;
}
