/* classic_sort.c - sorting: by exchanges with neighbours, and by samples. */
#include "programs/lab/classic/classic.h"

#include <stdlib.h>
#include <string.h>

static int by_number(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

    return a < b ? -1 : a > b;
}

static uint32_t *sorted(const uint32_t *x, uint64_t n)
{
    uint32_t *out = emu_alloc(n, sizeof(*out));

    if (out && x) {
        memcpy(out, x, n * sizeof(*out));
        qsort(out, n, sizeof(*out), by_number);
    }
    return out;
}

enum { WORKERS = 6 };

/* A sort of one vector on each of some tiles: first the parts of its workers, then all of it. */
struct sorting {
    uint32_t parts, merge; /* compute sets */
};

static void add_sort_codelets(struct graph *g)
{
    CLASSIC_CODELET(g, "sort_part_u32", TAKES("x", U32), GIVES("out", U32), LENGTH_OF("n", "x"),
                    NUMBER("part"));
    CLASSIC_CODELET(g, "merge_u32", TAKES("x", U32), GIVES("rank", U32), GIVES("out", U32),
                    LENGTH_OF("n", "x"), NUMBER("part"));
}

static struct sorting sorting_new(struct graph *g, const char *name)
{
    return (struct sorting){ ss_graph_compute_set(g, name), ss_graph_compute_set(g, "merge") };
}

static struct tensor scratch(struct graph *g, uint32_t n, uint32_t tile, const char *name)
{
    struct tensor t = ss_graph_variable(g, ELEM_U32, 1, &n, name);

    ss_graph_map(g, t, tile);
    return t;
}

static void add_sort(struct graph *g, const struct sorting *s, struct tensor x, struct tensor out,
                     uint32_t tile)
{
    uint32_t n = (uint32_t)ss_tensor_elements(g, x), part = (n + WORKERS - 1) / WORKERS;
    uint32_t v = ss_graph_vertex(g, s->parts, "sort_part_u32", tile);
    struct tensor parts = scratch(g, n, tile, "parts");

    ss_vertex_connect(g, v, "x", x);
    ss_vertex_connect(g, v, "out", parts);
    ss_vertex_set_u32(g, v, "part", part);
    v = ss_graph_vertex(g, s->merge, "merge_u32", tile);
    ss_vertex_connect(g, v, "x", parts);
    ss_vertex_connect(g, v, "rank", scratch(g, n, tile, "rank"));
    ss_vertex_connect(g, v, "out", out);
    ss_vertex_set_u32(g, v, "part", part);
}

static void sorting_run(struct graph *g, struct program seq, const struct sorting *s)
{
    ss_program_add(g, seq, ss_program_execute(g, s->parts));
    ss_program_add(g, seq, ss_program_execute(g, s->merge));
}

static void sort_rows(struct graph *g, struct program seq, struct tensor x, struct tensor out)
{
    struct sorting s = sorting_new(g, "local_sort");

    for (uint32_t i = 0; i < ss_tensor_shape(g, x)[0]; i++)
        add_sort(g, &s, ss_tensor_index(g, x, i), ss_tensor_index(g, out, i), i);
    sorting_run(g, seq, &s);
}

/* ---- odd-even transposition ---- */

static const struct program_param odd_even_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all, at most 64" },
    { "n", 48, 1, 2048, "numbers of a tile" },
};

static void add_keep(struct graph *g, uint32_t cs, struct tensor from, struct tensor to,
                     uint32_t tile, uint32_t other)
{
    uint32_t v = ss_graph_vertex(g, cs, "keep_u32", tile);

    ss_vertex_connect(g, v, "mine", ss_tensor_index(g, from, tile));
    ss_vertex_connect(g, v, "other", ss_tensor_index(g, from, other));
    ss_vertex_connect(g, v, "out", ss_tensor_index(g, to, tile));
    ss_vertex_set_u32(g, v, "high", tile > other);
}

/* Tiles first and first + 1, first + 2 and first + 3 .. share what they have; the others keep
 * theirs. */
static struct program share_round(struct graph *g, struct tensor from, struct tensor to,
                                  uint32_t first)
{
    uint32_t p = ss_tensor_shape(g, from)[0], cs = ss_graph_compute_set(g, first ? "odd" : "even");
    struct program seq = ss_program_sequence(g);

    for (uint32_t i = 0; i < p; i++) {
        uint32_t other = i < first ? p : (i - first) % 2 ? i - 1 : i + 1;

        if (other < p)
            add_keep(g, cs, from, to, i, other);
        else
            ss_program_add(
                g, seq, ss_program_copy(g, ss_tensor_index(g, from, i), ss_tensor_index(g, to, i)));
    }
    ss_program_add(g, seq, ss_program_execute(g, cs));
    return seq;
}

static enum emu_status odd_even_build(struct graph *g, const uint64_t *value, void **state)
{
    uint32_t p = classic_tiles(g, value[0], 64), n = (uint32_t)value[1];
    struct program seq = ss_program_sequence(g), both = ss_program_sequence(g);
    struct tensor x, here, there;
    struct classic *c;
    uint32_t *data;

    TRY(classic_two_tiles(g, p));
    TRY(classic_new(state, &c));
    add_sort_codelets(g);
    CLASSIC_CODELET(g, "keep_u32", TAKES("mine", U32), TAKES("other", U32), GIVES("out", U32),
                    NUMBER("high"), LENGTH_OF("n", "mine"));
    x = classic_blocks(g, ELEM_U32, p, n, "x");
    here = classic_blocks(g, ELEM_U32, p, n, "here");
    there = classic_blocks(g, ELEM_U32, p, n, "there");
    sort_rows(g, seq, x, here);
    ss_program_add(g, both, share_round(g, here, there, 0));
    ss_program_add(g, both, share_round(g, there, here, 1));
    ss_program_add(g, seq, ss_program_repeat(g, (p + 1) / 2, both));
    ss_graph_set_program(g, seq);
    data = classic_integers((uint64_t)p * n, 5, 1000000);
    classic_result(g, c, here, sorted(data, (uint64_t)p * n), 0);
    classic_input(g, c, x, data);
    classic_note(c, "p", p);
    classic_note(c, "rounds", (p + 1) / 2 * 2);
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_odd_even, "odd-even-sort", "sorting by exchanges with neighbours",
                odd_even_param, odd_even_build, NULL);

/* ---- sample sort ---- */

static const struct program_param sample_param[] = {
    { "p", 0, 0, 64, "tiles; 0: all, at most 16" },
    { "n", 48, 8, 1024, "numbers of a tile" },
    { "samples", 4, 1, 64, "of every tile" },
    { "room", 0, 0, 1024, "numbers that a tile can send to another; 0: as many as needed" },
};

enum { SAMPLE_N = 1, SAMPLES, SAMPLE_ROOM };

struct sample_sizes {
    uint32_t p, n, samples, room;
};

/* What plain C does to see how full the buckets get. taken: [p][n], sorted row by row here. */
static uint32_t fullest_bucket(const struct sample_sizes *z, uint32_t *x, uint32_t *sample)
{
    uint32_t most = 0, samples = z->p * z->samples;

    for (uint32_t t = 0; t < z->p; t++) {
        qsort(x + t * z->n, z->n, sizeof(*x), by_number);
        for (uint32_t i = 0; i < z->samples; i++)
            sample[t * z->samples + i] = x[t * z->n + i * z->n / z->samples];
    }
    qsort(sample, samples, sizeof(*sample), by_number);
    for (uint32_t t = 0; t < z->p; t++) {
        for (uint32_t b = 0, i = 0; b < z->p; b++) {
            uint32_t count = 0;

            while (i < z->n && (b + 1 == z->p || x[t * z->n + i] < sample[(b + 1) * z->samples]))
                i++, count++;
            most = count > most ? count : most;
        }
    }
    return most;
}

/* A room of 0 becomes what the fullest bucket needs. */
static enum emu_status check_room(struct sample_sizes *z, const uint32_t *data, uint32_t *fullest)
{
    uint32_t *x = emu_alloc((size_t)z->p * z->n, sizeof(*x));
    uint32_t *sample = emu_alloc((size_t)z->p * z->samples, sizeof(*sample));
    enum emu_status s = EMU_OK;

    if (x && sample && data) {
        memcpy(x, data, (size_t)z->p * z->n * sizeof(*x));
        *fullest = fullest_bucket(z, x, sample);
        z->room = z->room ? z->room : *fullest;
        if (*fullest > z->room)
            s = FAIL(USAGE,
                     "room is %u, but a tile has %u numbers for another: more room, or more "
                     "samples",
                     z->room, *fullest);
    } else {
        s = FAIL(NO_MEMORY, "a sample sort");
    }
    ss_free(x);
    ss_free(sample);
    return s;
}

/* Samples of all tiles on every tile, sorted by each of them for itself. */
static struct tensor all_samples(struct graph *g, struct program seq, const struct sample_sizes *z,
                                 struct tensor x)
{
    uint32_t m = z->p * z->samples;
    struct sorting s = sorting_new(g, "sort_samples");
    struct tensor taken = classic_blocks(g, ELEM_U32, z->p, z->samples, "taken");
    struct tensor out = classic_blocks(g, ELEM_U32, z->p, m, "samples");

    for (uint32_t i = 0; i < z->samples; i++) {
        uint32_t at = i * z->n / z->samples;

        ss_program_add(g, seq,
                       ss_program_copy(g, ss_tensor_slice(g, x, 1, at, at + 1),
                                       ss_tensor_slice(g, taken, 1, i, i + 1)));
    }
    for (uint32_t i = 0; i < z->p; i++)
        add_sort(g, &s, ss_tensor_flatten(g, taken), ss_tensor_index(g, out, i), i);
    sorting_run(g, seq, &s);
    return out;
}

static struct tensor all_buckets(struct graph *g, struct program seq, const struct sample_sizes *z,
                                 struct tensor x, struct tensor samples)
{
    uint32_t cs = ss_graph_compute_set(g, "buckets");
    struct tensor out = classic_blocks(g, ELEM_U32, z->p, z->p * z->room, "buckets");

    for (uint32_t i = 0; i < z->p; i++) {
        uint32_t v = ss_graph_vertex(g, cs, "buckets_u32", i);

        ss_vertex_connect(g, v, "x", ss_tensor_index(g, x, i));
        ss_vertex_connect(g, v, "samples", ss_tensor_index(g, samples, i));
        ss_vertex_connect(g, v, "out", ss_tensor_index(g, out, i));
        ss_vertex_set_u32(g, v, "k", z->p);
        ss_vertex_set_u32(g, v, "room", z->room);
        ss_vertex_set_u32(g, v, "each", z->samples);
    }
    ss_program_add(g, seq, ss_program_execute(g, cs));
    return out;
}

/* Bucket i of all tiles goes to tile i, which sorts what it gets. */
static struct tensor sort_buckets(struct graph *g, struct program seq, const struct sample_sizes *z,
                                  struct tensor buckets)
{
    struct sorting s = sorting_new(g, "sort_buckets");
    struct tensor out = classic_blocks(g, ELEM_U32, z->p, z->p * z->room, "sorted");

    for (uint32_t i = 0; i < z->p; i++)
        add_sort(
            g, &s,
            ss_tensor_flatten(g, ss_tensor_slice(g, buckets, 1, i * z->room, (i + 1) * z->room)),
            ss_tensor_index(g, out, i), i);
    sorting_run(g, seq, &s);
    return out;
}

/* What tile i must have: the numbers between its splitters, and then room that is empty. */
static uint32_t *sorted_buckets(const struct sample_sizes *z, const uint32_t *data)
{
    uint32_t m = z->p * z->room, samples = z->p * z->samples, total = z->p * z->n, i = 0;
    uint32_t *x = sorted(data, total), *sample = emu_alloc(samples, sizeof(*sample));
    uint32_t *rows = emu_alloc(total, sizeof(*rows)),
             *out = emu_alloc((size_t)m * z->p, sizeof(*out));

    if (x && sample && rows && out && data) {
        memcpy(rows, data, total * sizeof(*rows));
        fullest_bucket(z, rows, sample);
        memset(out, 0xff, (size_t)m * z->p * sizeof(*out));
        for (uint32_t b = 0; b < z->p; b++) {
            for (uint32_t k = 0;
                 i < total && (b + 1 == z->p || x[i] < sample[(b + 1) * z->samples]); k++)
                out[(size_t)b * m + k] = x[i++];
        }
    }
    ss_free(x);
    ss_free(sample);
    ss_free(rows);
    return out;
}

static enum emu_status sample_build(struct graph *g, const uint64_t *value, void **state)
{
    struct sample_sizes z = { classic_tiles(g, value[0], 16), (uint32_t)value[SAMPLE_N],
                              (uint32_t)value[SAMPLES], (uint32_t)value[SAMPLE_ROOM] };
    uint32_t *data = classic_integers((uint64_t)z.p * z.n, 6, 1000000), fullest = 0;
    struct program seq = ss_program_sequence(g);
    struct tensor x, local, samples, out;
    enum emu_status s;
    struct classic *c;

    s = check_room(&z, data, &fullest);
    if (s == EMU_OK)
        s = classic_new(state, &c);
    if (s != EMU_OK) {
        ss_free(data);
        return s;
    }
    add_sort_codelets(g);
    CLASSIC_CODELET(g, "buckets_u32", TAKES("x", U32), TAKES("samples", U32), GIVES("out", U32),
                    NUMBER("k"), NUMBER("room"), LENGTH_OF("n", "x"), LENGTH_OF("m", "samples"),
                    NUMBER("each"));
    x = classic_blocks(g, ELEM_U32, z.p, z.n, "x");
    local = classic_blocks(g, ELEM_U32, z.p, z.n, "local");
    sort_rows(g, seq, x, local);
    samples = all_samples(g, seq, &z, local);
    out = sort_buckets(g, seq, &z, all_buckets(g, seq, &z, local, samples));
    ss_graph_set_program(g, seq);
    classic_result(g, c, out, sorted_buckets(&z, data), 0);
    classic_input(g, c, x, data);
    classic_note(c, "p", z.p);
    classic_note(c, "fullest", fullest);
    classic_note(c, "room", z.room);
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_sample, "sample-sort", "sorting with splitters from samples", sample_param,
                sample_build, NULL);
