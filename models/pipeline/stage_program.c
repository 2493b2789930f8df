/* stage_program.c - the counted code of a stage. */
#include "models/pipeline/stage_program.h"

#include "emu/base/alloc.h"

/* What a stage does in a round: three bits for each phase. */
enum { PHASE_IS = 1, PHASE_F = 2, PHASE_B = 4, PHASE_BITS = 3 };

static uint64_t round_pattern(const struct pipeline_schedule *s, unsigned stage, uint32_t round)
{
    uint64_t pattern = 0;

    for (unsigned p = 0; p < s->phases; p++) {
        struct pipeline_work w = pipeline_work_at(s, stage, round, p);
        unsigned is = pipeline_has_phase(s, round, p) ? PHASE_IS : 0;

        is |= w.f != PIPELINE_NONE ? PHASE_F : 0;
        is |= w.b != PIPELINE_NONE ? PHASE_B : 0;
        pattern |= (uint64_t)is << (PHASE_BITS * p);
    }
    return pattern;
}

/* ---- exchanges ---- */

static void check_edge(struct graph *g, const struct pipeline_schedule *s, unsigned stage,
                       const struct stage_edge *e)
{
    if (e->from >= s->stages || e->to >= s->stages || e->from == e->to ||
        (e->from != stage && e->to != stage))
        ss_graph_fail(g, EMU_BAD_PROGRAM,
                      "an edge from stage %u to stage %u in the program of stage %u of %u", e->from,
                      e->to, stage, s->stages);
}

/* The exchange before a phase, and what follows when it has brought something. */
static struct program exchange_of_phase(struct graph *g, const struct pipeline_schedule *s,
                                        unsigned stage, unsigned phase,
                                        const struct stage_parts *parts, struct channel_use *use)
{
    struct program all = ss_program_sequence(g);
    unsigned n = 0;

    for (unsigned i = 0; i < parts->edges; i++) {
        if (pipeline_edge_phase(s, parts->edge[i].from, parts->edge[i].to) == phase)
            use[n++] = parts->edge[i].use;
    }
    ss_program_add(g, all, ss_program_exchange_chips(g, CHIPS_OF_REPLICA, use, n));
    for (unsigned i = 0; i < parts->edges; i++) {
        const struct stage_edge *e = &parts->edge[i];

        if (pipeline_edge_phase(s, e->from, e->to) == phase && e->to == stage && e->arrived)
            ss_program_add(g, all, *e->arrived);
    }
    return all;
}

static void make_exchanges(struct graph *g, const struct pipeline_schedule *s, unsigned stage,
                           const struct stage_parts *parts, uint32_t function[PIPELINE_PHASES])
{
    struct channel_use *use = emu_alloc(parts->edges + 1, sizeof(*use));
    char name[40];

    if (!use) {
        ss_graph_fail(g, EMU_NO_MEMORY, "an exchange of %u edges", parts->edges);
        return;
    }
    for (unsigned i = 0; i < parts->edges; i++)
        check_edge(g, s, stage, &parts->edge[i]);
    for (unsigned p = 0; p < s->phases && ss_graph_status(g) == EMU_OK; p++) {
        snprintf(name, sizeof(name), s->phases == 1 ? "exchange" : "exchange %u", p);
        function[p] = ss_graph_function(g, exchange_of_phase(g, s, stage, p, parts, use), name);
    }
    ss_free(use);
}

/* ---- rounds ---- */

static struct program round_program(struct graph *g, const struct pipeline_schedule *s,
                                    uint64_t pattern, const struct stage_parts *parts,
                                    const uint32_t *exchange)
{
    struct program all = ss_program_sequence(g);

    for (unsigned p = 0; p < s->phases; p++, pattern >>= PHASE_BITS) {
        if ((pattern & PHASE_IS) && s->stages > 1)
            ss_program_add(g, all, ss_program_call(g, exchange[p]));
        if (pattern & PHASE_F)
            ss_program_add(g, all, ss_program_call(g, parts->f));
        if (pattern & PHASE_B)
            ss_program_add(g, all, ss_program_call(g, parts->b));
    }
    return all;
}

struct program stage_program(struct graph *g, const struct pipeline_schedule *s, unsigned stage,
                             const struct stage_parts *parts)
{
    struct program all = ss_program_sequence(g);
    uint32_t exchange[PIPELINE_PHASES] = { 0 }, at[PIPELINE_SPANS], begin = 0;
    unsigned spans = pipeline_spans(s, at);

    if (s->stages > 1)
        make_exchanges(g, s, stage, parts, exchange);
    for (unsigned i = 0; i < spans && ss_graph_status(g) == EMU_OK; i++) {
        uint64_t pattern = round_pattern(s, stage, begin);
        struct program round;

        while (i + 1 < spans && round_pattern(s, stage, at[i]) == pattern)
            i++;
        round = round_program(g, s, pattern, parts, exchange);
        if (at[i] - begin > 1)
            round = ss_program_repeat(g, at[i] - begin, round);
        ss_program_add(g, all, round);
        begin = at[i];
    }
    return all;
}

/* ---- rings ---- */

static struct tensor as_row(struct graph *g, struct tensor t)
{
    const uint32_t shape[] = { 1, (uint32_t)ss_tensor_elements(g, t) };

    return ss_tensor_reshape(g, t, 2, shape);
}

struct stage_stash stage_stash_new(struct graph *g, uint32_t rows, enum elem e, uint32_t n,
                                   const char *name)
{
    struct stage_stash h = { 0 };

    ss_graph_push(g, name);
    h.put.rows = h.get.rows = rows;
    if (rows > 1) {
        h.put = ss_op_row_loop(g, rows, "put");
        h.get = ss_op_row_loop(g, rows, "get");
    }
    h.rows = ss_op_loop_rows(g, &h.put, e, 1, n, "rows");
    ss_graph_pop(g);
    return h;
}

void stage_stash_put(struct graph *g, struct program seq, const struct stage_stash *h,
                     struct tensor t, const char *name)
{
    if (h->put.rows == 1) {
        ss_program_add(g, seq,
                       ss_program_copy(g, as_row(g, t), ss_tensor_index(g, h->rows.all, 0)));
        return;
    }
    ss_op_row_put(g, seq, &h->put, &h->rows, as_row(g, t), name);
    ss_op_row_next(g, seq, &h->put, name);
}

struct tensor stage_stash_get(struct graph *g, struct program seq, const struct stage_stash *h,
                              const char *name)
{
    struct tensor row;

    if (h->get.rows == 1)
        return ss_tensor_flatten(g, h->rows.all);
    row = ss_op_row_get(g, seq, &h->get, &h->rows, name);
    ss_op_row_next(g, seq, &h->get, name);
    return ss_tensor_flatten(g, row);
}

/* One counter: where the next row will come is the oldest. */
struct tensor stage_ring(struct graph *g, uint32_t rows, struct tensor buffer, struct program seq,
                         struct program *arrived, const char *name)
{
    uint32_t n = (uint32_t)ss_tensor_elements(g, buffer);
    struct loop_rows all;
    struct row_loop loop;
    struct tensor row;

    *arrived = ss_program_sequence(g);
    if (rows == 1)
        return ss_tensor_flatten(g, buffer);
    ss_graph_push(g, name);
    loop = ss_op_row_loop(g, rows, "next");
    all = ss_op_loop_rows(g, &loop, ss_tensor_elem(g, buffer), 1, n, "rows");
    ss_op_row_put(g, *arrived, &loop, &all, as_row(g, buffer), "put");
    ss_op_row_next(g, *arrived, &loop, "next row");
    row = ss_op_row_get(g, seq, &loop, &all, "get");
    ss_graph_pop(g);
    return ss_tensor_flatten(g, row);
}
