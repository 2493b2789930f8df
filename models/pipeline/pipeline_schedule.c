/* pipeline_schedule.c - schedules by name, and what follows from their turns. */
#include "models/pipeline/pipeline_schedule.h"

#include <string.h>

#include "emu/base/fail.h"
#include "emu/base/nearest.h"
#include "models/pipeline/pipeline_turns.h"

/* ---- by name ---- */

static const char *const kind_names[] = {
#define PIPELINE(name, text) [PIPELINE_##name] = text,
#include "models/pipeline/pipeline_kinds.def"
#undef PIPELINE
};

const char *pipeline_kind_name(enum pipeline_kind k)
{
    return kind_names[k];
}

static enum emu_status kind_of(const char *text, enum pipeline_kind *out)
{
    struct nearest near = { .word = text, .n = strlen(text) };
    char known[80];
    size_t n = 0;

    for (unsigned k = 0; k < PIPELINE_KINDS; k++) {
        *out = (enum pipeline_kind)k;
        if (strcmp(kind_names[k], text) == 0)
            return EMU_OK;
        nearest_try(&near, kind_names[k]);
        n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s",
                              !k                       ? ""
                              : k + 1 < PIPELINE_KINDS ? ", "
                                                       : " or ",
                              kind_names[k]);
    }
    return FAIL(USAGE, "--schedule %.40s: expected %s%s%s", text, known, near.best ? ";" : "",
                nearest_hint(&near).text);
}

static enum emu_status check_exchanges(enum pipeline_kind k, unsigned exchanges)
{
    if (exchanges > 2)
        return FAIL(USAGE, "--exchanges %u: expected 1 or 2, of each time step", exchanges);
    if (exchanges && k != PIPELINE_grouped)
        return FAIL(USAGE,
                    "--exchanges %u: only the %s schedule leaves open how often chips exchange, "
                    "and --schedule is %s",
                    exchanges, kind_names[PIPELINE_grouped], kind_names[k]);
    return EMU_OK;
}

static enum emu_status check_micros(unsigned stages, uint32_t micros)
{
    if (micros < stages)
        return FAIL(USAGE,
                    "--accumulate %u: expected at least %u micro batches, one for each stage of "
                    "the pipeline",
                    micros, stages);
    if (micros > PIPELINE_MICROS)
        return FAIL(USAGE, "--accumulate %u: expected at most %u micro batches", micros,
                    (unsigned)PIPELINE_MICROS);
    return EMU_OK;
}

enum emu_status pipeline_schedule_make(const struct pipeline_options *o,
                                       struct pipeline_schedule *out)
{
    *out = (struct pipeline_schedule){ .stages = o->stages, .micros = o->micros };
    if (o->schedule)
        TRY(kind_of(o->schedule, &out->kind));
    TRY(check_exchanges(out->kind, o->exchanges));
    if (!o->stages || o->stages > PIPELINE_STAGES)
        return FAIL(USAGE, "a pipeline has 1 to %u stages, not %u", (unsigned)PIPELINE_STAGES,
                    o->stages);
    TRY(check_micros(o->stages, o->micros));
    pipeline_turns(out, o->exchanges ? o->exchanges : 1);
    for (unsigned k = 0; k < out->stages; k++) {
        if (out->rounds < out->b[k].round + out->micros)
            out->rounds = out->b[k].round + out->micros;
    }
    return EMU_OK;
}

/* ---- when ---- */

static uint32_t micro_of(const struct pipeline_schedule *s, const struct pipeline_turn *t,
                         uint32_t round, unsigned phase)
{
    int works = t->phase == phase && round >= t->round && round - t->round < s->micros;

    return works ? round - t->round : PIPELINE_NONE;
}

struct pipeline_work pipeline_work_at(const struct pipeline_schedule *s, unsigned stage,
                                      uint32_t round, unsigned phase)
{
    return (struct pipeline_work){ micro_of(s, &s->f[stage], round, phase),
                                   micro_of(s, &s->b[stage], round, phase) };
}

int pipeline_has_phase(const struct pipeline_schedule *s, uint32_t round, unsigned phase)
{
    for (unsigned k = 0; k < s->stages; k++) {
        struct pipeline_work w = pipeline_work_at(s, k, round, phase);

        if (w.f != PIPELINE_NONE || w.b != PIPELINE_NONE)
            return 1;
    }
    return 0;
}

/* Keeps `at` sorted and without repetitions. Returns the new count. */
static unsigned add_round(uint32_t *at, unsigned n, uint32_t round)
{
    unsigned i = n;

    while (i && at[i - 1] >= round)
        i--;
    if (!round || (i < n && at[i] == round))
        return n;
    memmove(at + i + 1, at + i, (n - i) * sizeof(*at));
    at[i] = round;
    return n + 1;
}

unsigned pipeline_spans(const struct pipeline_schedule *s, uint32_t at[PIPELINE_SPANS])
{
    unsigned n = 0;

    for (unsigned k = 0; k < s->stages; k++) {
        n = add_round(at, n, s->f[k].round);
        n = add_round(at, n, s->f[k].round + s->micros);
        n = add_round(at, n, s->b[k].round);
        n = add_round(at, n, s->b[k].round + s->micros);
    }
    return n;
}

uint64_t pipeline_exchanges(const struct pipeline_schedule *s)
{
    uint32_t at[PIPELINE_SPANS], begin = 0;
    unsigned n = pipeline_spans(s, at);
    uint64_t all = 0;

    for (unsigned i = 0; i < n; begin = at[i++]) {
        for (unsigned p = 0; p < s->phases; p++)
            all += pipeline_has_phase(s, begin, p) ? at[i] - begin : 0;
    }
    return all;
}

/* ---- what is kept ---- */

/* Up to B of micro batch 0, with which F of a later one may share a phase. */
uint32_t pipeline_stash_rows(const struct pipeline_schedule *s, unsigned stage)
{
    const struct pipeline_turn *f = &s->f[stage], *b = &s->b[stage];
    uint32_t begun = b->round - f->round + (f->phase <= b->phase);

    return begun < s->micros ? begun : s->micros;
}

static const struct pipeline_turn *turn_of(const struct pipeline_schedule *s, unsigned stage,
                                           int backward)
{
    return backward ? &s->b[stage] : &s->f[stage];
}

unsigned pipeline_edge_phase(const struct pipeline_schedule *s, unsigned from, unsigned to)
{
    return turn_of(s, from, to < from)->sent;
}

uint32_t pipeline_edge_rows(const struct pipeline_schedule *s, unsigned from, unsigned to)
{
    const struct pipeline_turn *made = turn_of(s, from, to < from),
                               *read = turn_of(s, to, to < from);
    uint32_t first = made->round + (made->sent <= made->phase);

    return read->round - first + (made->sent <= read->phase);
}

/* ---- drawn ---- */

/* Returns how many characters that is. */
static int draw_work(const struct pipeline_work *w, int gap, FILE *f)
{
    char text[32] = ".";
    int n = 0;

    if (w->f != PIPELINE_NONE)
        n += snprintf(text, sizeof(text), "F%u", w->f);
    if (w->b != PIPELINE_NONE)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "B%u", w->b);
    fprintf(f, "%*s%s", gap, "", text);
    return n ? n : 1;
}

static void draw_stage(const struct pipeline_schedule *s, unsigned stage, int width, FILE *f)
{
    int n = fprintf(f, "stage %u ", stage), column = n;

    for (uint32_t r = 0; r < s->rounds; r++) {
        for (unsigned p = 0; p < s->phases; p++) {
            struct pipeline_work w = pipeline_work_at(s, stage, r, p);

            if (!pipeline_has_phase(s, r, p))
                continue;
            n += column - n + 1 + draw_work(&w, column - n + 1, f);
            column += width + 1;
        }
    }
    fputc('\n', f);
}

void pipeline_draw(const struct pipeline_schedule *s, FILE *f)
{
    int digits = snprintf(NULL, 0, "%u", s->micros - 1), works = s->phases == 1 ? 2 : 1;

    for (unsigned k = 0; k < s->stages; k++)
        draw_stage(s, k, works * (1 + digits), f);
}
