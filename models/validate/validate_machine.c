/* validate_machine.c - exchange, sync, supersteps and host: small programs on whole machines, or
 * what the machine's fields say where nothing can be executed. */
#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "emu/base/alloc.h"
#include "emu/bsp/record.h"
#include "emu/job/run_image.h"
#include "emu/load/image.h"
#include "emu/profile/bill.h"
#include "models/validate/validate.h"
#include "programs/programs.h"

/* What is read of the command line. */
OPTION_READ(NUMBER, threads)

/* ---- programs in assembly, on all tiles ---- */

/* Every even tile sends a word to its neighbour, which looks for it at event 112. */
static const char one_word[] = //
    "{ \"machine\": \"c600\", \"programs\": [ { \"tiles\": \"all\","
    "  \"memory\": [ { \"name\": \"word\", \"bytes\": 4 } ], \"asm\": \""
    "#include <superstep/bsp.h>\\n"
    "\\t.supervisor\\n"
    "main:\\n"
    "\\tsync SYNC_CHIP\\n"
    "\\t.exchange TILE\\n"
    "\\t.if TILE % 2\\n"
    "\\t.receive word, 1, 112 - exch_delay(TILE - 1, TILE), TILE - 1\\n"
    "\\t.else\\n"
    "\\t.send word, 1, 112 - exch_delay(TILE, TILE + 1)\\n"
    "\\t.endif\\n"
    "\\t.endexchange\\n"
    "\\tsync SYNC_RECV\\n"
    "\\tsync SYNC_HOST\\n\" } ] }";

static const char two_syncs[] = //
    "{ \"machine\": \"mk1\", \"programs\": [ { \"tiles\": \"all\", \"asm\": \""
    "#include <superstep/bsp.h>\\n"
    "\\t.supervisor\\n"
    "main:\\n"
    "\\tsync SYNC_CHIP\\n"
    "\\tsync SYNC_CHIP\\n"
    "\\tsync SYNC_HOST\\n\" } ] }";

static enum emu_status run_image_of(const struct image *im, unsigned threads, struct run **out)
{
    const struct run_options o = { .threads = threads, .max_cycles = UINT64_MAX / 2 };
    enum emu_status s = ss_run_new(im, &o, out);

    if (s == EMU_OK)
        s = ss_run_execute(*out);
    if (s == EMU_OK && !ss_run_ended(*out)) {
        char *why = ss_run_stop_text(*out);

        s = FAIL(FAULT, "%s", why ? why : "the program did not end");
        ss_free(why);
    }
    return s;
}

/* Runs a manifest and hands its record to `read`. */
static enum emu_status run_text(const struct validation *v, const char *text,
                                void (*read)(const struct record *r, double value[2]),
                                double value[2])
{
    const struct manifest_options o = { .no_files = 1 };
    struct manifest *m = NULL;
    struct image *im = NULL;
    struct run *r = NULL;
    unsigned threads = (unsigned)option_threads(v->q);
    enum emu_status s = ss_manifest_read_text(text, strlen(text), "validate", &o, &m);

    if (s == EMU_OK)
        s = ss_manifest_build(m, threads, stderr, &im);
    if (s == EMU_OK)
        s = run_image_of(im, threads, &r);
    if (s == EMU_OK)
        read(r->record, value);
    ss_run_free(r);
    ss_image_free(im);
    ss_manifest_free(m);
    return s;
}

/* ---- exchange ---- */

/* Least and most cycles from the release to the word in memory. */
static void read_arrivals(const struct record *r, double value[2])
{
    const struct record_step *step = record_at(r, 1);

    value[0] = UINT32_MAX;
    value[1] = 0;
    for (uint32_t k = 0; k < step->tiles; k++) {
        uint32_t tile, cycles = record_tile_at(r, 1, k, &tile).exchange_cycles;

        if (tile % 2 == 0)
            continue;
        value[0] = cycles < value[0] ? cycles : value[0];
        value[1] = cycles > value[1] ? cycles : value[1];
    }
}

enum emu_status exchange_first(struct validation *v, struct outcome *o)
{
    double value[2];

    TRY(run_text(v, one_word, read_arrivals, value));
    o->value = value[0];
    return EMU_OK;
}

enum emu_status exchange_last(struct validation *v, struct outcome *o)
{
    double value[2];

    TRY(run_text(v, one_word, read_arrivals, value));
    o->value = value[1];
    return EMU_OK;
}

/* Here every word is exactly where the schedule has it: whatever is not, is a fault. */
enum emu_status exchange_longer(struct validation *v, struct outcome *o)
{
    (void)v;
    o->value = 0;
    return EMU_OK;
}

/* ---- sync ---- */

static void read_sync(const struct record *r, double value[2])
{
    value[0] = (double)ss_bill_of_step(r, 1).sync;
}

enum emu_status sync_chip(struct validation *v, struct outcome *o)
{
    double value[2];

    TRY(run_text(v, two_syncs, read_sync, value));
    o->value = value[0];
    return EMU_OK;
}

enum emu_status sync_chips(struct validation *v, struct outcome *o)
{
    (void)v;
    o->value = arch_sync_chips_cycles(ss_arch_preset("mk1"));
    return EMU_OK;
}

/* ---- supersteps ---- */

enum { SUPERSTEPS = 100 };

/* A loop of compute steps in which every tile stores one number. */
static enum emu_status build_loop(struct graph *g)
{
    uint32_t tiles = ss_graph_arch(g)->tiles, cs = ss_graph_compute_set(g, "store");
    struct tensor t = ss_graph_variable(g, ELEM_F32, 1, &tiles, "number");

    ss_graph_map_linear(g, t, 1, 1, 0, tiles);
    ss_graph_keep(g, t);
    for (uint32_t i = 0; i < tiles; i++) {
        uint32_t v = ss_graph_vertex(g, cs, "fill_f32", i);

        ss_vertex_connect(g, v, "out", ss_tensor_slice(g, t, 0, i, i + 1));
        ss_vertex_set_f32(g, v, "value", 1);
    }
    ss_graph_set_program(g, ss_program_repeat(g, SUPERSTEPS, ss_program_execute(g, cs)));
    return ss_graph_status(g);
}

static enum emu_status run_loop(const struct validation *v, struct graph *g, double *cycles)
{
    const struct session_options o = { .threads = (unsigned)option_threads(v->q) };
    const struct compile_options how = { .threads = (unsigned)option_threads(v->q) };
    struct compiled *c = NULL;
    struct session *s = NULL;
    enum emu_status st = ss_graph_compile(g, &how, &c);

    if (st == EMU_OK)
        st = ss_session_new(c, &o, &s);
    if (st == EMU_OK)
        st = ss_session_run(s);
    if (st == EMU_OK)
        *cycles = (double)ss_session_cycles(s) / SUPERSTEPS;
    ss_session_free(s);
    ss_compiled_free(c);
    return st;
}

enum emu_status superstep_overhead(struct validation *v, struct outcome *o)
{
    struct graph *g = NULL;
    enum emu_status s;

    TRY(ss_graph_new(ss_arch_preset("mk2"), &ss_kernel_library, &g));
    s = build_loop(g);
    if (s == EMU_OK)
        s = run_loop(v, g, &o->value);
    ss_graph_free(g);
    return s;
}

/* ---- host ---- */

enum emu_status host_link(struct validation *v, struct outcome *o)
{
    (void)v;
    o->value = arch_host_link_mbytes_per_s(ss_arch_preset("c600"));
    return EMU_OK;
}
