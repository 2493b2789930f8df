/* lowered_dump.c - a lowered program as text: objects, then the steps of every function. */
#include "programs/compiler/lower/lowered.h"

#include <inttypes.h>

static const char *text(const struct lowered *l, uint32_t string)
{
    return strings_text(&l->strings, string);
}

static void dump_live(const struct lowered *l, uint32_t set, FILE *f)
{
    const struct live_set *s = &l->live_set.at[set];

    if (set == LIVE_ALWAYS) {
        fprintf(f, "always");
        return;
    }
    if (!s->count)
        fprintf(f, "never");
    for (uint32_t i = 0; i < s->count; i++)
        fprintf(f, "%s%" PRIu32 "-%" PRIu32, i ? "," : "", l->live_range.at[s->first + i].begin,
                l->live_range.at[s->first + i].end);
}

static void dump_words(const struct lowered *l, const struct object *o, FILE *f)
{
    fprintf(f, "   ");
    for (uint32_t i = o->word; i < o->word + o->words; i++) {
        const struct object_word *x = &l->word.at[i];

        if (x->object == LOWERED_NONE)
            fprintf(f, " 0x%" PRIx32, x->value);
        else
            fprintf(f, " o%" PRIu32 "+%" PRIu32, x->object, x->value);
    }
    fprintf(f, "\n");
}

static void dump_objects(const struct lowered *l, FILE *f)
{
    static const char *const region[] = {
        [ANY] = "", [REGION0] = " region0", [REGION1] = " region1"
    };

    fprintf(f, "objects %zu\n", l->object.count);
    for (size_t i = 0; i < l->object.count; i++) {
        const struct object *o = &l->object.at[i];

        fprintf(f, "  o%zu tile %" PRIu32 " bytes %" PRIu32 " align %u%s, %s of %s, live ", i,
                o->tile, o->bytes, o->align, region[o->region], category_name(o->category),
                text(l, o->owner));
        dump_live(l, o->live, f);
        fprintf(f, "%s\n", o->data ? ", data" : "");
        if (o->words)
            dump_words(l, o, f);
    }
    for (size_t i = 0; i < l->apart.count; i++)
        fprintf(f, "  apart o%" PRIu32 " o%" PRIu32 "\n", l->apart.at[i].a, l->apart.at[i].b);
}

static void dump_storage(const struct lowered *l, FILE *f)
{
    fprintf(f, "storage\n");
    for (size_t i = 0; i < l->storage.count; i++) {
        const struct storage *s = &l->storage.at[i];

        fprintf(f, "  %s", l->graph->variable.at[i].name);
        for (uint32_t k = s->first; k < s->first + s->count; k++) {
            const struct storage_run *r = &l->storage_run.at[k];

            fprintf(f, " [%" PRIu64 ",%" PRIu64 ")=o%" PRIu32 "+%" PRIu32, r->begin, r->end,
                    r->object, r->offset);
        }
        fprintf(f, "\n");
    }
}

static void dump_message(const struct lowered *l, const struct message *t, FILE *f)
{
    fprintf(f, "      o%" PRIu32 "+%" PRIu32 " %" PRIu32 " ->", t->object, t->offset, t->bytes);
    for (uint32_t i = t->first; i < t->first + t->dests; i++)
        fprintf(f, " o%" PRIu32 "+%" PRIu32, l->message_dest.at[i].object,
                l->message_dest.at[i].offset);
    fprintf(f, "\n");
}

static void dump_host(const struct lowered *l, const struct step *step, FILE *f)
{
    const struct stream_layout *s;

    for (uint64_t i = step->first; i < step->first + step->count; i++) {
        const struct host_request *r = &l->host_request.at[i];

        fprintf(f,
                "      tile %" PRIu32 " round %" PRIu32 " o%" PRIu32 "+%" PRIu32 " %" PRIu32 "\n",
                r->tile, r->round, r->object, r->offset, r->bytes);
    }
    if (step->kind == STEP_AWAIT)
        return;
    s = &l->stream_layout.at[step->n];
    fprintf(f, "      layout");
    for (uint32_t i = s->first; i < s->first + s->runs; i++) {
        const struct stream_run *p = &l->stream_run.at[i];

        if (p->element == UINT64_MAX)
            fprintf(f, " -:%" PRIu32, p->bytes);
        else
            fprintf(f, " %" PRIu64 ":%" PRIu32, p->element, p->bytes);
    }
    fprintf(f, "\n");
}

static void dump_chips(const struct lowered *l, const struct step *step, FILE *f)
{
    for (uint64_t i = step->first; i < step->first + step->count; i++) {
        const struct chip_part *p = &l->chip_part.at[i];
        const struct channel *c = &l->graph->channel.at[p->channel];

        fprintf(f, "      tile %" PRIu32 " o%" PRIu32 "+%" PRIu32 " %" PRIu32 " %s %s+%" PRIu32,
                p->tile, p->object, p->offset, p->bytes, c->way == CHANNEL_SEND ? "to" : "from",
                c->name, p->at);
        for (uint32_t k = p->packet; k < p->packet + p->packets; k++) {
            const struct chip_packet *x = &l->chip_packet.at[k];

            fprintf(f, ", chip %" PRIu32 " o%" PRIu32 "+%" PRIu32 " %" PRIu32, x->chip, x->object,
                    x->offset, x->bytes);
        }
        fprintf(f, "\n");
    }
}

static void dump_contents(const struct lowered *l, const struct step *step, FILE *f)
{
    if (step->kind == STEP_CALLS) {
        for (uint64_t i = step->first; i < step->first + step->count; i++)
            fprintf(f, "      tile %" PRIu32 " %s o%" PRIu32 "\n", l->call.at[i].tile,
                    l->codelet.at[l->call.at[i].codelet]->name, l->call.at[i].state);
    } else if (step->kind == STEP_EXCHANGE) {
        for (uint64_t i = step->first; i < step->first + step->count; i++)
            dump_message(l, &l->message.at[i], f);
    } else if (step->kind == STEP_HOST || step->kind == STEP_AWAIT) {
        dump_host(l, step, f);
    } else if (step->kind == STEP_CHIPS) {
        dump_chips(l, step, f);
    } else if (step->kind == STEP_BREAK || step->kind == STEP_IF) {
        fprintf(f, "      predicate");
        for (uint32_t i = 0; i < l->used_tiles; i++) {
            uint32_t object = l->predicate.at[step->predicate + i];

            if (object == LOWERED_NONE)
                fprintf(f, " -");
            else
                fprintf(f, " o%" PRIu32, object);
        }
        fprintf(f, "\n");
    }
}

static void dump_step(const struct lowered *l, uint32_t p, FILE *f)
{
    static const char *const kind[] = {
        [STEP_CALLS] = "calls",   [STEP_EXCHANGE] = "exchange",
        [STEP_HOST] = "host",     [STEP_AWAIT] = "await",
        [STEP_REPEAT] = "repeat", [STEP_LOOP] = "loop",
        [STEP_BREAK] = "break",   [STEP_IF] = "if",
        [STEP_ELSE] = "else",     [STEP_END] = "end",
        [STEP_CALL] = "call",     [STEP_CHIPS] = "chips",
    };
    const struct step *step = &l->step.at[p];

    fprintf(f, "  %" PRIu32 " %s", p, kind[step->kind]);
    if (step->kind == STEP_REPEAT || step->kind == STEP_CALL || step->kind == STEP_CHIPS)
        fprintf(f, " %" PRIu32, step->n);
    if (step->begins)
        fprintf(f, " begins");
    if (step->consensus)
        fprintf(f, " by consensus");
    if (step->groups != l->groups)
        fprintf(f, " groups %" PRIx64, step->groups);
    fprintf(f, " (%s)\n", text(l, step->name));
    dump_contents(l, step, f);
}

void lowered_dump(const struct lowered *l, FILE *f)
{
    fprintf(f, "tiles %" PRIu32 " groups %" PRIx64 "\n", l->used_tiles, l->groups);
    dump_storage(l, f);
    dump_objects(l, f);
    for (size_t i = 0; i < l->function.count; i++) {
        const struct lowered_function *fn = &l->function.at[i];

        fprintf(f, "function %zu (%s)\n", i, text(l, fn->name));
        for (uint32_t p = fn->first; p < fn->first + fn->count; p++)
            dump_step(l, p, f);
    }
}
