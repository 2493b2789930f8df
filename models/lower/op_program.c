/* op_program.c - plans, builds and compiles; again for less memory if the result does not fit. */
#include "models/lower/op_attempt.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "emu/arch/arch.h"
#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "models/lower/block_parameters.h"
#include "programs/compiler/report/count_text.h"

/* How often a network is compiled at most; the least reduction from one attempt to the next, one
 * RESERVE_STEPS-th of a tile's memory; and the bytes of a tile that plans allow for code whether it
 * takes them or not, which are no reason to give up. */
enum { ATTEMPTS_MAX = 4, RESERVE_STEPS = 64, ALLOWED_BYTES = 64 * 1024 };

int op_plans_hopeless(const struct conv_plans *p, const struct arch *a)
{
    return !p->fits && p->peak_bytes >= OP_HOPELESS * (uint64_t)a->mem_bytes + ALLOWED_BYTES;
}

/* ---- attempts ---- */

enum emu_status op_attempt_lower(const struct fitting *f, const struct lowering_attempt *t,
                                 struct op_program *p)
{
    const struct op_program_options *o = f->o;
    struct lower_options lower = o->lower;

    lower.reserve_bytes += t->reserve;
    lower.least_memory = t->room == ROOM_MOST;
    TRY(ss_graph_new(f->a, &ss_kernel_library, &p->graph));
    TRY(ss_prefetch_reserve(p->graph, &lower.loop.link));
    return op_lower(p->graph, f->og, &lower, &p->network);
}

void op_attempt_report(const struct op_program *p, struct progress *progress)
{
    const struct conv_plans *plans = &p->network->plans;

    if (p->network->calls)
        progress_report(progress, "blocks", "%u blocks are calls of %u functions",
                        p->network->calls, p->network->functions);
    progress_report(progress, "graph",
                    "%u layers on %s tiles; parameters of %u of %u convolutions fetched, %s bytes "
                    "a tile stay; expected: at most %s bytes",
                    p->network->groups.count, count_text(ss_graph_compute_tiles(p->graph)).at,
                    plans->fetched, plans->convs, count_text(plans->resident_bytes).at,
                    count_text(plans->peak_bytes).at);
}

static int is_worth_compiling(const struct fitting *f, const struct lowering_attempt *t,
                              const struct conv_plans *plans)
{
    switch (t->room) {
    case ROOM_AS_EXPECTED:
        return !(f->o->give_up || f->o->outlook) || !op_plans_hopeless(plans, f->a);
    case ROOM_MOST:
        return t->to_the_end || plans->peak_bytes < f->base_peak;
    default: /* a larger reserve that leads to the same plans does not help */
        return plans->fits && (t->to_the_end || plans->cycles != f->base_cycles ||
                               plans->peak_bytes - t->reserve != f->base_peak);
    }
}

void op_attempt_note(struct fitting *f, struct lowering_attempt *t, const struct op_program *p)
{
    const struct conv_plans *plans = &p->network->plans;

    t->need = compiled_own_need_bytes(p->compiled);
    f->compiled++;
    f->base = *t;
    f->base_peak = plans->peak_bytes - t->reserve;
    f->base_cycles = plans->cycles;
    if (f->compiled == 1 || t->need < f->best.need)
        f->best = *t;
}

/* Sets t->need. p->compiled is NULL when the plans are not worth it. */
static enum emu_status try_attempt(struct fitting *f, struct lowering_attempt *t,
                                   struct op_program *p)
{
    struct progress progress = progress_begin(f->o->compile.progress);
    struct compile_options compile = f->o->compile;
    const struct conv_plans *plans;

    t->need = UINT64_MAX;
    TRY(op_attempt_lower(f, t, p));
    plans = &p->network->plans;
    op_attempt_report(p, &progress);
    if (!is_worth_compiling(f, t, plans))
        return EMU_OK;
    if (f->code_must_fit)
        compile.give_up |= GIVE_UP_CODE;
    if (f->o->outlook || (plans->fits && !t->to_the_end))
        compile.give_up |= GIVE_UP_MEMORY;
    TRY(graph_compile_with(p->graph, &compile, f->o->schedules, &p->compiled));
    op_attempt_note(f, t, p);
    return EMU_OK;
}

void op_attempt_forget(struct op_program *p)
{
    ss_compiled_free(p->compiled);
    op_lower_free(p->network);
    ss_graph_free(p->graph);
    *p = (struct op_program){ .alike = p->alike };
}

static int code_fits(const struct arch *a, const struct op_program *p)
{
    return !p->compiled || ss_compiled_code_bytes(p->compiled) <= a->region0_bytes;
}

/* What comes after an attempt that does not fit. A reserve as large as the error of the expectation
 * is tried first, since a smaller one does not change plans that were expected to leave room. If no
 * plans leave that much, smaller ones are tried. Returns 0 when nothing is left to try. */
int op_attempt_next(const struct fitting *f, struct lowering_attempt *t)
{
    uint64_t memory = f->a->mem_bytes, step = memory / RESERVE_STEPS;
    int was_compiled = t->need != UINT64_MAX;

    if (t->room == ROOM_MOST)
        return 0;
    if (was_compiled && f->compiled + 1 < ATTEMPTS_MAX)
        *t = (struct lowering_attempt){ .room = ROOM_FOR_ERROR,
                                        .reserve = f->base.need - f->base_peak + step };
    else if (!was_compiled && t->room == ROOM_FOR_ERROR)
        *t = (struct lowering_attempt){ .room = ROOM_FOR_MISSING,
                                        .reserve = f->base.reserve + f->base.need - memory + step };
    else
        *t = (struct lowering_attempt){ .room = ROOM_MOST };
    return 1;
}

static int is_compiled_to_the_end(const struct op_program *p)
{
    return p->compiled && !compiled_given_up(p->compiled);
}

/* Nothing fits: compiles the program that needs least, because that one is reported. */
static enum emu_status build_best(struct fitting *f, const struct lowering_attempt *last,
                                  struct op_program *p)
{
    struct lowering_attempt best = f->best;

    p->need_bytes = best.need;
    if (f->o->outlook || (is_compiled_to_the_end(p) && last->need <= best.need))
        return EMU_OK;
    op_attempt_forget(p);
    emu_trim();
    best.to_the_end = 1;
    TRY(try_attempt(f, &best, p));
    p->need_bytes = best.need;
    return EMU_OK;
}

/* Whether there is nothing to mend, or no other attempt would mend it. */
static int is_settled(const struct fitting *f, const struct lowering_attempt *t,
                      const struct op_program *p)
{
    if (!p->compiled)
        return !f->compiled;
    return t->need <= f->a->mem_bytes || (f->code_must_fit && !code_fits(f->a, p)) ||
           (f->compiled == 1 && !p->network->plans.fits);
}

static enum emu_status build_to_fit(const struct arch *a, const struct op_graph *og,
                                    const struct op_program_options *o, int code_must_fit,
                                    struct op_program *p)
{
    struct fitting f = { .a = a, .og = og, .o = o, .code_must_fit = code_must_fit };
    struct lowering_attempt t = { .room = ROOM_AS_EXPECTED };

    for (;;) {
        struct progress progress;

        TRY(try_attempt(&f, &t, p));
        if (is_settled(&f, &t, p)) {
            p->need_bytes = p->compiled ? t.need : p->network->plans.peak_bytes;
            return EMU_OK;
        }
        if (!op_attempt_next(&f, &t))
            return build_best(&f, &t, p);
        progress = progress_begin(o->compile.progress);
        progress_report(&progress, "again", "%s bytes more than there are: planned for %s",
                        count_text(f.base.need - a->mem_bytes).at,
                        t.room == ROOM_MOST ? "as little as possible" : "less");
        op_attempt_forget(p);
        emu_trim();
    }
}

/* ---- blocks that are alike ---- */

/* The graph with parameters of blocks that are alike as states; *out NULL: there are none. */
enum emu_status op_attempt_alike(const struct op_graph *og, enum elem real, struct op_graph **out)
{
    struct op_graph *g = emu_alloc(1, sizeof(*g));
    struct op_value *value = emu_alloc(og->values + 1, sizeof(*value));
    enum emu_status s = g && value ? EMU_OK : FAIL(NO_MEMORY, "a network");
    uint32_t blocks = 0;

    *out = NULL;
    if (s == EMU_OK) {
        *g = *og;
        memcpy(value, og->value, og->values * sizeof(*value));
        g->value = value;
        s = block_parameters_to_states(g, real, &blocks);
    }
    if (blocks) {
        *out = g;
        return s;
    }
    ss_free(value);
    ss_free(g);
    return s;
}

static void alike_free(struct op_graph *g)
{
    if (g)
        ss_free(g->value);
    ss_free(g);
}

/* As o->lower.share_blocks says. */
static enum emu_status build_shared(const struct arch *a, const struct op_graph *og,
                                    struct op_program_options o, struct op_program *p)
{
    enum lower_sharing share = o.lower.share_blocks;
    struct progress progress;

    if (share == SHARE_ALIKE || share == SHARE_AUTO) {
        o.lower.share_blocks = SHARE_NONE;
        TRY(op_attempt_alike(og, o.lower.real, &p->alike));
    }
    if (!p->alike)
        return build_to_fit(a, og, &o, 0, p);
    if (share == SHARE_AUTO) {
        TRY(build_to_fit(a, og, &o, 1, p));
        if (code_fits(a, p))
            return EMU_OK;
        progress = progress_begin(o.compile.progress);
        progress_report(
            &progress, "again", "%s bytes of code, of %s: blocks that are alike become functions",
            count_text(ss_compiled_code_bytes(p->compiled)).at, count_text(a->region0_bytes).at);
        op_attempt_forget(p);
    }
    o.lower.share_blocks = SHARE_EQUAL;
    return build_to_fit(a, p->alike, &o, 0, p);
}

enum emu_status op_program_new(const struct arch *a, const struct op_graph *og,
                               const struct op_program_options *o, struct op_program *out)
{
    struct op_program_options mine = *o;
    enum emu_status s = EMU_OK;

    memset(out, 0, sizeof(*out));
    if (!o->schedules)
        s = schedule_store_new("", &mine.schedules);
    if (s == EMU_OK)
        s = build_shared(a, og, mine, out);
    if (!o->schedules)
        schedule_store_free(mine.schedules);
    if (s != EMU_OK)
        op_program_free(out);
    return s;
}

void op_program_free(struct op_program *p)
{
    op_attempt_forget(p);
    alike_free(p->alike);
    memset(p, 0, sizeof(*p));
}

/* ---- numbers ---- */

struct gradient_name op_gradient_name(const char *parameter)
{
    struct gradient_name name;

    snprintf(name.at, sizeof(name.at), "gradient of %s", parameter);
    return name;
}

static void pack(enum elem e, double v, void *at)
{
    struct fp_env env = { 0 };
    float f = (float)v;
    int32_t i = e == ELEM_U32 ? (int32_t)(uint32_t)v : e == ELEM_I32 ? (int32_t)v : 0;
    uint16_t h;

    if (e == ELEM_F16) {
        h = fp_f16_from_f64(v, 0, &env);
        memcpy(at, &h, sizeof(h));
    } else if (e == ELEM_F32) {
        memcpy(at, &f, sizeof(f));
    } else if (e == ELEM_U8) {
        *(uint8_t *)at = (uint8_t)v;
    } else {
        memcpy(at, &i, sizeof(i));
    }
}

static double unpack(enum elem e, const void *at)
{
    struct fp_env env = { 0 };
    uint32_t word = 0;
    float f;

    memcpy(&word, at, ss_elem_bytes(e));
    if (e == ELEM_I32)
        return (double)(int32_t)word;
    if (e == ELEM_F16)
        word = fp_f16_to_f32((uint16_t)word, &env);
    memcpy(&f, &word, sizeof(f));
    return (double)f;
}

static double largest_of(enum elem e)
{
    return e == ELEM_F16   ? 65504
           : e == ELEM_F32 ? (double)FLT_MAX
           : e == ELEM_U32 ? (double)UINT32_MAX
           : e == ELEM_U8  ? UINT8_MAX
                           : (double)INT32_MAX;
}

/* Where element k of [n][c][h][w] is in [n][h][w][lanes]. */
static uint64_t pixel_at(const struct op_shape *s, unsigned lanes, uint64_t k)
{
    uint64_t plane = (uint64_t)s->dim[2] * s->dim[3], c = k / plane % s->dim[1];

    return (k / plane / s->dim[1] * plane + k % plane) * lanes + c;
}

enum emu_status op_numbers_pack(enum elem e, unsigned lanes, const char *name,
                                const struct op_tensor *t, uint8_t **out, uint64_t *bytes)
{
    uint64_t n = op_shape_count(&t->shape), size = ss_elem_bytes(e);

    for (uint64_t i = 0; i < n; i++) {
        double v = op_tensor_number(t, i);

        if (isfinite(v) && fabs(v) > largest_of(e))
            return FAIL(USAGE, "input %s: %g is beyond the range of %s", name, v, ss_elem_name(e));
    }
    *bytes = (lanes ? n / t->shape.dim[1] * lanes : n) * size;
    *out = emu_alloc(*bytes + 1, 1);
    if (!*out)
        return FAIL(NO_MEMORY, "%s", name);
    for (uint64_t i = 0; i < n; i++)
        pack(e, op_tensor_number(t, i), *out + (lanes ? pixel_at(&t->shape, lanes, i) : i) * size);
    return EMU_OK;
}

enum emu_status op_numbers_unpack(enum elem e, const void *data, const struct op_shape *shape,
                                  struct op_tensor *out)
{
    const uint8_t *at = data;

    TRY(op_tensor_new(shape, out));
    for (uint64_t i = 0; i < op_shape_count(shape); i++) {
        double v = unpack(e, at + i * ss_elem_bytes(e));

        if (op_type_kind(shape->type) == OP_KIND_FLOAT)
            out->f[i] = v;
        else
            out->i[i] = (int64_t)v;
    }
    return EMU_OK;
}

static enum emu_status elements_of(const struct op_program *p, uint32_t k,
                                   const struct op_tensor *t, uint8_t **out)
{
    const struct lowered_value *in = &p->network->in[k];
    uint64_t bytes;

    return op_numbers_pack(in->elem, in->lanes, in->name, t, out, &bytes);
}

enum emu_status op_pixels_pack(const struct op_tensor *t, uint8_t **out, uint64_t *bytes)
{
    return op_numbers_pack(ELEM_F16, 4, "of pictures", t, out, bytes);
}

enum emu_status op_program_write(const struct op_program *p, struct session *s, uint32_t k,
                                 const struct op_tensor *t)
{
    enum emu_status st;
    uint8_t *data;

    TRY(elements_of(p, k, t, &data));
    st = ss_session_write(s, p->network->in[k].view, data);
    ss_free(data);
    return st;
}

/* Whether the host writes the first transfers of a run into the memory of IO tiles. */
static int is_written_ahead(const struct lowered_network *n)
{
    return n->loop.times && n->loop.link.tiles && n->loop.link.depth;
}

static enum emu_status describe_input(const struct op_program *p, const struct lowered_value *in)
{
    if (in->is_edge)
        return EMU_OK;
    if (!in->is_streamed)
        return ss_compiled_add_input(p->compiled, in->view, in->name, NULL);
    return is_written_ahead(p->network)
               ? ss_compiled_add_input(p->compiled, in->raw, in->name, NULL)
               : EMU_OK;
}

static enum emu_status describe_state(const struct op_program *p, const struct lowered_value *in)
{
    TRY(ss_compiled_add_input(p->compiled, in->view, in->name, NULL));
    return ss_compiled_add_output(p->compiled, in->view, in->name);
}

static int is_state(const struct op_program *p, const struct lowered_value *in)
{
    return p->network->graph->value[in->value].kind == OP_STATE;
}

/* Whether an output is a state, or what becomes of one: it is read as the state. */
static int is_of_state(const struct op_graph *g, uint32_t value)
{
    for (uint32_t k = 0; k < g->updates; k++) {
        if (g->update[k].value == value)
            return 1;
    }
    return g->value[value].kind == OP_STATE;
}

static enum emu_status describe_output(const struct op_program *p, const struct lowered_value *out)
{
    return out->is_streamed || out->is_edge || is_of_state(p->network->graph, out->value)
               ? EMU_OK
               : ss_compiled_add_output(p->compiled, out->view, out->name);
}

static enum emu_status describe_gradient(const struct op_program *p, const struct lowered_value *v)
{
    struct gradient_name name = op_gradient_name(v->name);

    return ss_compiled_add_output(p->compiled, v->view, name.at);
}

enum emu_status op_program_describe(const struct op_program *p)
{
    const struct lowered_network *n = p->network;

    for (uint32_t k = 0; k < n->graph->inputs; k++) {
        if (!is_state(p, &n->in[k]))
            TRY(describe_input(p, &n->in[k]));
    }
    for (uint32_t k = 0; k < n->graph->outputs; k++)
        TRY(describe_output(p, &n->out[k]));
    return EMU_OK;
}

enum emu_status op_program_describe_states(const struct op_program *p)
{
    const struct lowered_network *n = p->network;

    for (uint32_t k = 0; k < n->graph->inputs; k++) {
        if (is_state(p, &n->in[k]))
            TRY(describe_state(p, &n->in[k]));
    }
    for (uint32_t k = 0; k < n->gradients; k++)
        TRY(describe_gradient(p, &n->gradient[k]));
    return EMU_OK;
}

enum emu_status op_program_read_value(const struct op_program *p, struct session *s,
                                      const struct lowered_value *o, struct op_tensor *out)
{
    const struct op_shape *shape = &p->network->graph->value[o->value].shape;
    uint8_t *data = emu_alloc(op_shape_count(shape) + 1, ss_elem_bytes(o->elem));
    enum emu_status st;

    memset(out, 0, sizeof(*out));
    if (!data)
        return FAIL(NO_MEMORY, "%s", o->name);
    st = ss_session_chip_read(s, p->chip, o->view, data);
    if (st == EMU_OK)
        st = op_numbers_unpack(o->elem, data, shape, out);
    ss_free(data);
    return st;
}

enum emu_status op_program_read(const struct op_program *p, struct session *s, uint32_t k,
                                struct op_tensor *out)
{
    return op_program_read_value(p, s, &p->network->out[k], out);
}
