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
    struct compiled *c; /* owned until it is handed out */
    struct compile_options o;
    struct schedule_store *store; /* borrowed; NULL: none */
    unsigned threads;
    uint32_t ahead;       /* schedules that were made while lowering */
    uint32_t *code_bytes; /* by used tile; owned */
    struct progress progress;
};

/* Forwards an error with the name of the stage. */
#define STAGE(name, expr)                                                                          \
    do {                                                                                           \
        enum emu_status stage_status_ = (expr);                                                    \
        if (stage_status_ != EMU_OK)                                                               \
            return ss_fail(stage_status_, "%s: %s", name, ss_error());                             \
    } while (0)

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

/* Schedules take most of the time, so a program that cannot fit gets none. */
static enum emu_status stage_outlook(struct compiler *k)
{
    struct compiled *c = k->c;
    const struct arch *a = ss_graph_arch(c->graph);

    STAGE("outlook",
          place_outlook(c->lowered, c->codelets.bytes, OUTLOOK_LEAST, k->threads, &c->place));
    c->given_up = (k->o.give_up & GIVE_UP_MEMORY && ss_compiled_need_bytes(c) > a->mem_bytes) ||
                  (k->o.give_up & GIVE_UP_CODE && ss_compiled_code_bytes(c) > a->region0_bytes);
    placement_free(&c->place);
    if (!c->given_up)
        return EMU_OK;
    STAGE("outlook",
          place_outlook(c->lowered, c->codelets.bytes, OUTLOOK_TYPICAL, k->threads, &c->place));
    progress_report(&k->progress, "outlook",
                    "given up: about %s of %s bytes, %s of %s bytes of code",
                    count_text(ss_compiled_need_bytes(c)).at, count_text(a->mem_bytes).at,
                    count_text(ss_compiled_code_bytes(c)).at, count_text(a->region0_bytes).at);
    return EMU_OK;
}

static struct emit_input input_of(const struct compiled *c)
{
    return (struct emit_input){ c->lowered, &c->codelets, c->schedule };
}

static enum emu_status stage_place(struct compiler *k)
{
    struct compiled *c = k->c;
    struct emit_input in = input_of(c);
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
                    count_text(ss_compiled_need_bytes(c)).at,
                    count_text(ss_graph_arch(c->graph)->mem_bytes).at);
    lowered_free_work(c->lowered);
    emu_trim();
    return EMU_OK;
}

static void free_schedules(struct compiled *c)
{
    for (size_t i = 0; c->schedule && i < c->lowered->step.count; i++)
        exchange_schedule_free(&c->schedule[i]);
    ss_free(c->schedule);
    c->schedule = NULL;
}

/* Once there is an image, it tells all that schedules did, in a tenth of the memory. */
static enum emu_status stage_emit(struct compiler *k)
{
    struct compiled *c = k->c;
    struct emit_input in = input_of(c);

    if (!c->place.fits)
        return EMU_OK;
    STAGE("emit", emit_image(&in, &c->place, k->threads, &c->image));
    free_schedules(c);
    emu_trim();
    progress_report(&k->progress, "emit", "image of %s tiles",
                    count_text(image_tile_count(c->image)).at);
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

static enum emu_status run_stages(struct compiler *k)
{
    TRY(stage_lower(k));
    TRY(stage_codelets(k));
    if (k->o.give_up) {
        TRY(stage_outlook(k));
        if (k->c->given_up)
            return EMU_OK;
    }
    TRY(stage_exchange(k));
    TRY(stage_place(k));
    TRY(stage_emit(k));
    return stage_memory_report(k);
}

/* ---- API ---- */

enum emu_status ss_graph_compile(struct graph *g, const struct compile_options *o,
                                 struct compiled **out)
{
    return graph_compile_with(g, o, NULL, out);
}

enum emu_status graph_compile_with(struct graph *g, const struct compile_options *o,
                                   struct schedule_store *store, struct compiled **out)
{
    struct compiler k = { .o = o ? *o : (struct compile_options){ 0 }, .store = store };
    enum emu_status s;

    *out = NULL;
    TRY(ss_graph_status(g));
    k.threads = parallel_threads(k.o.threads);
    k.c = emu_alloc(1, sizeof(*k.c));
    if (!k.c)
        return FAIL(NO_MEMORY, "compilation");
    k.c->graph = g;
    k.c->target = k.o.exchange;
    k.c->threads = k.threads;
    k.progress = progress_begin(k.o.progress);
    s = run_stages(&k);
    ss_free(k.code_bytes);
    if (s == EMU_OK)
        *out = k.c;
    else
        ss_compiled_free(k.c);
    return s;
}

static void free_advice(struct compiled *c)
{
    for (size_t i = 0; i < c->advices; i++)
        ss_free(c->advice[i]);
    ss_free(c->advice);
    c->advice = NULL;
    c->advices = 0;
}

enum emu_status compiled_set_advice(struct compiled *c, const char *const *line, size_t lines)
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

void ss_compiled_free(struct compiled *c)
{
    if (!c)
        return;
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
    return c && c->place.fits;
}

int compiled_given_up(const struct compiled *c)
{
    return c->given_up;
}

uint64_t ss_compiled_need_bytes(const struct compiled *c)
{
    return c && c->place.tiles ? c->place.tile[c->place.fullest].need_bytes : 0;
}

uint64_t ss_compiled_code_bytes(const struct compiled *c)
{
    return c && c->place.tiles ? c->place.tile[c->place.longest].code_need : 0;
}

const struct image *ss_compiled_image(const struct compiled *c)
{
    return c ? c->image : NULL;
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
