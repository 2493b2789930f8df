/* call_cycles.c - cycles of the calls of a step on their busiest tile. The fields of each
 * call are read back from its vertex state and given to the codelet's own formula.
 */
#include <string.h>

#include "programs/compiler/compiled.h"

/* Word w of an object with words; *object becomes the object it points to, NULL if the word is a
 * number. */
static uint32_t word_at(const struct lowered *l, const struct object *o, uint32_t w,
                        const struct object **object)
{
    const struct object_word *x = &l->word.at[o->word + w];

    *object = x->object == LOWERED_NONE ? NULL : &l->object.at[x->object];
    return x->value;
}

/* The runs of a table {address, elements}. Free *out with ss_free. */
static enum emu_status read_list(const struct lowered *l, const struct object *table,
                                 struct codelet_run **out, uint32_t *runs)
{
    const struct object *target;

    *runs = table ? table->words / 2 : 0;
    *out = emu_alloc(*runs + 1, sizeof(**out));
    if (!*out)
        return FAIL(NO_MEMORY, "a list of %u runs", *runs);
    for (uint32_t i = 0; i < *runs; i++)
        (*out)[i].elements = word_at(l, table, 2 * i + 1, &target);
    return EMU_OK;
}

/* Fills in the number of elements of edges from the fields that count them. */
static void set_lengths(const struct codelet *c, struct codelet_call *call)
{
    for (unsigned f = 0; f < c->fields; f++) {
        int of = c->field[f].kind == FIELD_LENGTH ? codelet_field_find(c, c->field[f].other) : -1;

        if (of >= 0 && field_is_edge(c->field[of].kind))
            call->arg[of].elements = call->arg[of].value = call->arg[f].value;
    }
}

static enum emu_status cycles_of(const struct compiled *c, const struct call *k, uint64_t *cycles)
{
    const struct lowered *l = c->lowered;
    const struct codelet *codelet = l->codelet.at[k->codelet];
    struct codelet_call call = { .arch = ss_graph_arch(c->graph) };
    struct codelet_run *list[CODELET_MAX_FIELDS] = { NULL };
    enum emu_status s = EMU_OK;

    *cycles = 0;
    if (!codelet->cycles)
        return EMU_OK; /* only a run can tell */
    for (unsigned f = 0; f < codelet->fields && s == EMU_OK; f++) {
        int at = codelet_field_offset(codelet, f);
        const struct object *target;

        if (at < 0)
            continue;
        call.arg[f].value = word_at(l, &l->object.at[k->state], (uint32_t)at / 4, &target);
        if (!field_is_list(codelet->field[f].kind))
            continue;
        s = read_list(l, target, &list[f], &call.arg[f].elements);
        call.arg[f].list = list[f];
    }
    set_lengths(codelet, &call);
    if (s == EMU_OK)
        *cycles = codelet->cycles(&call);
    for (unsigned f = 0; f < codelet->fields; f++)
        ss_free(list[f]);
    return s;
}

enum emu_status ss_compiled_step_cycles(const struct compiled *c, uint32_t index, uint64_t *cycles)
{
    const struct step *step;
    uint64_t sum = 0;

    *cycles = 0;
    if (!c || index >= c->lowered->step.count)
        return FAIL(BAD_PROGRAM, "step %u: the program has none of this number", index);
    step = &c->lowered->step.at[index];
    if (step->kind != STEP_CALLS)
        return EMU_OK;
    for (uint64_t i = 0; i < step->count; i++) { /* sorted by tile */
        const struct call *k = &c->lowered->call.at[step->first + i];
        uint64_t one;

        TRY(cycles_of(c, k, &one));
        sum = i && k[-1].tile == k->tile ? sum + one : one;
        *cycles = sum > *cycles ? sum : *cycles;
    }
    return EMU_OK;
}
