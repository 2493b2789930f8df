/* reduce_op.c - reductions over the first dimension and over all elements.
 *
 * First every tile reduces the rows it has. The results are partials: columns [begin, end) of a
 * partial result on a tile. Then come stages: tiles with partials of the same columns form groups,
 * and each member of a group reduces its share of the columns, until each column has only one
 * partial. */
#include <stdlib.h>
#include <string.h>

#include "programs/compiler/base/arena.h"
#include "programs/library/kernel/kernel_choice.h"
#include "programs/library/layout/plan_cost.h"
#include "programs/library/reduce/reduce_partials.h"

#define REDUCE_KERNELS(op)                                                                         \
    {                                                                                              \
        [ELEM_U8] = { KERNEL_NAME(reduce_##op##_u8), { 0 } },                                      \
        [ELEM_F16] = FLOAT_KERNELS(reduce_##op##_f16),                                             \
        [ELEM_F32] = { KERNEL_NAME(reduce_##op##_f32),                                             \
                       { [ELEM_F32] = KERNEL_ROW(reduce_##op##_f32_f32) } },                       \
        [ELEM_I32] = { KERNEL_NAME(reduce_##op##_i32), { 0 } },                                    \
        [ELEM_U32] = { KERNEL_NAME(reduce_##op##_u32), { 0 } },                                    \
    }
/* By the type of the operand; in a row by the type of the result. */
static const struct typed_kernels reduce[][ELEM_COUNT] = {
    [REDUCE_SUM] = REDUCE_KERNELS(sum),
    [REDUCE_MAX] = REDUCE_KERNELS(max),
    [REDUCE_SUMSQ] = REDUCE_KERNELS(sumsq),
};
static const struct typed_kernels total[] = {
    [REDUCE_SUM] = FLOAT_KERNELS(total_sum),
    [REDUCE_MAX] = FLOAT_KERNELS(total_max),
    [REDUCE_SUMSQ] = FLOAT_KERNELS(total_sumsq),
};

_Static_assert(EMU_COUNT_OF(reduce) == REDUCE_COUNT, "kernels of reductions");
_Static_assert(EMU_COUNT_OF(total) == REDUCE_COUNT, "kernels of totals");

/* A vertex to be added: reduces `parts` partials of the same columns to one, on a tile. */
struct reduce_job {
    size_t first, parts; /* in the list of partials */
    uint64_t begin, end; /* columns of these partials that it takes */
    uint32_t tile;
};

struct partial_list {
    VEC(struct reduce_partial);
};

struct reduction {
    struct graph *g;
    struct program seq;
    const char *name;
    enum reduce_op op; /* sum of squares only in the first stage */
    enum elem to;
    unsigned stage;
    struct reduce_plan plan; /* of the last group; the next group often has the same */
    size_t planned_count;
    uint64_t planned_columns;
    struct partial_list partial;
    VEC(struct reduce_job) job;
};

static int by_tile_and_columns(const void *a, const void *b)
{
    const struct reduce_partial *x = a, *y = b;

    if (x->tile != y->tile)
        return x->tile < y->tile ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Where operations take turns: on which tiles partials are decides no order of sums. */
static int by_columns_and_row(const void *a, const void *b)
{
    const struct reduce_partial *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_columns(const void *a, const void *b)
{
    const struct reduce_partial *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->tile != y->tile)
        return x->tile < y->tile ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* ---- one compute set ---- */

/* The job's columns of its partial k. */
static struct tensor job_columns(const struct reduction *r, const struct reduce_job *j, size_t k)
{
    const struct reduce_partial *p = &r->partial.at[j->first + k];

    return ss_tensor_slice(r->g, p->t, 0, (uint32_t)(j->begin - p->begin),
                           (uint32_t)(j->end - p->begin));
}

/* Those of all partials but `own`; of all, if there is none of this number. */
static struct tensor job_operand(struct reduction *r, const struct reduce_job *j, size_t own)
{
    struct tensor *part = emu_alloc(j->parts, sizeof(*part)), all;
    unsigned parts = 0;

    if (!part) {
        ss_graph_fail(r->g, EMU_NO_MEMORY, "%s: %zu partial results", r->name, j->parts);
        return r->partial.at[j->first].t;
    }
    for (size_t k = 0; k < j->parts; k++) {
        if (k != own)
            part[parts++] = job_columns(r, j, k);
    }
    all = ss_tensor_concat(r->g, part, parts, 0);
    ss_free(part);
    return all;
}

/* The one of a job's partials that lies on its tile, if that is better used where it is: a codelet
 * that gets all partials in one run would have it copied. Else j->parts. */
static size_t own_partial(const struct reduction *r, const struct reduce_job *j,
                          const struct codelet *codelet)
{
    uint32_t n = (uint32_t)(j->end - j->begin), p = (uint32_t)j->parts;
    const struct arch *a = ss_graph_arch(r->g);
    size_t own = j->parts, held = 0;

    for (size_t k = 0; k < j->parts; k++) {
        if (r->partial.at[j->first + k].tile != j->tile)
            continue;
        own = k;
        held++;
    }
    if (codelet != KERNEL_ROW(reduce_sum_f32_f32) || held != 1 || p < 2 || n % 2)
        return j->parts;
    if (KERNEL_CYCLES(reduce_own, KERNEL_ROW(reduce_own_f32), a, .partials = (p - 1) * n, .own = n,
                      .out = n, .p = p - 1) >
        KERNEL_CYCLES(reduce, codelet, a, .partials = p * n, .out = n, .p = p) +
            plan_copy_cycles(a, (uint64_t)n * sizeof(float)))
        return j->parts;
    return own;
}

/* The type of the jobs' results. */
static enum elem elem_after(const struct reduction *r)
{
    return ss_tensor_elem(r->g, r->partial.at[0].t) == ELEM_F16 ? r->to : ELEM_F32;
}

/* Adds the vertex of a job; its result is a new partial. */
static enum emu_status run_job(struct reduction *r, const struct reduce_job *j, uint32_t cs,
                               const struct codelet *codelet, struct tensor out,
                               struct partial_list *results)
{
    size_t own = own_partial(r, j, codelet);

    ss_graph_map(r->g, out, j->tile);
    if (own < j->parts)
        VERTEX(reduce_own_f32, r->g, cs, j->tile, .partials = job_operand(r, j, own),
               .own = job_columns(r, j, own), .out = out, .before = (uint32_t)own,
               .p = (uint32_t)(j->parts - 1 - own));
    else
        VERTEX_OF(reduce, codelet, r->g, cs, j->tile, .partials = job_operand(r, j, own),
                  .out = out, .p = (uint32_t)j->parts);
    return VEC_PUSH(results, (struct reduce_partial){ out, j->begin, j->end,
                                                      r->partial.at[j->first].row, j->tile });
}

/* Adds the jobs in one compute set; their results replace the partials. */
static enum emu_status run_jobs(struct reduction *r)
{
    uint64_t elements = 0, at = 0;
    struct partial_list results = { 0 };
    enum emu_status s = EMU_OK;
    const struct codelet *codelet;
    char name[64];
    struct tensor all;
    uint32_t cs, n;

    for (size_t i = 0; i < r->job.count; i++)
        elements += r->job.at[i].end - r->job.at[i].begin;
    n = (uint32_t)elements;
    if (elements > UINT32_MAX)
        return FAIL(BAD_PROGRAM, "%llu partial results", (unsigned long long)elements);
    snprintf(name, sizeof(name), "stage%u", r->stage++);
    codelet = kernel_of_type(r->g, &reduce[r->op][ss_tensor_elem(r->g, r->partial.at[0].t)],
                             elem_after(r));
    all = ss_graph_variable(r->g, elem_after(r), 1, &n, name);
    cs = op_compute_set(r->g, r->seq, name);
    for (size_t i = 0; i < r->job.count && s == EMU_OK; i++) {
        const struct reduce_job *j = &r->job.at[i];
        uint64_t end = at + j->end - j->begin;

        s = run_job(r, j, cs, codelet, ss_tensor_slice(r->g, all, 0, (uint32_t)at, (uint32_t)end),
                    &results);
        at = end;
    }
    VEC_FREE(&r->partial);
    r->partial = results;
    r->job.count = 0;
    r->op = r->op == REDUCE_SUMSQ ? REDUCE_SUM : r->op;
    return s;
}

/* ---- cuts ---- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Cuts one partial at the edges, which are sorted and include its own two. */
static enum emu_status cut_partial(struct reduction *r, const struct reduce_partial *p,
                                   const uint64_t *edge, size_t edges, struct partial_list *out)
{
    const uint64_t *e = bsearch(&p->begin, edge, edges, sizeof(*edge), by_value);

    for (uint64_t from = p->begin; from < p->end; e++) {
        struct tensor part;

        if (*e <= from)
            continue;
        part =
            ss_tensor_slice(r->g, p->t, 0, (uint32_t)(from - p->begin), (uint32_t)(*e - p->begin));
        TRY(VEC_PUSH(out, (struct reduce_partial){ part, from, *e, p->row, p->tile }));
        from = *e;
    }
    return EMU_OK;
}

/* Cuts partials [first, first + count) wherever one of them begins or ends, so that any two have
 * equal columns or none in common, and appends the results to out. */
static enum emu_status cut_partials(struct reduction *r, size_t first, size_t count,
                                    struct partial_list *out)
{
    const struct reduce_partial *p = r->partial.at + first;
    uint64_t *edge = emu_alloc(2 * count + 1, sizeof(*edge));
    enum emu_status s = EMU_OK;

    if (!edge)
        return FAIL(NO_MEMORY, "%zu partial results", count);
    for (size_t i = 0; i < count; i++) {
        edge[2 * i] = p[i].begin;
        edge[2 * i + 1] = p[i].end;
    }
    qsort(edge, 2 * count, sizeof(*edge), by_value);
    for (size_t i = 0; i < count && s == EMU_OK; i++)
        s = cut_partial(r, &p[i], edge, 2 * count, out);
    ss_free(edge);
    return s;
}

/* Replaces the partials by the sorted cut ones; if s is an error, frees those instead. */
static enum emu_status take_partials(struct reduction *r, struct partial_list *cut,
                                     enum emu_status s, int (*order)(const void *, const void *))
{
    if (s != EMU_OK) {
        VEC_FREE(cut);
        return s;
    }
    VEC_FREE(&r->partial);
    r->partial = *cut;
    qsort(r->partial.at, r->partial.count, sizeof(*r->partial.at), order);
    return EMU_OK;
}

/* ---- the first stage: rows of a tile ---- */

static enum emu_status add_rows(struct reduction *r, struct tensor flat, const struct tile_run *run,
                                uint32_t n)
{
    for (uint64_t e = run->begin; e < run->end;) {
        uint64_t row = e / n, stop = (row + 1) * n < run->end ? (row + 1) * n : run->end;

        TRY(VEC_PUSH(&r->partial, (struct reduce_partial){
                                      ss_tensor_slice(r->g, flat, 0, (uint32_t)e, (uint32_t)stop),
                                      e - row * n, stop - row * n, row, run->tile }));
        e = stop;
    }
    return EMU_OK;
}

/* Turns the rows of every part into partials, cut so that on a tile any two have equal columns or
 * none in common. */
static enum emu_status rows_of_tiles(struct reduction *r, const struct tile_parts *parts,
                                     struct tensor t)
{
    struct tensor flat = ss_tensor_flatten(r->g, t);
    struct partial_list cut = { 0 };
    enum emu_status s = EMU_OK;

    for (size_t i = 0; i < parts->count && s == EMU_OK; i++) {
        const struct tile_part *part = &parts->at[i];
        size_t first = r->partial.count;

        for (uint32_t k = 0; k < part->runs && s == EMU_OK; k++)
            s = add_rows(r, flat, &parts->run[part->first + k], ss_tensor_shape(r->g, t)[1]);
        if (s == EMU_OK)
            s = cut_partials(r, first, r->partial.count - first, &cut);
    }
    return take_partials(r, &cut, s, by_tile_and_columns);
}

/* Whether all partials begin and end between words: others cost copies when they are sent. */
static int are_whole_words(const struct reduction *r)
{
    uint64_t edges = 0;

    for (size_t i = 0; i < r->partial.count; i++)
        edges |= r->partial.at[i].begin | r->partial.at[i].end;
    return ss_elem_bytes(ss_tensor_elem(r->g, r->partial.at[0].t)) * (edges & 1) % 4 == 0;
}

/* Whether the first stage would only copy or convert, because every tile has one row of each of its
 * columns. With more than one row another stage follows, which can read f16, too. */
static int has_nothing_local(const struct reduction *r, uint32_t rows)
{
    return rows > 1 && r->job.count == r->partial.count &&
           (elem_after(r) == ss_tensor_elem(r->g, r->partial.at[0].t) || are_whole_words(r));
}

static enum emu_status local_stage(struct reduction *r, struct tensor t)
{
    struct tile_parts parts;
    enum emu_status s;

    TRY(tile_parts_of(r->g, t, &parts));
    s = rows_of_tiles(r, &parts, t);
    tile_parts_free(&parts);
    TRY(s);
    for (size_t i = 0; i < r->partial.count; i++) {
        const struct reduce_partial *p = &r->partial.at[i];
        struct reduce_job *last = r->job.count ? &r->job.at[r->job.count - 1] : NULL;

        if (last && last->tile == p->tile && last->begin == p->begin && last->end == p->end)
            last->parts++;
        else
            TRY(VEC_PUSH(&r->job, (struct reduce_job){ i, 1, p->begin, p->end, p->tile }));
    }
    if (!has_nothing_local(r, ss_tensor_shape(r->g, t)[0]))
        return run_jobs(r);
    r->job.count = 0;
    return EMU_OK;
}

/* ---- stages between tiles ---- */

/* Adds jobs for a group of partials of the same columns, which its members share. If there are
 * fewer shares than members, those whose turn it is have them. */
static enum emu_status add_group(struct reduction *r, size_t first, size_t parts)
{
    const struct reduce_partial *p = &r->partial.at[first];
    uint64_t columns = p->end - p->begin;
    uint64_t share = plan_reduce_share(columns, parts, ss_tensor_elem(r->g, p->t));
    size_t shares = (size_t)((columns + share - 1) / share);
    size_t member = shares < parts ? ss_graph_first_tile(r->g, (uint32_t)shares) % parts : 0;

    for (size_t k = 0; k < shares; k++, member = (member + 1) % parts) {
        uint64_t begin = p->begin + k * share;
        uint64_t end = begin + share < p->end ? begin + share : p->end;

        TRY(VEC_PUSH(&r->job, (struct reduce_job){ first, parts, begin, end, p[member].tile }));
    }
    return EMU_OK;
}

/* Adds jobs for partials [first, first + count) of the same columns, in groups of the plan's first
 * fan-in. */
static enum emu_status add_groups(struct reduction *r, size_t first, size_t count)
{
    const struct reduce_partial *p = &r->partial.at[first];
    const struct arch *a = ss_graph_arch(r->g);
    size_t fan_in;

    if (count == 1)
        return VEC_PUSH(&r->job, (struct reduce_job){ first, 1, p->begin, p->end, p->tile });
    /* A tile may hold several of the partials that reduce_partials() was given. */
    if (count != r->planned_count || p->end - p->begin != r->planned_columns)
        TRY(plan_reduce(a, (uint32_t)count, p->end - p->begin, ss_tensor_elem(r->g, p->t),
                        count > a->tiles ? (uint32_t)count : a->tiles, &r->plan));
    r->planned_count = count;
    r->planned_columns = p->end - p->begin;
    fan_in = r->plan.stages ? r->plan.fan_in[0] : count; /* no stages: the chip has one tile */
    for (size_t i = 0; i < count; i += fan_in) {
        size_t parts = count - i < fan_in ? count - i : fan_in;

        TRY(add_group(r, first + i, parts));
    }
    return EMU_OK;
}

/* 1 when every column has one partial. */
static int is_done(const struct reduction *r)
{
    for (size_t i = 1; i < r->partial.count; i++) {
        if (r->partial.at[i].begin == r->partial.at[i - 1].begin)
            return 0;
    }
    return 1;
}

static enum emu_status tile_stages(struct reduction *r)
{
    for (;;) {
        struct partial_list cut = { 0 };

        TRY(take_partials(r, &cut, cut_partials(r, 0, r->partial.count, &cut),
                          ss_graph_takes_turns(r->g) ? by_columns_and_row : by_columns));
        if (is_done(r))
            return EMU_OK;
        for (size_t i = 0, k; i < r->partial.count; i = k) {
            for (k = i + 1;
                 k < r->partial.count && r->partial.at[k].begin == r->partial.at[i].begin;)
                k++;
            TRY(add_groups(r, i, k - i));
        }
        TRY(run_jobs(r));
    }
}

static struct tensor join_partials(struct reduction *r)
{
    struct tensor *part = emu_alloc(r->partial.count, sizeof(*part)), all = r->partial.at[0].t;

    if (!part) {
        ss_graph_fail(r->g, EMU_NO_MEMORY, "%s: %zu partial results", r->name, r->partial.count);
        return all;
    }
    for (size_t i = 0; i < r->partial.count; i++)
        part[i] = r->partial.at[i].t;
    all = ss_tensor_concat(r->g, part, (unsigned)r->partial.count, 0);
    ss_free(part);
    return all;
}

/* Adds stages until each column has one partial. Returns the result, by columns. */
static struct tensor finish(struct reduction *r)
{
    struct tensor any = r->partial.at[0].t;
    enum emu_status s = tile_stages(r);

    if (s == EMU_OK)
        return join_partials(r);
    ss_graph_fail(r->g, s, "%s: %s", r->name, ss_error());
    return any;
}

struct tensor ss_op_reduce(struct graph *g, struct program seq, enum reduce_op op, struct tensor t,
                           enum elem to, const char *name)
{
    /* Everything stays f32 until the end. */
    struct reduction r = {
        .g = g,
        .seq = seq,
        .name = name,
        .op = op,
        .to = ss_tensor_elem(g, t) == ELEM_F16 ? to : ELEM_F32,
    };
    enum emu_status s = ss_graph_status(g);
    struct tensor out = t;

    if (s == EMU_OK && (ss_tensor_rank(g, t) != 2 || !ss_tensor_elements(g, t)))
        s = FAIL(BAD_PROGRAM,
                 "expected a matrix that is not empty, got %u dimensions and %llu elements",
                 ss_tensor_rank(g, t), (unsigned long long)ss_tensor_elements(g, t));
    ss_graph_push(g, name);
    if (s == EMU_OK)
        s = local_stage(&r, t);
    if (s == EMU_OK)
        s = ss_graph_status(g);
    if (s == EMU_OK)
        out = finish(&r);
    else
        ss_graph_fail(g, s, "%s: %s", name, ss_error());
    if (ss_graph_status(g) == EMU_OK && ss_tensor_elem(g, out) != to)
        out = ss_op_cast(g, seq, out, to, "cast");
    ss_graph_pop(g);
    VEC_FREE(&r.partial);
    VEC_FREE(&r.job);
    return out;
}

struct tensor reduce_partials(struct graph *g, struct program seq, enum reduce_op op,
                              const struct reduce_partial *partial, size_t partials,
                              const char *name)
{
    struct reduction r = { .g = g, .seq = seq, .name = name, .op = op, .to = ELEM_F32 };
    struct tensor out = partial[0].t;
    enum emu_status s = ss_graph_status(g);

    ss_graph_push(g, name);
    for (size_t i = 0; i < partials && s == EMU_OK; i++) {
        s = VEC_PUSH(&r.partial, partial[i]);
        if (s == EMU_OK)
            r.partial.at[i].row = i; /* keeps their order on a tile that has several */
    }
    if (s == EMU_OK)
        out = finish(&r);
    else
        ss_graph_fail(g, s, "%s: %s", name, ss_error());
    ss_graph_pop(g);
    VEC_FREE(&r.partial);
    VEC_FREE(&r.job);
    return out;
}

/* ---- all elements ---- */

/* Adds a vertex for each part of t, of a codelet that leaves one value per worker. Returns the
 * results [parts * workers], each on the tile of its part. */
static struct tensor per_worker(struct graph *g, const struct tile_parts *s, enum elem e,
                                const char *name)
{
    uint32_t workers = ss_graph_arch(g)->workers, n = (uint32_t)s->count * workers;
    struct tensor t = ss_graph_variable(g, e, 1, &n, name);

    for (size_t i = 0; i < s->count; i++)
        ss_graph_map(g,
                     ss_tensor_slice(g, t, 0, (uint32_t)i * workers, (uint32_t)(i + 1) * workers),
                     s->at[i].tile);
    return t;
}

struct tensor ss_op_total(struct graph *g, struct program seq, enum reduce_op op, struct tensor t,
                          const char *name)
{
    const struct codelet *codelet;
    struct tile_parts s;
    struct tensor partial = t;
    uint32_t workers, cs;
    enum emu_status st = tile_parts_of(g, t, &s);

    if (st != EMU_OK) {
        ss_graph_fail(g, st, "%s: %s", name, ss_error());
        return t;
    }
    workers = ss_graph_arch(g)->workers;
    ss_graph_push(g, name);
    codelet = kernel_of_type(g, &total[op], ss_tensor_elem(g, t));
    partial = per_worker(g, &s, ELEM_F32, "workers");
    cs = op_compute_set(g, seq, "workers");
    for (size_t i = 0; i < s.count; i++)
        VERTEX_OF(total, codelet, g, cs, s.at[i].tile, .x = tile_part_take(g, &s, i, t),
                  .out = ss_tensor_slice(g, partial, 0, (uint32_t)i * workers,
                                         (uint32_t)(i + 1) * workers));
    partial =
        ss_tensor_reshape(g, partial, 2, (const uint32_t[]){ (uint32_t)s.count * workers, 1 });
    tile_parts_free(&s);
    partial =
        ss_op_reduce(g, seq, op == REDUCE_SUMSQ ? REDUCE_SUM : op, partial, ELEM_F32, "tiles");
    ss_graph_pop(g);
    return partial;
}
