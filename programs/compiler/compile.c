/* compile.c - ss_graph_compile(): one stage after the other, a proof after each, every result kept.
 *
 *   check, lower, codelets, (outlook,) exchange schedules, measure, place, emit, memory report
 *
 * Schedules begin while the program is being lowered (exchange_ahead.h).
 *
 * Code begins with the codelets, at the first byte of the memory that the loader fills: a launch
 * takes a full byte address (docs/isa.md), so nothing forbids that one, and with one address for
 * all tiles a codelet is linked once for the whole chip.
 */
#include "programs/compiler/compiled.h"

#include "programs/compiler/compile_store.h"
#include "programs/compiler/base/parallel.h"
#include "programs/compiler/report/memory_report.h"
#include "programs/compiler/compile_exchange.h"
#include "programs/compiler/exchange_ahead.h"
#include "programs/compiler/report/count_text.h"

struct compiler {
    struct compiled *c; /* owned until it is handed out; of several chips: of this one */
    struct compile_options o;
    struct schedule_store *store;      /* borrowed; NULL: none */
    const struct lowered *const *peer; /* emit_input.peer, borrowed */
    unsigned threads;
    uint32_t ahead;       /* schedules that were made while lowering */
    uint32_t *code_bytes; /* by used tile; owned */
    struct progress progress;
};

static int is_one_of_several(const struct compiled *c)
{
    return c->first || c->chips > 1;
}

/* Forwards an error with the name of the stage, and the chip where there are several. */
#define STAGE(name, expr)                                                                          \
    do {                                                                                           \
        enum emu_status stage_status_ = (expr);                                                    \
        if (stage_status_ != EMU_OK)                                                               \
            return stage_failed(k->c, name, stage_status_);                                        \
    } while (0)

static enum emu_status stage_failed(const struct compiled *c, const char *name, enum emu_status s)
{
    return is_one_of_several(c) ? ss_fail(s, "chip %u: %s: %s", c->number, name, ss_error())
                                : ss_fail(s, "%s: %s", name, ss_error());
}

/* ---- stages ---- */

/* Whether the machine can run all kernels of the program. */
static enum emu_status check_machine(const struct compiled *c)
{
    for (size_t i = 0; i < c->lowered->codelet.count; i++)
        TRY(codelet_check(c->graph->library, ss_graph_arch(c->graph), c->lowered->codelet.at[i]));
    return EMU_OK;
}

static enum emu_status stage_lower(struct compiler *k)
{
    struct compiled *c = k->c;

    STAGE("check", graph_check_by(c->graph, k->threads));
    progress_report(&k->progress, "check", "%s variables, %s vertices",
                    count_text(c->graph->variable.count).at, count_text(c->graph->vertex.count).at);
    STAGE("lower", lower_and_schedule(c->graph, k->o.exchange, k->threads, k->store, &c->lowered,
                                      &k->ahead));
    TRY(check_machine(c));
    STAGE("lower", lowered_check(c->lowered, k->threads));
    progress_report(&k->progress, "lower", "%s steps, %s objects on %s tiles, %s messages",
                    count_text(c->lowered->step.count).at, count_text(c->lowered->object.count).at,
                    count_text(c->lowered->used_tiles).at,
                    count_text(c->lowered->message.count).at);
    return EMU_OK;
}

static enum emu_status stage_exchange(struct compiler *k)
{
    struct compiled *c = k->c;
    struct exchange_totals t;

    c->schedule = emu_alloc(c->lowered->step.count + 1, sizeof(*c->schedule));
    if (!c->schedule)
        return FAIL(NO_MEMORY, "schedules of %zu steps", c->lowered->step.count);
    STAGE("exchange", compile_exchanges(c->lowered, k->o.exchange, (int)k->threads, k->store,
                                        k->o.progress, c->schedule, &t));
    progress_report(
        &k->progress, "exchange",
        "%s exchanges, %s of them different, %s made before, %s messages, %s bytes of code",
        count_text(t.exchanges).at, count_text(t.different).at, count_text(t.found - k->ahead).at,
        count_text(t.messages).at, count_text(t.code_bytes).at);
    return EMU_OK;
}

static enum emu_status stage_codelets(struct compiler *k)
{
    struct compiled *c = k->c;
    const struct arch *a = ss_graph_arch(c->graph);

    STAGE("codelets", c->graph->library->link(a, c->lowered->codelet.at, c->lowered->codelet.count,
                                              ss_arch_loader_base(a), &c->codelets));
    STAGE("codelets", worker_stacks_add(c->lowered, c->codelets.stack));
    progress_report(&k->progress, "codelets", "%s bytes", count_text(c->codelets.bytes).at);
    return EMU_OK;
}

/* Bytes of the tile that needs most, and of the one that has most code. */
uint64_t compiled_own_need_bytes(const struct compiled *c)
{
    return c->place.tiles ? c->place.tile[c->place.fullest].need_bytes : 0;
}

uint64_t compiled_own_code_bytes(const struct compiled *c)
{
    return c->place.tiles ? c->place.tile[c->place.longest].code_need : 0;
}

/* Schedules take most of the time, so a program that cannot fit gets none. */
static enum emu_status stage_outlook(struct compiler *k)
{
    struct compiled *c = k->c;
    const struct arch *a = ss_graph_arch(c->graph);

    STAGE("outlook",
          place_outlook(c->lowered, c->codelets.bytes, OUTLOOK_LEAST, k->threads, &c->place));
    c->given_up = (k->o.give_up & GIVE_UP_MEMORY && compiled_own_need_bytes(c) > a->mem_bytes) ||
                  (k->o.give_up & GIVE_UP_CODE && compiled_own_code_bytes(c) > a->region0_bytes);
    placement_free(&c->place);
    if (!c->given_up)
        return EMU_OK;
    STAGE("outlook",
          place_outlook(c->lowered, c->codelets.bytes, OUTLOOK_TYPICAL, k->threads, &c->place));
    progress_report(&k->progress, "outlook",
                    "given up: about %s of %s bytes, %s of %s bytes of code",
                    count_text(compiled_own_need_bytes(c)).at, count_text(a->mem_bytes).at,
                    count_text(compiled_own_code_bytes(c)).at, count_text(a->region0_bytes).at);
    return EMU_OK;
}

static struct emit_input input_of(const struct compiler *k)
{
    return (struct emit_input){ k->c->lowered, &k->c->codelets, k->c->schedule, k->peer };
}

/* Once there is an image, it tells all that schedules did, in a tenth of the memory. */
static void free_schedules(struct compiled *c)
{
    for (size_t i = 0; c->schedule && i < c->lowered->step.count; i++)
        exchange_schedule_free(&c->schedule[i]);
    ss_free(c->schedule);
    c->schedule = NULL;
}

static enum emu_status stage_place(struct compiler *k)
{
    struct compiled *c = k->c;
    struct emit_input in = input_of(k);
    uint32_t most = 0, tiles = c->lowered->used_tiles;
    uint64_t shared = 0, beside_code = 0;

    k->code_bytes = emu_alloc((size_t)tiles + 1, sizeof(*k->code_bytes));
    if (!k->code_bytes)
        return FAIL(NO_MEMORY, "code of %u tiles", tiles);
    STAGE("measure", emit_measure(&in, k->threads, k->code_bytes));
    for (uint32_t t = 0; t < tiles; t++)
        if (k->code_bytes[t] > most)
            most = k->code_bytes[t];
    progress_report(&k->progress, "measure", "at most %s bytes of code on a tile",
                    count_text(most).at);
    STAGE("place", place_objects(c->lowered, k->code_bytes, k->threads, &c->place));
    STAGE("place", placement_check(c->lowered, &c->place, k->threads));
    for (uint32_t t = 0; t < tiles; t++) {
        shared += c->place.tile[t].shared_pairs;
        beside_code += c->place.tile[t].beside_code;
    }
    progress_report(&k->progress, "place",
                    "%s; elements shared by what is sent and what arrives: %s, by code: %s; "
                    "fullest: tile %u, %s of %s bytes",
                    c->place.fits ? "everything fits" : "OUT OF MEMORY", count_text(shared).at,
                    count_text(beside_code).at, tiles ? c->lowered->used_tile[c->place.fullest] : 0,
                    count_text(compiled_own_need_bytes(c)).at,
                    count_text(ss_graph_arch(c->graph)->mem_bytes).at);
    lowered_free_work(c->lowered);
    emu_trim();
    return EMU_OK;
}

/* Every byte of every tile has one use. */
static enum emu_status stage_memory_report(struct compiler *k)
{
    struct memory_report a;
    enum emu_status s = memory_report_init(k->c, &a);

    memory_report_free(&a);
    STAGE("memory", s);
    progress_report(&k->progress, "memory", "every byte of %s tiles has one use",
                    count_text(k->c->lowered->used_tiles).at);
    return EMU_OK;
}

/* ---- chips ---- */

/* The chips of a replica while they are compiled. */
struct chips_compiler {
    struct compiler *chip; /* owned */
    unsigned chips;
    const struct lowered **lowered; /* by chip; owned */
    struct emit_chip *emit;         /* by chip; owned */
};

static int has_channels(const struct compiled *c)
{
    return is_one_of_several(c) || c->graph->channel.count;
}

/* Says whose lines follow. */
static void say_chip(struct compiler *k)
{
    if (is_one_of_several(k->c))
        progress_report(&k->progress, "chip", "%u", k->c->number);
}

static enum emu_status lower_chip(struct compiler *k)
{
    say_chip(k);
    TRY(stage_lower(k));
    TRY(stage_codelets(k));
    return k->o.give_up ? stage_outlook(k) : EMU_OK;
}

static enum emu_status place_chip(struct compiler *k)
{
    say_chip(k);
    TRY(stage_exchange(k));
    return stage_place(k);
}

/* Where the two ends of channels are known, code has its length. */
static enum emu_status match_chips(const struct chips_compiler *x)
{
    const struct compiled *c = x->chip[0].c;
    struct lowered **l;
    enum emu_status s;

    if (!has_channels(c))
        return EMU_OK;
    l = emu_alloc(x->chips, sizeof(*l));
    if (!l)
        return FAIL(NO_MEMORY, "%u chips", x->chips);
    for (unsigned k = 0; k < x->chips; k++)
        x->lowered[k] = l[k] = x->chip[k].c->lowered;
    for (unsigned k = 0; k < x->chips; k++)
        x->chip[k].peer = x->lowered;
    s = chips_match(l, x->chips);
    ss_free(l);
    return s;
}

static enum emu_status emit_chips(const struct chips_compiler *x)
{
    struct compiler *k = &x->chip[0];

    for (unsigned i = 0; i < x->chips; i++)
        x->emit[i] = (struct emit_chip){ input_of(&x->chip[i]), &x->chip[i].c->place };
    STAGE("emit", emit_images(x->emit, x->chips, k->threads, &k->c->image));
    for (unsigned i = 0; i < x->chips; i++)
        free_schedules(x->chip[i].c);
    emu_trim();
    progress_report(&k->progress, "emit", "image of %s tiles",
                    count_text(image_tile_count(k->c->image)).at);
    return EMU_OK;
}

static enum emu_status run_stages(const struct chips_compiler *x)
{
    for (unsigned k = 0; k < x->chips; k++)
        TRY(lower_chip(&x->chip[k]));
    if (compiled_given_up(x->chip[0].c))
        return EMU_OK;
    TRY(match_chips(x));
    for (unsigned k = 0; k < x->chips; k++)
        TRY(place_chip(&x->chip[k]));
    if (ss_compiled_fits(x->chip[0].c))
        TRY(emit_chips(x));
    for (unsigned k = 0; k < x->chips; k++)
        TRY(stage_memory_report(&x->chip[k]));
    return EMU_OK;
}

/* ---- API ---- */

enum emu_status ss_graph_compile(struct graph *g, const struct compile_options *o,
                                 struct compiled **out)
{
    return graphs_compile_with(&g, 1, o, NULL, out);
}

enum emu_status ss_graphs_compile(struct graph *const *g, unsigned n,
                                  const struct compile_options *o, struct compiled **out)
{
    return graphs_compile_with(g, n, o, NULL, out);
}

enum emu_status graph_compile_with(struct graph *g, const struct compile_options *o,
                                   struct schedule_store *store, struct compiled **out)
{
    return graphs_compile_with(&g, 1, o, store, out);
}

/* Whether the graphs can be those of the chips of a replica. */
static enum emu_status check_graphs(struct graph *const *g, unsigned n)
{
    uint32_t chips;

    if (!n)
        return FAIL(USAGE, "ss_graphs_compile: no graph");
    for (unsigned k = 0; k < n; k++)
        TRY(ss_graph_status(g[k]));
    chips = ss_graph_arch(g[0])->chips;
    if (n == 1)
        return EMU_OK;
    for (unsigned k = 1; k < n; k++)
        if (!ss_arch_equal(ss_graph_arch(g[k]), ss_graph_arch(g[0])))
            return FAIL(BAD_MACHINE,
                        "chip %u: its graph is for another machine than that of chip 0", k);
    if (chips % n)
        return FAIL(BAD_MACHINE,
                    "a program of %u chips on a machine of %u: expected a multiple of %u (chips=)",
                    n, chips, n);
    return EMU_OK;
}

static enum emu_status new_chip(struct chips_compiler *x, unsigned k, struct graph *g,
                                const struct compile_options *o, struct schedule_store *store)
{
    struct compiler *c = &x->chip[k];

    c->c = emu_alloc(1, sizeof(*c->c));
    if (!c->c)
        return FAIL(NO_MEMORY, "compilation");
    c->o = o ? *o : (struct compile_options){ 0 };
    c->store = store;
    c->threads = parallel_threads(c->o.threads);
    c->progress = progress_begin(c->o.progress);
    c->c->graph = g;
    c->c->target = c->o.exchange;
    c->c->threads = c->threads;
    c->c->number = k;
    if (k) {
        c->c->first = x->chip[0].c;
        x->chip[0].c->chip[k] = c->c;
        return EMU_OK;
    }
    c->c->chips = x->chips;
    c->c->chip = emu_alloc(x->chips, sizeof(struct compiled *));
    if (c->c->chip)
        c->c->chip[0] = c->c;
    return c->c->chip ? EMU_OK : FAIL(NO_MEMORY, "compilation");
}

enum emu_status graphs_compile_with(struct graph *const *g, unsigned n,
                                    const struct compile_options *o, struct schedule_store *store,
                                    struct compiled **out)
{
    struct chips_compiler x = { .chips = n };
    enum emu_status s;

    *out = NULL;
    TRY(check_graphs(g, n));
    x.chip = emu_alloc(n, sizeof(*x.chip));
    x.lowered = emu_alloc(n, sizeof(*x.lowered));
    x.emit = emu_alloc(n, sizeof(*x.emit));
    s = x.chip && x.lowered && x.emit ? EMU_OK : FAIL(NO_MEMORY, "compilation of %u chips", n);
    for (unsigned k = 0; k < n && s == EMU_OK; k++)
        s = new_chip(&x, k, g[k], o, store);
    if (s == EMU_OK)
        s = run_stages(&x);
    for (unsigned k = 0; x.chip && k < n; k++)
        ss_free(x.chip[k].code_bytes);
    if (s == EMU_OK)
        *out = x.chip[0].c;
    else if (x.chip)
        ss_compiled_free(x.chip[0].c);
    ss_free(x.chip);
    ss_free(x.lowered);
    ss_free(x.emit);
    return s;
}

unsigned ss_compiled_chips(const struct compiled *c)
{
    return c ? c->chips : 0;
}

struct compiled *ss_compiled_chip(const struct compiled *c, unsigned k)
{
    return c && k < c->chips ? c->chip[k] : NULL;
}

static void free_advice(struct compiled *c)
{
    for (size_t i = 0; i < c->advices; i++)
        ss_free(c->advice[i]);
    ss_free(c->advice);
    c->advice = NULL;
    c->advices = 0;
}

static enum emu_status set_advice(struct compiled *c, const char *const *line, size_t lines)
{
    free_advice(c);
    c->advice = emu_alloc(lines + 1, sizeof(*c->advice));
    for (size_t i = 0; c->advice && i < lines; i++) {
        c->advice[i] = emu_strdup(line[i]);
        if (!c->advice[i])
            return FAIL(NO_MEMORY, "the report");
        c->advices++;
    }
    return c->advice ? EMU_OK : FAIL(NO_MEMORY, "the report");
}

enum emu_status compiled_set_advice(struct compiled *c, const char *const *line, size_t lines)
{
    uint32_t last = 0;

    for (uint32_t k = 1; k < c->chips; k++) {
        if (!c->chip[k]->place.fits)
            last = k;
    }
    for (uint32_t k = 1; k < c->chips; k++)
        TRY(set_advice(c->chip[k], line, k == last ? lines : 0));
    return set_advice(c, line, last ? 0 : lines);
}

void ss_compiled_free(struct compiled *c)
{
    if (!c)
        return;
    for (uint32_t k = 1; c->chip && k < c->chips; k++)
        ss_compiled_free(c->chip[k]);
    ss_free(c->chip);
    free_advice(c);
    ss_image_free(c->image);
    VEC_FREE(&c->input);
    placement_free(&c->place);
    codelet_code_free(&c->codelets);
    free_schedules(c);
    lowered_free(c->lowered);
    ss_free(c);
}

int ss_compiled_fits(const struct compiled *c)
{
    int fits = c && c->place.fits;

    for (uint32_t k = 1; fits && k < c->chips; k++)
        fits = c->chip[k]->place.fits;
    return fits;
}

int compiled_given_up(const struct compiled *c)
{
    int given_up = c->given_up;

    for (uint32_t k = 1; k < c->chips; k++)
        given_up |= c->chip[k]->given_up;
    return given_up;
}

/* The largest of all chips. */
static uint64_t most_of_chips(const struct compiled *c, uint64_t of_chip(const struct compiled *c))
{
    uint64_t most = c ? of_chip(c) : 0;

    for (uint32_t k = 1; c && k < c->chips; k++)
        most = of_chip(c->chip[k]) > most ? of_chip(c->chip[k]) : most;
    return most;
}

uint64_t ss_compiled_need_bytes(const struct compiled *c)
{
    return most_of_chips(c, compiled_own_need_bytes);
}

uint64_t ss_compiled_code_bytes(const struct compiled *c)
{
    return most_of_chips(c, compiled_own_code_bytes);
}

const struct image *ss_compiled_image(const struct compiled *c)
{
    return c ? compiled_image(c) : NULL;
}

enum emu_status ss_compiled_set_arch(struct compiled *c, const struct arch *arch)
{
    if (!c)
        return FAIL(BAD_PROGRAM, "there is no compiled program: ss_graph_compile() has failed");
    if (!arch)
        return FAIL(BAD_MACHINE,
                    "there is no machine: arch is NULL, which ss_arch_preset() gives for "
                    "a name that it does not know");
    return c->image ? image_set_arch(c->image, arch)
                    : FAIL(USAGE, "the program does not fit: there is no image");
}

const struct graph *ss_compiled_graph(const struct compiled *c)
{
    return c ? c->graph : NULL;
}
