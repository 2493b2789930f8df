/* op_programs.c - the stages of a network, each lowered on a chip of its own, compiled together;
 * those that do not fit are planned again for less. */
#include "models/lower/op_attempt.h"

#include <string.h>

#include "emu/arch/arch.h"
#include "emu/base/alloc.h"
#include "emu/base/progress.h"
#include "programs/compiler/report/count_text.h"

/* A stage on its way. */
struct stage_fit {
    struct op_program_options o; /* with its own place among the stages */
    struct fitting f;
    struct lowering_attempt t;
    struct op_program *p; /* borrowed */
    int is_lowered;
};

struct stages_fit {
    const struct arch *a; /* borrowed */
    struct stage_fit *at; /* owned */
    struct graph **graph; /* owned, as ss_graphs_compile() takes them */
    unsigned stages;
    struct compiled *program; /* owned until it belongs to stage 0; of all */
};

static void forget_program(struct stages_fit *w)
{
    for (unsigned k = 0; k < w->stages; k++)
        w->at[k].p->compiled = NULL;
    ss_compiled_free(w->program);
    w->program = NULL;
}

static enum emu_status lower_stage_again(struct stage_fit *s)
{
    struct progress progress = progress_begin(s->o.compile.progress);

    if (s->is_lowered)
        return EMU_OK;
    op_attempt_forget(s->p);
    TRY(op_attempt_lower(&s->f, &s->t, s->p));
    op_attempt_report(s->p, &progress);
    s->is_lowered = 1;
    return EMU_OK;
}

static enum emu_status compile_all(struct stages_fit *w)
{
    const struct op_program_options *o = &w->at[0].o;

    for (unsigned k = 0; k < w->stages; k++) {
        TRY(lower_stage_again(&w->at[k]));
        w->graph[k] = w->at[k].p->graph;
    }
    TRY(graphs_compile_with(w->graph, w->stages, &o->compile, o->schedules, &w->program));
    for (unsigned k = 0; k < w->stages; k++) {
        struct stage_fit *s = &w->at[k];

        s->p->chip = k;
        s->p->compiled = ss_compiled_chip(w->program, k);
        s->p->need_bytes = compiled_own_need_bytes(s->p->compiled);
        op_attempt_note(&s->f, &s->t, s->p);
    }
    return EMU_OK;
}

/* Blocks that are alike become functions, if they are to where code does not fit. Returns 0 when
 * that is so already, or there are none. */
static int shares_more(struct stage_fit *s, const struct op_graph *og)
{
    if (s->o.lower.share_blocks != SHARE_NONE || s->p->alike ||
        op_attempt_alike(og, s->o.lower.real, &s->p->alike) != EMU_OK || !s->p->alike)
        return 0;
    s->o.lower.share_blocks = SHARE_EQUAL;
    s->f.og = s->p->alike;
    s->t = (struct lowering_attempt){ .room = ROOM_AS_EXPECTED };
    return 1;
}

/* Whether anything is left to try for a stage that does not fit; it is lowered again then. */
static int try_more(struct stage_fit *s, const struct op_graph *og, int may_share)
{
    struct progress progress = progress_begin(s->o.compile.progress);

    if (!(may_share && compiled_own_code_bytes(s->p->compiled) > s->f.a->region0_bytes &&
          shares_more(s, og)) &&
        (s->p->need_bytes <= s->f.a->mem_bytes || !op_attempt_next(&s->f, &s->t)))
        return 0;
    s->is_lowered = 0;
    progress_report(&progress, "again", "stage %u does not fit: %s bytes, of them %s of code",
                    s->o.lower.stage->number, count_text(s->p->need_bytes).at,
                    count_text(compiled_own_code_bytes(s->p->compiled)).at);
    return 1;
}

static enum emu_status fit_all(struct stages_fit *w, const struct op_graph *const *og,
                               enum lower_sharing share)
{
    for (;;) {
        int again = 0;

        TRY(compile_all(w));
        for (unsigned k = 0; k < w->stages; k++)
            again |= try_more(&w->at[k], og[k], share == SHARE_AUTO);
        if (!again)
            return EMU_OK;
        forget_program(w);
        emu_trim();
    }
}

static enum emu_status begin_stage(const struct arch *a, const struct op_graph *og,
                                   const struct op_program_options *o,
                                   const struct lower_stage *stage, struct stage_fit *s,
                                   struct op_program *p)
{
    enum lower_sharing share = o->lower.share_blocks;

    s->o = *o;
    s->o.lower.stage = stage;
    s->p = p;
    s->f = (struct fitting){ .a = a, .og = og, .o = &s->o };
    s->t = (struct lowering_attempt){ .room = ROOM_AS_EXPECTED, .to_the_end = 1 };
    if (share != SHARE_ALIKE && share != SHARE_AUTO)
        return EMU_OK;
    s->o.lower.share_blocks = SHARE_NONE;
    if (share == SHARE_ALIKE)
        shares_more(s, og);
    return EMU_OK;
}

enum emu_status op_programs_new(const struct arch *a, const struct op_graph *const *og,
                                const struct lower_stage *stage, unsigned stages,
                                const struct op_program_options *o, struct op_program *out)
{
    struct stages_fit w = { .a = a, .stages = stages };
    struct op_program_options mine = *o;
    enum emu_status s = EMU_OK;

    memset(out, 0, stages * sizeof(*out));
    w.at = emu_alloc(stages, sizeof(*w.at));
    w.graph = emu_alloc(stages, sizeof(struct graph *));
    if (!w.at || !w.graph)
        s = FAIL(NO_MEMORY, "%u stages", stages);
    if (s == EMU_OK && !o->schedules)
        s = schedule_store_new("", &mine.schedules);
    for (unsigned k = 0; s == EMU_OK && k < stages; k++)
        s = begin_stage(a, og[k], &mine, &stage[k], &w.at[k], &out[k]);
    if (s == EMU_OK)
        s = fit_all(&w, og, o->lower.share_blocks);
    if (!o->schedules)
        schedule_store_free(mine.schedules);
    if (s != EMU_OK)
        op_programs_free(out, stages);
    ss_free(w.at);
    ss_free(w.graph);
    return s;
}

void op_programs_free(struct op_program *p, unsigned stages)
{
    for (unsigned k = 1; k < stages; k++)
        p[k].compiled = NULL; /* a part of the first one's */
    for (unsigned k = 0; k < stages; k++)
        op_program_free(&p[k]);
}
