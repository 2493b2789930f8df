/* train_bill.c - which pass of a step every superstep is: by the node for which it was made, and,
 * within a function that is several blocks, by the node of the call. */
#include "models/train/train_bill.h"

#include <string.h>

#include "emu/base/alloc.h"
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

static int ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && !strcmp(text + n - m, end);
}

/* The pass of a node, by the names that gradients (op_gradient.h) and blocks computed again
 * (recompute.h) have. */
static enum train_pass pass_of_node(const struct op_node *n)
{
    return op_node_is(n, OP_ParameterUpdate) ? PASS_UPDATE
           : ends_with(n->name, ".back")     ? PASS_DATA
           : ends_with(n->name, ".again")    ? PASS_AGAIN
                                             : PASS_FORWARD;
}

/* By scope: those of nodes (lowered_group.scope) and those in them. What belongs to no node is done
 * for parameters. The caller frees it. */
static enum emu_status passes_of_scopes(const struct train_chip *t, uint8_t **out)
{
    static const struct {
        const char *name; /* of a scope, at the end of its path */
        enum train_pass pass;
    } named[] = { { "weights", PASS_WEIGHTS },
                  { "accumulate", PASS_ACCUMULATE },
                  { "host", PASS_HOST } };
    const struct lowered_network *n = t->system.program.network;
    const struct graph *g = compiled_graph(t->system.program.compiled);
    uint32_t scopes = graph_scopes(g);
    uint8_t *pass = emu_alloc(scopes + 1, sizeof(*pass)), *is_node = emu_alloc(scopes + 1, 1);

    *out = pass;
    if (!pass || !is_node) {
        emu_free(is_node);
        return FAIL(NO_MEMORY, "passes of %u scopes", scopes);
    }
    pass[0] = PASS_UPDATE;
    for (uint32_t k = 0; k < n->groups.count; k++) {
        pass[n->group[k].scope] = (uint8_t)pass_of_node(&n->graph->node[n->groups.at[k].node[0]]);
        is_node[n->group[k].scope] = 1;
    }
    for (uint32_t s = 1; s < scopes; s++) {
        const char *path = graph_scope_path(g, s), *slash = strrchr(path, '/');

        if (!is_node[s])
            pass[s] = pass[graph_scope_parent(g, s)];
        for (unsigned k = 0; k < EMU_COUNT_OF(named) && !is_node[s]; k++) {
            if (!strcmp(slash ? slash + 1 : path, named[k].name))
                pass[s] = (uint8_t)named[k].pass;
        }
    }
    emu_free(is_node);
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

/* Adds a superstep, whose steps are step[0] to step[count - 1]. */
static void add_superstep(const struct trace_step *step, size_t count, const struct bill *cost,
                          const uint8_t *pass, struct train_bill *out)
{
    enum train_pass p = count ? pass_of_step(&step[0], pass) : PASS_UPDATE;
    uint64_t most = 0;

    for (size_t i = count; i--;) {
        most = step[i].max_tile_bytes > most ? step[i].max_tile_bytes : most;
        if (step[i].kind == TRACE_COMPUTE)
            p = pass_of_step(&step[i], pass);
    }
    out->pass[p].supersteps++;
    out->pass[p].cycles += cost->total;
    out->pass[p].exchange += cost->exchange;
    out->pass[p].compute += cost->compute;
    if (most > out->pass[p].max_tile_bytes)
        out->pass[p].max_tile_bytes = most;
    out->cycles += cost->total;
}

static size_t supersteps_of(const struct trace_step *step, size_t steps)
{
    return steps ? (size_t)step[steps - 1].superstep + 1 : 0;
}

enum emu_status train_bill_supersteps(const struct train_chip *t, size_t *out)
{
    struct trace_step *step;
    size_t steps;
    enum emu_status s = compiled_trace_of_zeros(t->system.program.compiled, &step, &steps);

    *out = s == EMU_OK ? supersteps_of(step, steps) : 0;
    emu_free(step);
    return s == EMU_USAGE ? EMU_OK : s; /* more steps than a trace has: no bill */
}

/* Whether so many of the tiles that compute are recorded. */
static int has_supersteps(const struct record *r, size_t supersteps)
{
    size_t found = 0;

    for (size_t i = 0; r && i < record_count(r); i++)
        found += !record_at(r, i)->group;
    return r && found >= supersteps;
}

/* What IO tiles send when the others, with their last superstep, have done the step. */
static void add_rest(const struct record *r, size_t last, struct train_bill *out)
{
    uint64_t end = record_at(r, last)->end, latest = end;

    for (size_t i = 0; i < record_count(r) && (i <= last || record_at(r, i)->group); i++)
        latest = record_at(r, i)->end > latest ? record_at(r, i)->end : latest;
    out->pass[PASS_HOST].cycles += latest - end;
    out->cycles += latest - end;
}

enum emu_status train_bill_of(const struct train_chip *t, struct train_bill *out)
{
    const struct record *r = session_record(t->system.session);
    struct trace_step *step = NULL;
    uint8_t *pass = NULL;
    size_t steps, supersteps, at = 0;
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    s = compiled_trace_of_zeros(t->system.program.compiled, &step, &steps);
    if (s != EMU_OK)
        return s == EMU_USAGE ? EMU_OK : s;
    supersteps = supersteps_of(step, steps);
    if (has_supersteps(r, supersteps))
        s = passes_of_scopes(t, &pass);
    for (size_t i = 0, n = 0; s == EMU_OK && pass && n < supersteps; i++) {
        struct bill cost;
        size_t begin = at;

        if (record_at(r, i)->group) /* IO tiles: meanwhile */
            continue;
        cost = bill_of_step(r, i);
        while (at < steps && step[at].superstep == n)
            at++;
        add_superstep(step + begin, at - begin, &cost, pass, out);
        if (++n == supersteps)
            add_rest(r, i, out);
    }
    emu_free(pass);
    emu_free(step);
    return s;
}
