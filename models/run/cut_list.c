/* cut_list.c - a network run once, and its cuts listed (see cut_list.h). */
#include "models/run/cut_list.h"

#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/cli/options.h"
#include "emu/job/run_image.h"
#include "models/ask/model_request.h"
#include "models/run/model_fit.h"
#include "models/system/system.h"
#include "programs/cli/program_request.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(FLAG, json)
OPTION_READ(NUMBER, chips)
OPTION_READ(TEXT, cut)
OPTION_READ(LIST, image)
OPTION_READ(LIST, input)
OPTION_READ(TEXT, weights)
OPTION_READ(FLAG, strict)
OPTION_READ(FLAG, check)
OPTION_READ(FLAG, plain)
OPTION_READ(FLAG, allow_oom)
OPTION_READ(TEXT, output)
OPTION_READ(TEXT, write_weights)
OPTION_READ(FLAG, compare_layers)

enum { ROWS_OF_SCREEN = 30, LINE = 256 };

static int cut_is(const struct request *q, const char *word)
{
    return option_cut(q) && !strcmp(option_cut(q), word);
}

int cut_is_all(const struct request *q)
{
    return cut_is(q, "all");
}

int cut_is_auto(const struct request *q)
{
    return cut_is(q, "auto");
}

const char *cut_names(const struct request *q)
{
    return cut_is_all(q) || cut_is_auto(q) ? NULL : option_cut(q);
}

/* What a list of cuts has no use for: what looks at one run and its values, as --compare-layers
 * says, and what makes those values. */
static enum emu_status check_all(const struct request *q)
{
    static const unsigned *const values[] = { &OPTION_image,         &OPTION_input,
                                              &OPTION_weights,       &OPTION_strict,
                                              &OPTION_check,         &OPTION_plain,
                                              &OPTION_allow_oom,     &OPTION_output,
                                              &OPTION_write_weights, &OPTION_compare_layers };

    for (const struct option_rule *r = option_either; r->uses; r++) {
        if (r->a == OPTION_compare_layers && request_has(q, r->b))
            return FAIL(USAGE, "either --cut all or --%s, not both", option_name(r->b, q->use));
    }
    for (size_t k = 0; k < EMU_COUNT_OF(values); k++) {
        if (request_has(q, *values[k]))
            return FAIL(USAGE, "either --cut all or --%s, not both",
                        option_name(*values[k], q->use));
    }
    return EMU_OK;
}

enum emu_status cut_check(const struct request *q)
{
    if (!request_has(q, OPTION_chips) || option_chips(q) < 2 || option_chips(q) > CUT_STAGES_MAX)
        return FAIL(USAGE, "--cut %s: expected --chips 2 to %d with it", option_cut(q),
                    CUT_STAGES_MAX);
    return cut_is_all(q) ? check_all(q) : EMU_OK;
}

/* ---- the run ---- */

struct measurement {
    const struct request *q;    /* borrowed, like the next */
    struct model_source source; /* parameters without numbers: cycles need none */
    struct arch arch;
    struct system system;
};

/* On so many chips; *fits: whether they hold it. */
static enum emu_status build(struct measurement *m, unsigned chips, int *fits)
{
    struct system_options o = { .program = { .lower = network_lowering(&m->source.choice),
                                             .compile = compile_options_of(m->q),
                                             .give_up = 1 },
                                .folder = m->source.choice.cache,
                                .chips = chips };

    o.program.compile.progress = NULL;
    m->arch.chips = chips;
    TRY(ss_arch_check(&m->arch));
    system_free(&m->system);
    system_init(&m->system, &m->arch, m->source.graph, &o);
    TRY(system_build(&m->system));
    *fits = system_fits(&m->system);
    return EMU_OK;
}

static enum emu_status measure(struct measurement *m)
{
    const struct session_options o = { .timing = 1, .record = 1 };

    TRY(system_bill_layers(&m->system));
    TRY(system_start(&m->system, &o));
    TRY(system_write_zeros(&m->system));
    TRY(system_run(&m->system));
    return system_bill(&m->system);
}

static uint64_t cycles_of_layers(const struct layer_cycles *l)
{
    uint64_t cycles = 0;

    for (uint32_t k = 0; k < l->rows; k++)
        cycles += l->row[k].layer == BILL_NONE ? 0 : l->row[k].cycles;
    return cycles;
}

static enum emu_status choose(struct measurement *m, unsigned stages, struct cut_list *out)
{
    int fits = 0;

    TRY(model_source_open_blank(m->q, &m->arch, &m->source));
    for (unsigned chips = 1; !fits && chips <= CUT_STAGES_MAX; chips++) {
        TRY(build(m, chips, &fits));
        out->measured = fits ? chips : 0;
    }
    if (!fits)
        return EMU_OK;
    TRY(measure(m));
    out->layers = cycles_of_layers(&m->system.layers);
    return system_cuts_new(&m->arch, m->source.graph, &m->system.layers, stages, &out->cuts);
}

enum emu_status cut_choose(const struct request *q, const struct arch *a, struct cut_list *out)
{
    struct measurement m = { .q = q, .arch = *a };
    enum emu_status s;

    *out = (struct cut_list){ .measured = 0 };
    m.arch.chips = 1;
    s = choose(&m, a->chips, out);
    system_free(&m.system);
    model_source_free(&m.source);
    return s;
}

void cut_list_free(struct cut_list *c)
{
    system_cuts_free(&c->cuts);
}

const struct system_cut *cut_best(const struct cut_list *c)
{
    const struct system_cut *first = c->cuts.at;

    return c->cuts.count && !first->unfit && !first->tied ? first : NULL;
}

/* ---- the answer ---- */

/* What a cut breaks; "": nothing. */
static void breaks_text(const struct cut_list *c, const struct system_cut *cut, char text[LINE])
{
    *text = 0;
    if (cut->tied)
        snprintf(text, LINE, "%s", cut->tied);
    else if (cut->unfit)
        snprintf(text, LINE, "does not fit: stage %u needs about %s bytes of a tile, of %s",
                 cut->first, count_text(cut->stage[cut->first].tile_bytes).at,
                 count_text(c->cuts.mem_bytes).at);
}

static void print_cut(const struct cut_list *c, const struct system_cut *cut, FILE *f)
{
    char breaks[LINE];

    fprintf(f, "  %11s %9s %12s", count_text(cut->slot).at, count_text(cut->exchange).at,
            count_text(cut->bytes).at);
    for (unsigned k = 0; k < c->cuts.stages; k++)
        fprintf(f, " %10s %7s", count_text(cut->stage[k].cycles).at,
                count_text(cut->stage[k].tile_bytes).at);
    breaks_text(c, cut, breaks);
    fprintf(f, "  %s%s%s\n", cut->names, *breaks ? ": " : "", breaks);
}

static void print_table(const struct cut_list *c, FILE *f)
{
    const struct system_cuts *all = &c->cuts;
    uint32_t rows = all->count < ROWS_OF_SCREEN ? all->count : ROWS_OF_SCREEN;

    fprintf(f, "Cuts for %u chips, by cycles of layers executed on %u: %s\n\n", all->stages,
            c->measured, count_text(c->layers).at);
    fprintf(f, "  %11s %9s %12s", "slot", "exchange", "bytes across");
    for (unsigned k = 0; k < all->stages; k++)
        fprintf(f, "    stage %u %7s", k, "of tile");
    fputs("  cut\n", f);
    for (uint32_t k = 0; k < rows; k++)
        print_cut(c, &all->at[k], f);
    if (rows < all->count)
        fprintf(f, "  %u more: --json\n", all->count - rows);
    fputs("\n  slot: cycles of the slowest stage and an exchange; stage: cycles of its layers; of "
          "tile: bytes on its fullest one, about\n",
          f);
    if (cut_best(c))
        fprintf(f, "  nothing was run: --cut %s runs the first one\n", cut_best(c)->names);
}

static json_t *stages_json(const struct cut_list *c, const struct system_cut *cut)
{
    json_t *list = json_array();

    for (unsigned k = 0; list && k < c->cuts.stages; k++) {
        json_t *o = json_pack("{s:I, s:I}", "cycles", (json_int_t)cut->stage[k].cycles,
                              "tile_bytes", (json_int_t)cut->stage[k].tile_bytes);

        if (!json_array_append_new(list, o))
            continue;
        json_decref(list);
        return NULL;
    }
    return list;
}

static json_t *cut_json(const struct cut_list *c, const struct system_cut *cut)
{
    char breaks[LINE];

    breaks_text(c, cut, breaks);
    return json_pack("{s:s, s:I, s:I, s:I, s:o, s:s*}", "cut", cut->names, "slot_cycles",
                     (json_int_t)cut->slot, "exchange_cycles", (json_int_t)cut->exchange,
                     "crossing_bytes", (json_int_t)cut->bytes, "stages", stages_json(c, cut),
                     "breaks", *breaks ? breaks : NULL);
}

static json_t *list_json(const struct cut_list *c)
{
    json_t *list = json_array();

    for (uint32_t k = 0; list && k < c->cuts.count; k++) {
        if (!json_array_append_new(list, cut_json(c, &c->cuts.at[k])))
            continue;
        json_decref(list);
        return NULL;
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:o}", "chips", (json_int_t)c->cuts.stages,
                     "measured_chips", (json_int_t)c->measured, "layer_cycles",
                     (json_int_t)c->layers, "tile_memory_bytes", (json_int_t)c->cuts.mem_bytes,
                     "cuts", list);
}

int cut_print(const struct cut_list *c, const struct request *q, FILE *f)
{
    json_t *o;

    if (!option_json(q) && c->measured) {
        print_table(c, f);
    } else if (!option_json(q)) {
        fprintf(f, "The network does not fit %d chips, so no cut was measured\n", CUT_STAGES_MAX);
    } else {
        o = list_json(c);
        if (!o)
            return EXIT_BAD;
        ss_run_print_json(o, f);
        json_decref(o);
    }
    return cut_best(c) ? EXIT_RAN : EXIT_FAULTED;
}
