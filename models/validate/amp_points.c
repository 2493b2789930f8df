/* amp_points.c - one call of a matrix codelet on a tile of Bow, for each size that was measured on
 * a chip: [n, 16] x [16, 16], f16, sums in f16. */
#include "models/validate/amp_points.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "emu/arch/arch.h"
#include "emu/base/alloc.h"
#include "emu/job/case_run.h"
#include "emu/profile/bill.h"
#include "programs/programs.h"

static const struct point {
    uint32_t positions;
    double cycles;
} silicon[] = {
#define POINT(positions, cycles) { positions, cycles },
#include "models/validate/amp_silicon.def"
#undef POINT
};

enum {
    POINTS = EMU_COUNT_OF(silicon),
    OUR_POINTS = 12, /* up to 736 positions; plans give a call of ours at most 768 */
    CHANNELS = 16,
    WORKERS = 6,
    POSITION_CYCLES = 24
};

/* ---- our kernel: a graph with one vertex ---- */

static struct tensor on_tile(struct graph *g, uint32_t n, const char *name)
{
    struct tensor t = ss_graph_variable(g, ELEM_F16, 1, &n, name);

    ss_graph_map(g, t, 0);
    ss_graph_keep(g, t);
    return t;
}

static enum emu_status build_ours(struct graph *g, uint32_t n, unsigned calls)
{
    uint32_t cs = ss_graph_compute_set(g, "product");
    uint32_t v = ss_graph_vertex(g, cs, "matmul_f16", 0);
    struct program program = ss_program_sequence(g);

    ss_vertex_connect(g, v, "in", on_tile(g, n * CHANNELS, "in"));
    ss_vertex_connect(g, v, "out", on_tile(g, n * CHANNELS, "out"));
    ss_vertex_connect(g, v, "weights", on_tile(g, CHANNELS * CHANNELS, "weights"));
    ss_vertex_set_u32(g, v, "kb", 1);
    ss_vertex_set_u32(g, v, "nb", 1);
    ss_vertex_set_u32(g, v, "f", n);
    for (unsigned i = 0; i < calls; i++)
        ss_program_add(g, program, ss_program_execute(g, cs));
    ss_graph_set_program(g, program);
    return ss_graph_status(g);
}

static enum emu_status run_graph(struct graph *g, uint64_t *cycles)
{
    const struct session_options o = { .record = 1 };
    struct compiled *c = NULL;
    struct session *s = NULL;
    enum emu_status st = ss_graph_compile(g, &(struct compile_options){ 0 }, &c);

    if (st == EMU_OK)
        st = ss_session_new(c, &o, &s);
    if (st == EMU_OK)
        st = ss_session_run(s);
    if (st == EMU_OK)
        *cycles = ss_bill_of_group(ss_session_record(s), 0).compute;
    ss_session_free(s);
    ss_compiled_free(c);
    return st;
}

/* A program with one call or two. */
static enum emu_status run_calls(uint32_t n, unsigned calls, uint64_t *cycles)
{
    struct arch a = *ss_arch_preset("bow");
    struct graph *g = NULL;
    enum emu_status s;

    TRY(ss_arch_set(&a, "tiles=2"));
    TRY(ss_graph_new(&a, &ss_kernel_library, &g));
    s = build_ours(g, n, calls);
    if (s == EMU_OK)
        s = run_graph(g, cycles);
    ss_graph_free(g);
    return s;
}

/* What a second call adds: the start of a program is not the codelet's. */
static enum emu_status run_ours(const char *poplibs, uint32_t n, uint64_t *cycles)
{
    uint64_t one, two;

    (void)poplibs;
    TRY(run_calls(n, 1, &one));
    TRY(run_calls(n, 2, &two));
    *cycles = two - one;
    return EMU_OK;
}

/* ---- the kernel that was measured: a case ---- */

/* Of every worker: its first position, its positions less 3, its first position again; offsets in
 * units of 8 bytes. */
static json_t *worklist(uint32_t n)
{
    json_t *list = json_array();
    uint32_t at = 0;

    for (uint32_t w = 0; w < WORKERS; w++) {
        uint32_t mine = n / WORKERS + (w < n % WORKERS);

        json_array_append_new(list, json_integer(4 * at));
        json_array_append_new(list, json_integer((mine - 3) & 0xffff));
        json_array_append_new(list, json_integer(4 * at));
        at += mine;
    }
    return list;
}

#define POPLIBS_KERNEL "__runCodelet_poplin__ConvPartial1x1Out___half_half_true_true_16_4_false"
#define POPLIBS_FILE   "lib/poplin/codelets/asm/conv_partial_1x1_half_float_8_and_half_half_h16.S"

/* 128-bit loads of weights, 16 units, stochastic rounding left as it is. The state ends with:
 * groups less 1, groups of outputs less 1, groups of inputs, stride, outputs, output stride. */
static json_t *poplibs_case(const char *poplibs, uint32_t n)
{
    return json_pack("{s:s, s:o, s:s, s:s,"
                     " s:[{s:s, s:i, s:i, s:i}, {s:s, s:i, s:i}, {s:s, s:i, s:i},"
                     "    {s:s, s:i, s:o}, {s:s, s:i, s:s}, {s:s, s:i, s:s}, {s:s, s:i, s:[s, s]}],"
                     " s:[s, s, s, s, {s:[i, i, i, i, i, i]}]}",
                     "machine", "bow", "source", json_sprintf("%s/" POPLIBS_FILE, poplibs), "entry",
                     POPLIBS_KERNEL, "as", "supervisor", "memory", "name", "in", "region", 0,
                     "align", 16, "bytes", (int)n * 32, "name", "out", "align", 16, "bytes",
                     (int)n * 32, "name", "w", "align", 16, "bytes", 512, "name", "worklist",
                     "region", 0, "u16", worklist(n), "name", "ins", "region", 0, "u32", "in",
                     "name", "outs", "region", 0, "u32", "out", "name", "ws", "region", 0, "u32",
                     "w", "w", "state", "ins", "ws", "outs", "worklist", "u16", 0, 0, 1, 1,
                     CHANNELS, 1);
}

static enum emu_status run_case(struct manifest *m, uint64_t *cycles)
{
    const struct case_options o = { .messages = stderr };
    struct case_run *r = NULL;
    enum emu_status s = case_build(m, &o, &r);

    if (s == EMU_OK)
        s = case_load(r);
    if (s == EMU_OK) {
        case_execute(r);
        *cycles = r->cycles;
        if (case_verdict(r, 0) != CASE_PASS)
            s = FAIL(FAULT, "%s: the codelet does not end", POPLIBS_FILE);
    }
    case_run_free(r);
    return s;
}

static enum emu_status run_poplibs(const char *poplibs, uint32_t n, uint64_t *cycles)
{
    json_t *o = poplibs_case(poplibs, n);
    const struct manifest_options options = { .machine = NULL };
    char *text = o ? json_dumps(o, 0) : NULL;
    struct manifest *m = NULL;
    enum emu_status s;

    json_decref(o);
    if (!text)
        return FAIL(NO_MEMORY, "a case");
    s = ss_manifest_read_text(text, strlen(text), "a call of PopLibs' 1x1 convolution", &options,
                              &m);
    if (s == EMU_OK)
        s = run_case(m, cycles);
    ss_manifest_free(m);
    free(text);
    return s;
}

/* ---- what is compared ---- */

/* Through the first n sizes. */
static void fit_line(const double *y, size_t n, struct amp_fit *out)
{
    double mx = 0, my = 0, xx = 0, xy = 0;

    for (size_t i = 0; i < n; i++) {
        mx += silicon[i].positions / (double)n;
        my += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (silicon[i].positions - mx) * (silicon[i].positions - mx);
        xy += (silicon[i].positions - mx) * (y[i] - my);
    }
    out->slope = xy / xx;
    out->call = my - out->slope * mx;
}

static unsigned class_of(size_t i)
{
    return silicon[i].positions % WORKERS / 2;
}

static void compare_classes(const double *y, struct amp_fit *out)
{
    double off[AMP_CLASSES] = { 0 }, count[AMP_CLASSES] = { 0 };

    for (size_t i = 0; i < POINTS; i++) {
        unsigned k = class_of(i);

        out->beside[k] += y[i] - POSITION_CYCLES * ceil(silicon[i].positions / (double)WORKERS);
        off[k] += silicon[i].cycles - y[i];
        count[k]++;
    }
    for (size_t i = 0; i < POINTS; i++) {
        unsigned k = class_of(i);

        out->farthest = fmax(out->farthest, fabs(silicon[i].cycles - y[i] - off[k] / count[k]));
    }
    for (unsigned k = 0; k < AMP_CLASSES; k++)
        out->beside[k] /= count[k];
}

enum emu_status amp_fit_make(enum amp_kernel kernel, const char *poplibs, struct amp_fit *out)
{
    double cycles[POINTS];

    *out = (struct amp_fit){ .made = 1 };
    for (size_t i = 0; i < POINTS; i++) {
        uint64_t n = 0;

        TRY((kernel == AMP_OURS ? run_ours : run_poplibs)(poplibs, silicon[i].positions, &n));
        cycles[i] = (double)n;
    }
    fit_line(cycles, kernel == AMP_OURS ? OUR_POINTS : POINTS, out);
    compare_classes(cycles, out);
    return EMU_OK;
}
