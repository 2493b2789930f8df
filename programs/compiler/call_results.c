/* call_results.c - the memory that the calls of a step write, from the edges of their vertex
 * state. Work lists say how much of an object is written, so an object counts as a whole.
 */
#include <string.h>

#include "programs/compiler/compiled.h"

struct result_walk {
    const struct lowered *l;
    enum elem elem;
    uint8_t *seen; /* owned, by object */
    result_visit *visit;
    void *ctx;
};

static void visit_object(const struct result_walk *r, uint32_t object)
{
    const struct object *o = &r->l->object.at[object];

    if (r->seen[object])
        return;
    r->seen[object] = 1;
    r->visit(r->ctx, o->tile, o->addr, o->bytes);
}

/* The objects that a word of a vertex state leads to: one, or those of the runs of its table. */
static void visit_field(const struct result_walk *r, const struct object_word *w, int is_list)
{
    const struct object *table = &r->l->object.at[w->object];

    if (!is_list) {
        visit_object(r, w->object);
        return;
    }
    for (uint32_t i = 0; i < table->words; i++) {
        if (r->l->word.at[table->word + i].object != LOWERED_NONE)
            visit_object(r, r->l->word.at[table->word + i].object);
    }
}

static void visit_call(const struct result_walk *r, const struct call *k)
{
    const struct codelet *c = r->l->codelet.at[k->codelet];
    const struct object *state = &r->l->object.at[k->state];

    for (unsigned f = 0; f < c->fields; f++) {
        int at = codelet_field_offset(c, f);
        const struct object_word *w = &r->l->word.at[state->word + (at < 0 ? 0 : (uint32_t)at / 4)];

        if (at >= 0 && field_is_written(c->field[f].kind) && c->field[f].elem == r->elem &&
            w->object != LOWERED_NONE)
            visit_field(r, w, field_is_list(c->field[f].kind));
    }
}

enum emu_status ss_compiled_step_results(const struct compiled *c, uint32_t index, enum elem elem,
                                         result_visit *visit, void *ctx)
{
    struct result_walk r = { .elem = elem, .visit = visit, .ctx = ctx };
    const struct step *step;

    if (!c || index >= c->lowered->step.count)
        return FAIL(BAD_PROGRAM, "step %u: the program has none of this number", index);
    r.l = c->lowered;
    step = &c->lowered->step.at[index];
    if (step->kind != STEP_CALLS)
        return EMU_OK;
    r.seen = emu_alloc(c->lowered->object.count + 1, 1);
    if (!r.seen)
        return FAIL(NO_MEMORY, "results of a step");
    for (uint64_t i = 0; i < step->count; i++)
        visit_call(&r, &c->lowered->call.at[step->first + i]);
    ss_free(r.seen);
    return EMU_OK;
}
