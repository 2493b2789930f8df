/* model_report.c - the answer for people. */
#include "emu/arch/arch_numbers.h"
#include "emu/bsp/machine.h"
#include "emu/job/run_image.h"
#include "models/ask/network_choice.h"
#include "models/answer/host_cost.h"
#include "models/ask/model_request.h"
#include "models/answer/model_report.h"
#include "programs/compiler/report/count_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What is read of the command line. */
OPTION_READ(FLAG, plan)
OPTION_READ(FLAG, host)

/* ---- figures ---- */

uint64_t model_cycles(const struct model_answer *m)
{
    return m->run ? pod_cycles(m->run->pod) : 0;
}

double model_seconds(const struct model_answer *m)
{
    return (double)model_cycles(m) / ((double)m->arch.clock_mhz * 1e6);
}

double model_efficiency(const struct model_answer *m)
{
    double peak =
        (double)model_cycles(m) * m->arch.tiles * m->arch.chips * arch_f16_macs_f16(&m->arch);

    return peak > 0 ? (double)m->facts.macs * m->facts.batch / peak : 0;
}

void model_top(const struct model_answer *m, uint32_t picture, uint32_t top[MODEL_TOP])
{
    const float *s = m->scores + (size_t)picture * m->facts.classes;

    for (uint32_t k = 0; k < MODEL_TOP; k++) {
        top[k] = UINT32_MAX;
        for (uint32_t c = 0; c < m->facts.classes; c++) {
            int taken = 0;

            for (uint32_t i = 0; i < k; i++)
                taken |= top[i] == c;
            if (!taken && (top[k] == UINT32_MAX || s[c] > s[top[k]]))
                top[k] = c;
        }
    }
}

const char *model_bill_name(const struct model_answer *m, const struct layer_bill *b)
{
    return b == &m->layers->total ? "all" : m->layers->text[b - m->layers->row].name;
}

const char *model_bill_op(const struct model_answer *m, const struct layer_bill *b)
{
    return b == &m->layers->total ? "" : m->layers->text[b - m->layers->row].op;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* ---- head, classes ---- */

void model_print_title(const struct model_answer *m, FILE *f)
{
    const struct model_facts *n = &m->facts;

    fprintf(f, "%s, %s, batch %u, on %s: %s tiles at %u MHz\n", n->name, n->input, n->batch,
            ss_arch_title(&m->arch).at, count_text(m->arch.tiles).at, m->arch.clock_mhz);
}

static void print_head(const struct model_answer *m, FILE *f)
{
    const struct model_facts *n = &m->facts;

    model_print_title(m, f);
    fprintf(f, "  %s parameters (%s), %s multiply-adds for one %s, %s\n",
            count_text(n->parameters).at, m->weights, count_text(n->macs).at, model_input_word(n),
            precision_text(m->request).at);
}

const char *model_input_name(const struct model_answer *m, uint32_t p, char out[MODEL_INPUT_NAME])
{
    const char *name = m->file ? m->file[m->files > 1 ? p : 0] : "drawn numbers";

    if (m->facts.batch > 1 && m->files <= 1)
        snprintf(out, MODEL_INPUT_NAME, "%s [%u]", name, p);
    else
        snprintf(out, MODEL_INPUT_NAME, "%s", name);
    return out;
}

static void print_classes(const struct model_answer *m, FILE *f)
{
    char name[MODEL_INPUT_NAME];

    if (m->recipe)
        fprintf(f, "  pictures: %s\n", m->recipe);
    for (uint32_t p = 0; p < m->facts.batch; p++) {
        uint32_t top[MODEL_TOP];

        model_top(m, p, top);
        fprintf(f, "\nBest classes of %s\n", model_input_name(m, p, name));
        for (uint32_t k = 0; k < MODEL_TOP && top[k] != UINT32_MAX; k++)
            fprintf(f, "  %u. class %4u   score %.4f%s%s\n", k + 1, top[k],
                    (double)m->scores[(size_t)p * m->facts.classes + top[k]],
                    *class_name(m->classes, top[k]) ? "   " : "", class_name(m->classes, top[k]));
    }
}

/* ---- cycles ---- */

static void print_phase(const char *name, uint64_t cycles, uint64_t all, const char *what, FILE *f)
{
    fprintf(f, "  %-12s %14s %6.1f %%   %s\n", name, count_text(cycles).at,
            percent((double)cycles, (double)all), what);
}

static void print_cycles(const struct model_answer *m, FILE *f)
{
    const struct layer_bill *t = &m->layers->total;
    double seconds = model_seconds(m);
    uint64_t cycles = model_cycles(m);

    fprintf(f, "\nTime on the chip\n");
    fprintf(f, "  %s cycles, %.6f s, %.1f %s\n", count_text(cycles).at, seconds,
            seconds > 0 ? m->facts.batch / seconds : 0, model_rate_unit(&m->facts));
    fprintf(f, "  %s cycles of one %s, %s supersteps; %.2f %% of the matrix units' multiply-adds\n",
            count_text(cycles / m->facts.batch).at, model_input_word(&m->facts),
            count_text(t->supersteps).at, 100 * model_efficiency(m));
    if (option_host(m->request)) {
        struct host_cost host = host_cost_of(&m->arch, &m->facts);

        fputs("  ", f);
        host_cost_print(&host, &m->facts, seconds, f);
    }
    print_phase("compute", t->compute, cycles, "of the slowest tiles", f);
    print_phase("  imbalance", t->imbalance, cycles, "of that: above the mean of the tiles", f);
    print_phase("exchange", t->exchange, cycles, "of the slowest tiles", f);
    print_phase("sync", t->sync, cycles, "and latencies", f);
    print_phase("lower bound", t->bound, cycles, "work of all layers at the full rate of the units",
                f);
}

/* ---- layers ---- */

static void print_bill(const struct model_answer *m, const struct layer_bill *b, FILE *f)
{
    double peak = (double)b->cycles * m->arch.tiles * arch_f16_macs_f16(&m->arch);

    fprintf(f, "%-20s %-18s", model_bill_name(m, b), model_bill_op(m, b));
    if (m->run)
        fprintf(f, " %9s %9s %9s %8s %9s %8s", count_text(b->cycles).at, count_text(b->compute).at,
                count_text(b->exchange).at, count_text(b->sync).at, count_text(b->imbalance).at,
                count_text(b->bound).at);
    if (m->run && b->macs)
        fprintf(f, " %7.1f %6.2f", (double)b->macs / 1e6, percent((double)b->macs, peak));
    else if (m->run)
        fprintf(f, " %7s %6s", "", "");
    fprintf(f, " %10s %12s %10s\n", count_text(b->max_tile_bytes).at, count_text(b->held_bytes).at,
            count_text(b->held_tile_bytes).at);
}

static void print_layers(const struct model_answer *m, FILE *f)
{
    const struct layer_cycles *k = m->layers;

    fprintf(f, "\nLayers%s\n",
            m->run ? ": cycles, and bytes of tile memory" : ": bytes of tile memory");
    fprintf(f, "%-20s %-18s", "layer", "op");
    if (m->run)
        fprintf(f, " %9s %9s %9s %8s %9s %8s %7s %6s", "cycles", "compute", "exchange", "sync",
                "imbalance", "bound", "M MACs", "MAC %");
    fprintf(f, " %10s %12s %10s\n", "fullest", "held, all", "held, tile");
    for (uint32_t i = 0; i < k->rows; i++)
        print_bill(m, &k->row[i], f);
    print_bill(m, &k->total, f);
    fprintf(f,
            "fullest: bytes in use on the fullest tile while the layer runs. held: code and "
            "parameters, which are\nalways there, on all tiles and on the tile that holds most.\n");
}

/* Of the layers that were planned: how many took the predicted cycles, to within a tenth. */
static void print_prediction(const struct model_answer *m, FILE *f)
{
    uint32_t asked = 0, near = 0;

    for (uint32_t i = 0; i < m->layers->rows; i++) {
        const struct layer_bill *b = &m->layers->row[i];
        double ratio = b->predicted ? (double)b->cycles / (double)b->predicted : 0;

        asked += b->predicted != 0;
        near += b->predicted && ratio > 0.9 && ratio < 1.1;
    }
    if (m->run && asked)
        fprintf(f, "%u of %u planned layers were executed within 10 %% of the prediction.\n", near,
                asked);
}

void model_report_plans(const struct model_answer *m, FILE *f)
{
    fprintf(f,
            "\nPlans: parts of pictures x rows or positions x columns x output channels x input "
            "channels\n%-20s %-10s %-18s %9s %9s %9s %7s %11s\n",
            "layer", "method", "parts", "predicted", "executed", "compute", "ratio", "temp. bytes");
    for (uint32_t i = 0; i < m->layers->rows; i++) {
        const struct layer_bill *b = &m->layers->row[i];
        const struct layer_plan *p = b->predicted ? &m->layers->plan[i] : NULL;
        char parts[64];

        if (!p)
            continue;
        snprintf(parts, sizeof(parts), "%ux%ux%ux%ux%u", p->cut_n, p->cut_h, p->cut_w, p->cut_out,
                 p->cut_in);
        fprintf(f, "%-20s %-10s %-18s %9s", model_bill_name(m, b), ss_conv_method_name(p->method),
                parts, count_text(b->predicted).at);
        fprintf(f, " %9s %9s %7.2f %11s\n", count_text(b->cycles).at, count_text(b->compute).at,
                (double)b->cycles / (double)b->predicted, count_text(p->tile_bytes).at);
    }
    print_prediction(m, f);
}

void model_report_precision(const struct model_answer *m, FILE *f)
{
    const struct precision_notes *p = m->precision;

    if (p->nodes)
        fprintf(f, "f32: %u nodes that f16 would get wrong (--dump groups)\n", p->nodes);
    if (!p->clamped)
        return;
    fprintf(f, "Constants beyond the range clamped:");
    for (uint32_t k = 0; k < p->clamped && k < PRECISION_CLAMPED_MAX; k++)
        fprintf(f, "%s '%s'", k ? "," : "", p->clamp[k]);
    fprintf(f, p->clamped > PRECISION_CLAMPED_MAX ? " and %u more\n" : "\n",
            p->clamped - PRECISION_CLAMPED_MAX);
}

/* ---- assumptions ---- */

void model_assumed(const struct arch *a, assumed_visit *visit, void *ctx)
{
    for (size_t i = 0; i < ARCH_FIELD_COUNT; i++) {
        const struct arch_field *d = ss_arch_field_at(i);
        char value[ARCH_TEXT_MAX + 32], text[256];

        if (ss_arch_field_mark(a, i) != 'A' || d->type == ARCH_TYPE_text)
            continue;
        ss_arch_field_text(a, i, value, sizeof(value));
        snprintf(text, sizeof(text), "%s = %s %s", d->name, value, d->unit);
        visit(ctx, text, d->doc);
    }
}

static void print_assumed(void *ctx, const char *text, const char *doc)
{
    fprintf(ctx, "  %s (%s)\n", text, doc);
}

void model_report(const struct model_answer *m, FILE *f)
{
    print_head(m, f);
    if (m->scores)
        print_classes(m, f);
    if (m->run)
        print_cycles(m, f);
    print_layers(m, f);
    if (option_plan(m->request))
        model_report_plans(m, f);
    else
        print_prediction(m, f);
    fputc('\n', f);
    memory_facts_print(m->memory, f);
    if (m->run)
        model_report_published(m, f);
    fprintf(f, "\nAssumed of the machine\n");
    model_assumed(&m->arch, print_assumed, f);
}
