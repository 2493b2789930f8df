/* model_summary.c - the answer on one screen: at most 40 lines of 100 columns, the result last. The
 * rest is in model_report(). */
#include <inttypes.h>
#include <string.h>

#include "emu/base/hash.h"
#include "emu/bsp/machine.h"
#include "emu/job/run_image.h"
#include "models/ask/network_choice.h"
#include "models/answer/host_cost.h"
#include "models/answer/model_report.h"
#include "models/ask/model_request.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(FLAG, host)

enum {
    SLOWEST = 5, /* layers shown */
    CATEGORIES_SHOWN = 4,
    PICTURES_SHOWN = 8,
    NAME_COLUMNS = 40 /* of a file's name, its end */
};

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* "4.2 M"; small numbers, which would be "0.0 M", as they are. */
struct amount_text {
    char at[32];
};

static struct amount_text amount_text(uint64_t n)
{
    struct amount_text t;

    if (n < 100000)
        snprintf(t.at, sizeof(t.at), "%s", count_text(n).at);
    else
        snprintf(t.at, sizeof(t.at), "%.1f M", (double)n / 1e6);
    return t;
}

/* Digits behind the point: a microsecond's, or of less time as many as give three that count. */
static int second_digits(double seconds)
{
    int digits = 6;

    for (double least = 1e-4; seconds > 0 && seconds < least && digits < 12; least /= 10)
        digits++;
    return digits;
}

/* The end of a name that is too long for its column. */
static const char *name_end(const char *name)
{
    size_t n = strlen(name);

    return n > NAME_COLUMNS ? name + n - NAME_COLUMNS : name;
}

/* ---- slowest layers ---- */

static uint64_t weight_of(const struct model_answer *m, const struct layer_bill *b)
{
    return m->run ? b->cycles : b->max_tile_bytes;
}

/* Picks the rows with the most cycles; without a run, those with the fullest tile. Of equal rows
 * the earlier comes first. Returns how many there are. */
static uint32_t pick_rows(const struct model_answer *m, const struct layer_bill *top[SLOWEST])
{
    const struct layer_cycles *k = m->layers;
    uint32_t n = 0;

    for (uint32_t i = 0; i < k->rows; i++) {
        const struct layer_bill *b = &k->row[i];
        uint32_t at;

        if (b->layer == BILL_NONE || !weight_of(m, b))
            continue;
        if (n == SLOWEST && weight_of(m, b) <= weight_of(m, top[n - 1]))
            continue;
        at = n < SLOWEST ? n++ : n - 1;
        for (; at && weight_of(m, b) > weight_of(m, top[at - 1]); at--)
            top[at] = top[at - 1];
        top[at] = b;
    }
    return n;
}

static void print_slow(const struct model_answer *m, const struct layer_bill *b, FILE *f)
{
    char why[REASON_TEXT];

    layer_reason(b, why);
    fprintf(f, "  %-16.16s %-19.19s %9s %5.1f %%  %.41s\n", model_bill_name(m, b),
            model_bill_op(m, b), count_text(b->cycles).at,
            100 * share((double)b->cycles, (double)m->layers->total.cycles), why);
}

static void print_rows(const struct model_answer *m, FILE *f)
{
    const struct layer_bill *top[SLOWEST];
    uint32_t n = pick_rows(m, top);

    if (m->run)
        fprintf(f, "\n  %-35s %9s %7s  %s\n", "Slowest layers", "cycles", "of all", "why");
    else
        fprintf(f, "\n  %-35s %15s %9s\n", "Layers with the fullest tile", "bytes", "of tile");
    for (uint32_t i = 0; i < n; i++) {
        if (m->run)
            print_slow(m, top[i], f);
        else
            fprintf(f, "  %-35.35s %15s %7.1f %%\n", model_bill_name(m, top[i]),
                    count_text(top[i]->max_tile_bytes).at,
                    100 * share((double)top[i]->max_tile_bytes, m->arch.mem_bytes));
    }
}

/* ---- memory ---- */

static uint64_t number(const json_t *o, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(o, key));
}

/* The categories with the most bytes, in one line. */
static void print_categories(const json_t *categories, FILE *f)
{
    const char *name;
    json_t *v;
    uint64_t last = UINT64_MAX;

    for (int i = 0; i < CATEGORIES_SHOWN; i++) {
        const char *best = NULL;
        uint64_t most = 0;

        json_object_foreach((json_t *)(uintptr_t)categories, name, v)
        {
            uint64_t bytes = number(v, "total_bytes");

            if (bytes < last && bytes > most) {
                most = bytes;
                best = name;
            }
        }
        if (!best)
            break;
        fprintf(f, "%s%s %.1f MB", i ? ", " : "  mostly ", best, (double)most / 1e6);
        last = most;
    }
    fputc('\n', f);
}

static void print_memory(const struct model_answer *m, FILE *f)
{
    json_t *o = memory_facts_json(m->memory);
    uint64_t most = number(o, "max_tile_bytes"), tile = number(o, "tile_bytes");

    if (!o) {
        fprintf(f, "\nmemory: %s\n", ss_error());
        return;
    }
    fprintf(f, "\nMemory: %.1f MB on %s tiles; the fullest has %s of %s bytes (%.1f %%) in use\n",
            (double)number(o, "total_bytes") / 1e6, count_text(number(o, "tiles_used")).at,
            count_text(most).at, count_text(tile).at, 100 * share((double)most, (double)tile));
    fprintf(f, "  needs %s bytes of a tile to fit, with what is lost in gaps\n",
            count_text(number(o, "need_bytes")).at);
    print_categories(json_object_get(o, "by_category"), f);
    json_decref(o);
}

/* ---- cycles and classes ---- */

static void print_phases(const struct model_answer *m, FILE *f)
{
    const struct layer_bill *t = &m->layers->total;
    double all = (double)model_cycles(m) * (m->stages > 1 ? m->stages : 1);

    fprintf(f,
            "\nPhases: compute %.1f %% (%.1f %% waiting for the slowest tile), exchange %.1f %%, "
            "sync %.1f %%\n",
            100 * share((double)t->compute, all), 100 * share((double)t->imbalance, all),
            100 * share((double)t->exchange, all), 100 * share((double)t->sync, all));
}

static void print_picture(const struct model_answer *m, uint32_t p, FILE *f)
{
    uint32_t top[MODEL_TOP];
    char name[MODEL_INPUT_NAME];

    model_top(m, p, top);
    fprintf(f, "  %s:", name_end(model_input_name(m, p, name)));
    for (uint32_t k = 0; k < 3 && top[k] != UINT32_MAX; k++) {
        const char *class = class_name(m->classes, top[k]);

        fprintf(f, "%s %u%s%s (%.4f)", k ? "," : " class", top[k], *class ? " " : "", class,
                (double)m->scores[(size_t)p * m->facts.classes + top[k]]);
    }
    fputc('\n', f);
}

static void print_classes(const struct model_answer *m, FILE *f)
{
    uint32_t shown = m->facts.batch < PICTURES_SHOWN ? m->facts.batch : PICTURES_SHOWN;

    fprintf(f, "\nBest classes%s%s\n", m->recipe ? "; pictures: " : ", with their scores",
            m->recipe ? m->recipe : "");
    for (uint32_t p = 0; p < shown; p++)
        print_picture(m, p, f);
    if (m->facts.batch > shown)
        fprintf(f, "  and %u more\n", m->facts.batch - shown);
}

static void print_total(const struct model_answer *m, FILE *f)
{
    double seconds = model_seconds(m);
    char digest[33], engine[RUN_ENGINE_TEXT];

    if (option_host(m->request)) {
        struct host_cost host = host_cost_of(&m->arch, &m->facts);

        host_cost_print(&host, &m->facts, seconds, f);
    }
    fprintf(f, "%s cycles, %.*f s on the chip, %.1f %s, %.2f %% of the peak\n",
            count_text(model_cycles(m)).at, second_digits(seconds), seconds,
            share(m->facts.batch, seconds), model_rate_unit(&m->facts), 100 * model_efficiency(m));
    ss_run_engine_text(m->run, engine);
    fprintf(f, "engine %s\n", engine);
    if (!ss_run_has_values(m->run))
        return;
    hash128_text(pod_digest(m->run->pod), digest);
    fprintf(f, "digest %s\n", digest);
}

void model_summary(const struct model_answer *m, FILE *f)
{
    const struct model_facts *n = &m->facts;

    model_print_title(m, f);
    fprintf(f, "  %s parameters (%.48s), %s multiply-adds for one %s, %s\n",
            amount_text(n->parameters).at, m->weights, amount_text(n->macs).at, model_input_word(n),
            precision_text(m->request).at);
    print_rows(m, f);
    model_print_stages(m, f);
    print_memory(m, f);
    if (m->run)
        print_phases(m, f);
    if (m->scores)
        print_classes(m, f);
    if (m->run)
        print_total(m, f);
    fprintf(f,
            "More: --report (all layers, all memory, what is assumed), --plan, --chart FILE.svg, "
            "--json\n");
}
