/* train_bill.c - which pass of a step every superstep is: by the node for which it was made, and,
 * within a function that is several blocks, by the node of the call. */
#include "models/train/train_bill.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "emu/base/name_text.h"
#include "emu/bsp/record.h"
#include "emu/profile/bill.h"

const char *train_pass_name(enum train_pass p)
{
    static const char *const name[] = {
#define PASS(id, name) [PASS_##id] = name,
#include "models/train/train_pass.def"
#undef PASS
    };

    return name[p];
}

/* The pass of a node, by the names that gradients (op_gradient.h) and blocks computed again
 * (recompute.h) have. */
static enum train_pass pass_of_node(const struct op_node *n)
{
    return op_node_is(n, OP_ParameterUpdate)   ? PASS_UPDATE
           : name_ends_with(n->name, ".back")  ? PASS_DATA
           : name_ends_with(n->name, ".again") ? PASS_AGAIN
                                               : PASS_FORWARD;
}

/* By scope: those of nodes (lowered_group.scope) and those in them. Work that belongs to no node is
 * done for parameters. The caller frees it. */
static enum emu_status passes_of_scopes(const struct train_chip *t, uint8_t **out)
{
    static const struct {
        const char *name; /* of a scope, at the end of its path */
        enum train_pass pass;
    } named[] = { { "weights", PASS_WEIGHTS },
                  { "accumulate", PASS_ACCUMULATE },
                  { "host", PASS_HOST } };
    const struct lowered_network *n = t->system.program.network;
    const struct graph *g = ss_compiled_graph(t->system.program.compiled);
    uint32_t scopes = ss_graph_scopes(g);
    uint8_t *pass = emu_alloc(scopes + 1, sizeof(*pass)), *is_node = emu_alloc(scopes + 1, 1);

    *out = pass;
    if (!pass || !is_node) {
        ss_free(is_node);
        return FAIL(NO_MEMORY, "passes of %u scopes", scopes);
    }
    pass[0] = PASS_UPDATE;
    for (uint32_t k = 0; k < n->groups.count; k++) {
        pass[n->group[k].scope] = (uint8_t)pass_of_node(&n->graph->node[n->groups.at[k].node[0]]);
        is_node[n->group[k].scope] = 1;
    }
    for (uint32_t s = 1; s < scopes; s++) {
        const char *path = ss_graph_scope_path(g, s), *slash = strrchr(path, '/');

        if (!is_node[s])
            pass[s] = pass[ss_graph_scope_parent(g, s)];
        for (unsigned k = 0; k < EMU_COUNT_OF(named) && !is_node[s]; k++) {
            if (!strcmp(slash ? slash + 1 : path, named[k].name))
                pass[s] = (uint8_t)named[k].pass;
        }
    }
    ss_free(is_node);
    return EMU_OK;
}

static enum train_pass pass_of_step(const struct trace_step *s, const uint8_t *pass)
{
    if (s->kind == TRACE_HOST)
        return PASS_HOST;
    return pass[s->call] == PASS_AGAIN && pass[s->scope] == PASS_FORWARD
               ? PASS_AGAIN
               : (enum train_pass)pass[s->scope];
}

static size_t supersteps_of(const struct trace_step *step, size_t steps)
{
    return steps ? (size_t)step[steps - 1].superstep + 1 : 0;
}

static enum emu_status passes_new(size_t supersteps, struct train_passes *p)
{
    p->supersteps = supersteps;
    p->pass = emu_alloc(supersteps + 1, sizeof(*p->pass));
    p->tile_bytes = emu_alloc(supersteps + 1, sizeof(*p->tile_bytes));
    return p->pass && p->tile_bytes ? EMU_OK : FAIL(NO_MEMORY, "%zu supersteps", supersteps);
}

void train_passes_free(struct train_passes *p)
{
    ss_free(p->pass);
    ss_free(p->tile_bytes);
    *p = (struct train_passes){ .pass = NULL };
}

/* A superstep, whose steps are step[0] to step[count - 1]. */
static void set_superstep(const struct trace_step *step, size_t count, const uint8_t *pass,
                          struct train_passes *out, size_t n)
{
    enum train_pass p = count ? pass_of_step(&step[0], pass) : PASS_UPDATE;
    uint64_t most = 0;

    for (size_t i = count; i--;) {
        most = step[i].max_tile_bytes > most ? step[i].max_tile_bytes : most;
        if (step[i].kind == TRACE_COMPUTE)
            p = pass_of_step(&step[i], pass);
    }
    out->pass[n] = (uint8_t)p;
    out->tile_bytes[n] = most;
}

static void set_supersteps(const struct trace_step *step, size_t steps, const uint8_t *pass,
                           struct train_passes *out)
{
    for (size_t n = 0, at = 0; n < out->supersteps; n++) {
        size_t begin = at;

        while (at < steps && step[at].superstep == n)
            at++;
        set_superstep(step + begin, at - begin, pass, out, n);
    }
}

enum emu_status train_passes_of(const struct train_chip *t, struct train_passes *out)
{
    struct trace_step *step = NULL;
    uint8_t *pass = NULL;
    size_t steps;
    enum emu_status s = ss_compiled_trace_of_zeros(system_compiled(&t->system), &step, &steps);

    *out = (struct train_passes){ .pass = NULL };
    if (s != EMU_OK)
        return s == EMU_USAGE ? EMU_OK : s; /* more steps than a trace has: no bill */
    s = passes_of_scopes(t, &pass);
    if (s == EMU_OK)
        s = passes_new(supersteps_of(step, steps), out);
    if (s == EMU_OK)
        set_supersteps(step, steps, pass, out);
    else
        train_passes_free(out);
    ss_free(pass);
    ss_free(step);
    return s;
}

/* ---- JSON: [pass, bytes, supersteps in a row that have both] each ---- */

enum { RUN_NUMBERS = 3, SUPERSTEPS_MAX = 1 << 24 };

json_t *train_passes_json(const struct train_passes *p)
{
    json_t *list = json_array();

    for (size_t n = 0, end; n < p->supersteps; n = end) {
        for (end = n + 1; end < p->supersteps && p->pass[end] == p->pass[n] &&
                          p->tile_bytes[end] == p->tile_bytes[n];)
            end++;
        json_array_append_new(list, json_pack("[iII]", (int)p->pass[n],
                                              (json_int_t)p->tile_bytes[n], (json_int_t)(end - n)));
    }
    return list;
}

/* A row of the list; 0: it is none. */
static int take_run(const json_t *row, uint64_t v[RUN_NUMBERS])
{
    return json_take_numbers(row, RUN_NUMBERS, v) && v[0] < PASSES && v[2] <= SUPERSTEPS_MAX;
}

/* Of all rows; more than there can be: one of them is none. */
static size_t count_supersteps(const json_t *list)
{
    size_t supersteps = 0;

    for (size_t i = 0; i < json_array_size(list) && supersteps <= SUPERSTEPS_MAX; i++) {
        uint64_t v[RUN_NUMBERS];

        supersteps =
            take_run(json_array_get(list, i), v) ? supersteps + (size_t)v[2] : SUPERSTEPS_MAX + 1;
    }
    return supersteps;
}

int train_passes_take(const json_t *o, struct train_passes *out)
{
    size_t supersteps = count_supersteps(o), at = 0;

    *out = (struct train_passes){ .pass = NULL };
    if (!json_is_array(o) || supersteps > SUPERSTEPS_MAX || passes_new(supersteps, out) != EMU_OK)
        return 0;
    for (size_t i = 0; i < json_array_size(o); i++) {
        uint64_t v[RUN_NUMBERS];

        for (EMU_ASSERT(take_run(json_array_get(o, i), v)); v[2]; v[2]--, at++) {
            out->pass[at] = (uint8_t)v[0];
            out->tile_bytes[at] = v[1];
        }
    }
    return 1;
}

/* ---- bills ---- */

static void add_superstep(const struct train_passes *p, size_t n, const struct bill *cost,
                          struct train_bill *out)
{
    struct pass_bill *to = &out->pass[p->pass[n]];

    to->supersteps++;
    to->cycles += cost->total;
    to->exchange += cost->exchange;
    to->compute += cost->compute;
    if (p->tile_bytes[n] > to->max_tile_bytes)
        to->max_tile_bytes = p->tile_bytes[n];
    out->cycles += cost->total;
}

/* Whether so many of the tiles that compute are recorded. */
static int has_supersteps(const struct record *r, size_t supersteps)
{
    size_t found = 0;

    for (size_t i = 0; r && i < record_count(r); i++)
        found += !record_at(r, i)->group;
    return r && found >= supersteps;
}

/* Adds the end of the step: IO tiles may still send after the last superstep of the compute tiles.
 */
static void add_rest(const struct record *r, size_t last, struct train_bill *out)
{
    uint64_t end = record_at(r, last)->end, latest = end;

    for (size_t i = 0; i < record_count(r) && (i <= last || record_at(r, i)->group); i++)
        latest = record_at(r, i)->end > latest ? record_at(r, i)->end : latest;
    out->pass[PASS_HOST].cycles += latest - end;
    out->cycles += latest - end;
}

void train_bill_of(const struct train_passes *p, const struct record *r, struct train_bill *out)
{
    memset(out, 0, sizeof(*out));
    if (!has_supersteps(r, p->supersteps))
        return;
    for (size_t i = 0, n = 0; n < p->supersteps; i++) {
        struct bill cost;

        if (record_at(r, i)->group) /* IO tiles: meanwhile */
            continue;
        cost = ss_bill_of_step(r, i);
        add_superstep(p, n, &cost, out);
        if (++n == p->supersteps)
            add_rest(r, i, out);
    }
}
