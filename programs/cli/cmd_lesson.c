/* cmd_lesson.c - what a lesson's formulas say, with the numbers of the run, beside its bill. */
#include "programs/cli/cmd_lesson.h"

#include <string.h>

#include "emu/job/bsp_probe.h"
#include "emu/pod/pod.h"
#include "programs/cli/cmd_mistake.h"
#include "programs/cli/lab_chart.h"
#include "programs/cli/program_options.h"
#include "programs/cli/program_request.h"
#include "programs/lab/lesson/lesson.h"

/* What is read of the command line. */
OPTION_READ(NUMBER, threads)
OPTION_READ(FLAG, json)
OPTION_READ(FLAG, steps)
OPTION_READ(TEXT, tiles)
OPTION_READ(TEXT, chart)

enum { LESSON_VARIABLES = PROGRAM_MAX_PARAMS + 24, TEXT_COLUMNS = 100 };

struct lesson_numbers {
    struct expr_variable at[LESSON_VARIABLES];
    size_t count;
};

/* One line of the bill. */
struct bill_sums {
    int64_t times; /* 0: the run goes another way */
    int64_t steps, w, h;
    int64_t chip_h; /* of supersteps between chips: words that a chip sends or receives */
    double cycles;
};

/* What words and supersteps cost. */
struct lesson_prices {
    struct bsp_cost chip;    /* on a chip */
    struct bsp_cost between; /* chips; 0 where there is one */
};

static uint32_t chips_of(const struct run *r)
{
    return ss_image_arch(r->im)->chips;
}

/* A later number of the same name counts. */
static void set_number(struct lesson_numbers *v, const char *name, int64_t value)
{
    size_t i = 0;

    while (i < v->count && strcmp(v->at[i].name, name))
        i++;
    if (i == LESSON_VARIABLES)
        return;
    v->at[i] = (struct expr_variable){ name, value };
    v->count += i == v->count;
}

/* Parameters, and what the answer says: a p of 0 becomes the tiles that were taken. */
static enum emu_status read_numbers(const struct request *q, const struct run *r,
                                    const json_t *report, struct lesson_numbers *v)
{
    const struct named_program *n = q->use & THING_PROGRAM ? q->known : NULL;
    uint64_t value[PROGRAM_MAX_PARAMS];
    const char *key;
    json_t *x;

    set_number(v, "tiles", ss_image_arch(r->im)->tiles);
    set_number(v, "chips", chips_of(r));
    if (n)
        TRY(program_values(q, value));
    for (unsigned k = 0; n && k < n->params; k++)
        set_number(v, n->param[k].name, (int64_t)value[k]);
    json_object_foreach(json_object_get(report, n ? "answer" : "parameters"), key, x)
    {
        if (json_is_integer(x))
            set_number(v, key, json_integer_value(x));
    }
    return EMU_OK;
}

static enum emu_status evaluate(const struct lesson *l, const char *formula,
                                const struct lesson_numbers *v, int64_t *out)
{
    const char *why = "";

    if (expr_evaluate(formula, v->at, v->count, out, &why))
        return EMU_OK;
    return FAIL(BAD_FILE, "lesson %s: %s: %s", l->name, formula, why);
}

static enum emu_status cost_of(const struct lesson *l, const struct lesson_cost *c,
                               const struct lesson_numbers *v, const struct lesson_prices *m,
                               struct bill_sums *out)
{
    const struct bsp_cost *price = c->is_between ? &m->between : &m->chip;
    int64_t *words = c->is_between ? &out->chip_h : &out->h;

    TRY(evaluate(l, c->times, v, &out->times));
    TRY(evaluate(l, c->w, v, &out->w));
    TRY(evaluate(l, c->h, v, words));
    out->w *= out->times;
    *words *= out->times;
    out->steps = strcmp(c->h, "0") ? out->times : 0;
    out->cycles = (double)out->w + price->g * (double)*words + price->l * (double)out->steps;
    return EMU_OK;
}

static void add(struct bill_sums *to, const struct bill_sums *s)
{
    to->steps += s->steps;
    to->w += s->w;
    to->h += s->h;
    to->chip_h += s->chip_h;
    to->cycles += s->cycles;
}

/* The most words that one chip sends or receives, of all supersteps between chips together. */
static int64_t chip_words(const struct run *r)
{
    int64_t words = 0;

    for (size_t i = 0; chips_of(r) > 1 && i < pod_outer_count(r->pod); i++)
        words += (int64_t)(pod_outer_at(r->pod, i)->chip_bytes / 4);
    return words;
}

static struct bill_sums measured(const struct run *r)
{
    struct bill b = ss_bill_of_group(r->record, 0);
    int64_t steps = 0;

    for (size_t i = 0; i < record_count(r->record); i++)
        steps += record_at(r->record, i)->group == 0;
    return (struct bill_sums){ .steps = steps - 1,
                               .w = (int64_t)b.largest_compute,
                               .h = (int64_t)b.h_words,
                               .chip_h = chip_words(r),
                               .cycles = (double)b.total };
}

static json_t *sums_json(const struct bill_sums *s)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:f}", "supersteps", (json_int_t)s->steps, "w_cycles",
                     (json_int_t)s->w, "h_words", (json_int_t)s->h, "chip_h_words",
                     (json_int_t)s->chip_h, "total_cycles", s->cycles);
}

/* ---- text ---- */

void lesson_print_text(const char *title, const char *text)
{
    int column = printf("%s:", title);

    for (; *text; text += strspn(text, " ")) {
        int length = (int)strcspn(text, " ");

        if (column + 1 + length > TEXT_COLUMNS)
            column = printf("\n ") - 1;
        column += printf(" %.*s", length, text);
        text += length;
    }
    printf("\n\n");
}

static void print_sums(const char *name, const struct bill_sums *s, int is_of_chips)
{
    printf("%-34s %10lld %10lld %10lld", name, (long long)s->steps, (long long)s->w,
           (long long)s->h);
    if (is_of_chips)
        printf(" %10lld", (long long)s->chip_h);
    printf(" %10.0f\n", s->cycles);
}

static void print_title(const struct lesson *l, const struct run *r, long long tiles)
{
    printf("%s on %s: ", l->name, ss_arch_title(ss_image_arch(r->im)).at);
    if (chips_of(r) > 1)
        printf("%u chips, ", chips_of(r));
    printf("%lld tiles\n\n", tiles);
}

static void print_prices(const struct lesson_prices *m, int is_of_chips)
{
    printf("Cost: w + g h + l for every superstep; on this machine g is %.2f and l %.0f cycles\n",
           m->chip.g, m->chip.l);
    if (is_of_chips)
        printf("  between chips, where h is what a whole chip sends, g is %.2f and l %.0f cycles\n",
               m->between.g, m->between.l);
}

static void print_parts(const struct lesson *l, const struct bill_sums *part, int is_of_chips)
{
    for (unsigned i = 0; i < LESSON_COSTS && l->cost[i].what; i++) {
        const struct lesson_cost *c = &l->cost[i];

        if (part[i].times)
            printf("  %s: %s times w = %s, h = %s%s\n", c->what, c->times, c->w, c->h,
                   c->is_between ? " of a chip" : "");
    }
    printf("\n%-34s %10s %10s %10s", "", "supersteps", "w", "h");
    if (is_of_chips)
        printf(" %10s", "h of chips");
    printf(" %10s\n", "cycles");
    for (unsigned i = 0; i < LESSON_COSTS && l->cost[i].what; i++) {
        if (part[i].times)
            print_sums(l->cost[i].what, &part[i], is_of_chips);
    }
}

static void print_lesson(const struct lesson *l, const struct run *r, const json_t *report,
                         const struct lesson_prices *m, const struct bill_sums *part,
                         const struct bill_sums *all, const struct bill_sums *took)
{
    const char *key;
    int is_of_chips = chips_of(r) > 1;
    json_t *x;

    print_title(l, r, (long long)json_integer_value(json_object_get(report, "tiles")));
    lesson_print_text("Goal", l->goal);
    lesson_print_text("Predict", l->ask);
    print_prices(m, is_of_chips);
    print_parts(l, part, is_of_chips);
    print_sums("predicted", all, is_of_chips);
    print_sums("measured", took, is_of_chips);
    printf("\n");
    lesson_print_text("Notice", l->notice);
    printf("status %s\n", json_string_value(json_object_get(report, "status")));
    json_object_foreach(json_object_get(report, "answer"), key, x)
    {
        if (json_is_integer(x))
            printf("%s %lld\n", key, (long long)json_integer_value(x));
    }
}

/* ---- both ---- */

static int add_json(json_t *report, const struct lesson *l, const struct lesson_prices *m,
                    const struct bill_sums *part, const struct bill_sums *all,
                    const struct bill_sums *took)
{
    json_t *cost = json_array();

    for (unsigned i = 0; i < LESSON_COSTS && l->cost[i].what; i++) {
        const struct lesson_cost *c = &l->cost[i];
        json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:o}", "what", c->what, "times", c->times, "w",
                              c->w, "h", c->h, "sum", sums_json(&part[i]));

        json_array_append_new(cost, o);
    }
    return json_object_set_new(
        report, "lesson",
        json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:o, s:o, s:o}", "goal", l->goal, "ask",
                  l->ask, "notice", l->notice, "g_cycles", m->chip.g, "l_cycles", m->chip.l,
                  "chips_g_cycles", m->between.g, "chips_l_cycles", m->between.l, "cost", cost,
                  "predicted", sums_json(all), "measured", sums_json(took)));
}

static const struct lesson *lesson_for(const struct request *q, const json_t *report)
{
    const char *status = json_string_value(json_object_get(report, "status"));

    return status && !strcmp(status, "ok") ? lesson_find(q->what) : NULL;
}

/* Whether the lesson is what is printed. */
static int is_asked(const struct request *q)
{
    return !strcmp(q->command->name, "lab") && !option_steps(q) && !option_tiles(q);
}

/* What of the cycles are words, and what is left beside them and the computing. */
static struct chart_cost cost_in_parts(const struct lesson_prices *m, const struct bill_sums *s)
{
    struct chart_cost c = { .w = (double)s->w,
                            .h = m->chip.g * (double)s->h + m->between.g * (double)s->chip_h };

    c.l = s->cycles - c.w - c.h;
    c.l = c.l > 0 ? c.l : 0;
    return c;
}

/* With what the lesson predicts, where there is one. */
static enum emu_status draw(const struct request *q, const struct run *r, const struct lesson *l,
                            const struct lesson_prices *m, const struct bill_sums *all,
                            const struct bill_sums *took)
{
    struct chart_cost predicted, measured;

    if (!option_chart(q))
        return EMU_OK;
    if (!l)
        return lab_chart(option_chart(q), q->what, r, NULL, NULL);
    predicted = cost_in_parts(m, all);
    measured = cost_in_parts(m, took);
    return lab_chart(option_chart(q), q->what, r, &predicted, &measured);
}

/* What the formulas of a lesson say of a run. */
static enum emu_status predict(const struct request *q, const struct run *r, const json_t *report,
                               const struct lesson *l, struct lesson_prices *m,
                               struct bill_sums part[LESSON_COSTS], struct bill_sums *all)
{
    const struct arch *a = ss_image_arch(r->im);
    struct lesson_numbers v = { .count = 0 };

    TRY(bsp_cost_of(a, (unsigned)option_threads(q), NULL, &m->chip));
    if (chips_of(r) > 1)
        TRY(bsp_cost_of_chips(a, (unsigned)option_threads(q), NULL, &m->between));
    TRY(read_numbers(q, r, report, &v));
    for (unsigned i = 0; i < LESSON_COSTS && l->cost[i].what; i++) {
        TRY(cost_of(l, &l->cost[i], &v, m, &part[i]));
        add(all, &part[i]);
    }
    return EMU_OK;
}

enum emu_status lesson_of_run(const struct request *q, const struct run *r, json_t *report,
                              int *printed)
{
    const struct lesson *l = lesson_for(q, report);
    struct bill_sums part[LESSON_COSTS] = { { 0 } }, all = { 0 }, took;
    struct lesson_prices m = { .chip = { .g = 0 } };

    *printed = 0;
    l = l && (is_asked(q) || option_chart(q)) ? l : NULL;
    if (l)
        TRY(predict(q, r, report, l, &m, part, &all));
    took = measured(r);
    TRY(draw(q, r, l, &m, &all, &took));
    if (mistake_of_request(q)) {
        *printed = !option_json(q);
        return mistake_answer(q, r, report);
    }
    if (!l || !is_asked(q))
        return EMU_OK;
    if (option_json(q))
        return add_json(report, l, &m, part, &all, &took) ? FAIL(NO_MEMORY, "a lesson") : EMU_OK;
    print_lesson(l, r, report, &m, part, &all, &took);
    *printed = 1;
    return EMU_OK;
}
