/* classic.c - what the classic BSP programs share (classic.h). */
#include "programs/lab/classic/classic.h"

#include <math.h>
#include <string.h>

enum emu_status classic_new(void **state, struct classic **out)
{
    *state = *out = emu_alloc(1, sizeof(**out));
    return *out ? EMU_OK : FAIL(NO_MEMORY, "a classic program");
}

/* ---- sizes ---- */

uint32_t classic_tiles(struct graph *g, uint64_t asked, uint32_t most)
{
    uint32_t tiles = ss_graph_arch(g)->tiles;

    if (!asked)
        return tiles < most ? tiles : most;
    if (asked > tiles)
        ss_graph_fail(g, EMU_USAGE, "p is %llu, but the machine has %u tiles",
                      (unsigned long long)asked, tiles);
    return asked > tiles ? 1 : (uint32_t)asked;
}

enum emu_status classic_two_tiles(const struct graph *g, uint32_t p)
{
    TRY(ss_graph_status(g));
    return p > 1 ? EMU_OK : FAIL(USAGE, "this program needs 2 tiles, it has %u", p);
}

uint32_t classic_power(uint32_t n)
{
    uint32_t power = 1;

    while (power <= n / 2)
        power *= 2;
    return power;
}

uint32_t classic_log2(uint32_t n)
{
    uint32_t log = 0;

    while (log < 31 && 1u << log < n)
        log++;
    return log;
}

/* ---- tensors ---- */

struct tensor classic_blocks(struct graph *g, enum elem e, uint32_t tiles, uint32_t n,
                             const char *name)
{
    const uint32_t shape[2] = { tiles, n };
    struct tensor t = ss_graph_variable(g, e, 2, shape, name);

    for (uint32_t i = 0; i < tiles; i++)
        ss_graph_map(g, ss_tensor_index(g, t, i), i);
    ss_graph_keep(g, t);
    return t;
}

struct tensor classic_on_tile(struct graph *g, enum elem e, uint32_t tile, uint32_t n,
                              const char *name)
{
    struct tensor t = ss_graph_variable(g, e, 1, &n, name);

    ss_graph_map(g, t, tile);
    ss_graph_keep(g, t);
    return t;
}

struct tensor classic_part(struct graph *g, struct tensor blocks, uint32_t first, uint32_t end)
{
    return ss_tensor_flatten(g, ss_tensor_slice(g, blocks, 0, first, end));
}

/* ---- the host's side ---- */

static void add_data(struct graph *g, struct classic_data *list, unsigned *count, struct tensor t,
                     void *data, double bound)
{
    if (!data || *count == CLASSIC_TENSORS) {
        ss_graph_fail(g, EMU_NO_MEMORY, "the numbers of a classic program");
        ss_free(data);
        return;
    }
    list[(*count)++] = (struct classic_data){ t, data, bound };
}

void classic_input(struct graph *g, struct classic *c, struct tensor t, void *data)
{
    add_data(g, c->in, &c->ins, t, data, 0);
}

void classic_result(struct graph *g, struct classic *c, struct tensor t, void *data, double bound)
{
    add_data(g, c->want, &c->wants, t, data, bound);
}

void classic_note(struct classic *c, const char *name, uint64_t value)
{
    EMU_ASSERT(c->notes < CLASSIC_NOTES);
    c->note[c->notes].name = name;
    c->note[c->notes++].value = value;
}

uint32_t *classic_integers(uint64_t n, uint64_t seed, uint32_t limit)
{
    uint32_t *x = emu_alloc(n, sizeof(*x));
    uint64_t state = seed * HASH_STEP + 1;

    for (uint64_t i = 0; x && i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (uint32_t)((state >> 32) * limit >> 32);
    }
    return x;
}

float *classic_floats(uint64_t n, uint64_t seed)
{
    return lab_numbers(n, seed, 3);
}

enum emu_status classic_before(struct session *s, void *state)
{
    struct classic *c = state;

    for (unsigned i = 0; i < c->ins; i++)
        TRY(ss_session_write(s, c->in[i].t, c->in[i].data));
    return EMU_OK;
}

static enum emu_status compare_bits(const uint32_t *got, const uint32_t *want, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if (got[i] != want[i])
            return FAIL(FAULT, "result %llu is %u, plain C says %u", (unsigned long long)i, got[i],
                        want[i]);
    }
    return EMU_OK;
}

static enum emu_status compare_numbers(const float *got, const float *want, uint64_t n,
                                       double bound)
{
    for (uint64_t i = 0; i < n; i++) {
        if (!(fabs((double)got[i] - (double)want[i]) <= bound))
            return FAIL(FAULT, "result %llu is %.9g, plain C says %.9g: expected at most %g apart",
                        (unsigned long long)i, (double)got[i], (double)want[i], bound);
    }
    return EMU_OK;
}

static enum emu_status compare(struct session *s, const struct classic_data *d, uint64_t *results)
{
    const struct graph *g = ss_session_graph(s);
    uint64_t n = ss_tensor_elements(g, d->t);
    void *got = emu_alloc(n, sizeof(uint32_t));
    enum emu_status st = got ? ss_session_read(s, d->t, got) : FAIL(NO_MEMORY, "the results");

    if (st == EMU_OK)
        st = ss_tensor_elem(g, d->t) == ELEM_F32 ? compare_numbers(got, d->data, n, d->bound)
                                                 : compare_bits(got, d->data, n);
    ss_free(got);
    *results += n;
    return st;
}

enum emu_status classic_after(struct session *s, void *state, json_t *answer)
{
    struct classic *c = state;
    uint64_t results = 0;

    for (unsigned i = 0; i < c->notes; i++)
        json_object_set_new(answer, c->note[i].name, json_integer((json_int_t)c->note[i].value));
    for (unsigned i = 0; i < c->wants; i++)
        TRY(compare(s, &c->want[i], &results));
    json_object_set_new(answer, "results", json_integer((json_int_t)results));
    return EMU_OK;
}

void classic_done(void *state)
{
    struct classic *c = state;

    for (unsigned i = 0; c && i < c->ins; i++)
        ss_free(c->in[i].data);
    for (unsigned i = 0; c && i < c->wants; i++)
        ss_free(c->want[i].data);
    ss_free(c);
}

/* ---- codelets ---- */

void classic_codelet(struct graph *g, const char *name, const struct own_field *field,
                     unsigned fields)
{
    char path[80];
    const char *const file = path;
    const struct own_codelet c = { name,  &file,  1, CODELET_MULTI,
                                   field, fields, 0, classic_meaning(name) };

    snprintf(path, sizeof(path), "programs/lab/codelet/%s.S", name);
    ss_graph_add_codelet(g, &c);
}
