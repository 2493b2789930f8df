/* classic_physics.c - bodies that attract each other, passed round a ring; pi by throwing darts;
 * the Fourier transform with one transposition.
 */
#include "programs/lab/classic/classic.h"

#include <math.h>

/* ---- n bodies ---- */

static const struct program_param bodies_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all, at most 64" },
    { "n", 12, 1, 512, "bodies of a tile" },
};

static const float soft = 0.0625f;

/* Forces of those that are here, while the next ones come from the right-hand neighbour. */
static struct program bodies_step(struct graph *g, struct tensor mine, struct tensor here,
                                  struct tensor there, struct tensor force)
{
    uint32_t p = ss_tensor_shape(g, mine)[0], cs = ss_graph_compute_set(g, "forces");
    struct program seq = ss_program_sequence(g);
    struct tensor turned[2] = { ss_tensor_slice(g, here, 0, 1, p),
                                ss_tensor_slice(g, here, 0, 0, 1) };

    for (uint32_t i = 0; i < p; i++) {
        uint32_t v = ss_graph_vertex(g, cs, "forces_f32", i);

        ss_vertex_connect(g, v, "mine", ss_tensor_index(g, mine, i));
        ss_vertex_connect(g, v, "other", ss_tensor_index(g, here, i));
        ss_vertex_connect(g, v, "force", ss_tensor_index(g, force, i));
        ss_vertex_set_f32(g, v, "soft", soft);
    }
    ss_program_add(g, seq, ss_program_execute(g, cs));
    ss_program_add(g, seq, ss_program_copy(g, ss_tensor_concat(g, turned, 2, 0), there));
    return seq;
}

/* In f64. */
static float *plain_forces(const float *x, uint32_t n)
{
    float *force = emu_alloc(2 * (size_t)n, sizeof(*force));

    for (uint32_t i = 0; force && x && i < n; i++) {
        double f[2] = { 0, 0 };

        for (uint32_t j = 0; j < n; j++) {
            double dx = (double)x[2 * j] - (double)x[2 * i];
            double dy = (double)x[2 * j + 1] - (double)x[2 * i + 1];
            double r2 = dx * dx + dy * dy + (double)soft, cube = 1 / (r2 * sqrt(r2));

            f[0] += dx * cube;
            f[1] += dy * cube;
        }
        force[2 * i] = (float)f[0];
        force[2 * i + 1] = (float)f[1];
    }
    return force;
}

static enum emu_status bodies_build(struct graph *g, const uint64_t *value, void **state)
{
    static const struct own_field field[] = {
        { FIELD_IN, "mine", ELEM_F32, 8, NULL },     { FIELD_IN, "other", ELEM_F32, 8, NULL },
        { FIELD_INOUT, "force", ELEM_F32, 8, NULL }, { FIELD_F32, "soft", ELEM_F32, 0, NULL },
        { FIELD_LENGTH, "n2", ELEM_U32, 0, "mine" }, { FIELD_LENGTH, "m2", ELEM_U32, 0, "other" },
    };
    uint32_t p = classic_tiles(g, value[0], 64), n = (uint32_t)value[1];
    struct program seq = ss_program_sequence(g), both = ss_program_sequence(g);
    struct tensor mine, here, there, force;
    struct classic *c;
    float *x;

    TRY(classic_two_tiles(g, p));
    TRY(classic_new(state, &c));
    classic_codelet(g, "forces_f32", field, EMU_COUNT_OF(field));
    mine = classic_blocks(g, ELEM_F32, p, 2 * n, "bodies");
    here = classic_blocks(g, ELEM_F32, p, 2 * n, "here");
    there = classic_blocks(g, ELEM_F32, p, 2 * n, "there");
    force = classic_blocks(g, ELEM_F32, p, 2 * n, "force");
    ss_program_add(g, seq, ss_program_copy(g, mine, here));
    if (p % 2) {
        ss_program_add(g, seq, bodies_step(g, mine, here, there, force));
        ss_program_add(g, seq, ss_program_copy(g, there, here));
    }
    ss_program_add(g, both, bodies_step(g, mine, here, there, force));
    ss_program_add(g, both, bodies_step(g, mine, there, here, force));
    ss_program_add(g, seq, ss_program_repeat(g, p / 2, both));
    ss_graph_set_program(g, seq);
    x = classic_floats(2 * (uint64_t)p * n, 18);
    classic_result(g, c, force, plain_forces(x, p * n), 2e-4 * p * n);
    classic_input(g, c, mine, x);
    classic_input(g, c, force, emu_alloc(2 * (size_t)p * n, sizeof(float)));
    classic_note(c, "p", p);
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_bodies, "nbody-ring", "forces between bodies that go round a ring of tiles",
                bodies_param, bodies_build, NULL);

/* ---- pi ---- */

static const struct program_param pi_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all" },
    { "n", 1000, 1, 10000000, "darts of each of the workers of a tile" },
};

/* What worker w of tile t counts; the sequence is that of codelet/darts_u32.S. */
static uint32_t plain_darts(uint32_t seed, uint32_t throws)
{
    uint32_t s = seed, hits = 0;

    for (uint32_t i = 0; i < throws; i++) {
        uint32_t x, y;

        s = s * 1664525 + 1013904223;
        x = s >> 17;
        s = s * 1664525 + 1013904223;
        y = s >> 17;
        hits += x * x + y * y < 1u << 30;
    }
    return hits;
}

static void add_sum(struct graph *g, uint32_t cs, struct tensor x, struct tensor scratch,
                    struct tensor total, uint32_t tile)
{
    uint32_t v = ss_graph_vertex(g, cs, "prefix_u32", tile);

    ss_vertex_connect(g, v, "x", x);
    ss_vertex_connect(g, v, "y", scratch);
    ss_vertex_connect(g, v, "total", total);
}

/* Six counts of each tile to one, and those of all tiles to one on tile 0. */
static struct tensor sum_of_counts(struct graph *g, struct program seq, struct tensor hits)
{
    uint32_t p = ss_tensor_shape(g, hits)[0], workers = ss_tensor_shape(g, hits)[1];
    struct tensor scratch = classic_blocks(g, ELEM_U32, p, workers, "sums");
    struct tensor counts = classic_blocks(g, ELEM_U32, p, 1, "counts");
    struct tensor total = classic_on_tile(g, ELEM_U32, 0, 1, "total");
    uint32_t cs = ss_graph_compute_set(g, "count"), last = ss_graph_compute_set(g, "total");

    for (uint32_t i = 0; i < p; i++)
        add_sum(g, cs, ss_tensor_index(g, hits, i), ss_tensor_index(g, scratch, i),
                ss_tensor_index(g, counts, i), i);
    add_sum(g, last, ss_tensor_flatten(g, counts), classic_on_tile(g, ELEM_U32, 0, p, "all_sums"),
            total, 0);
    ss_program_add(g, seq, ss_program_execute(g, cs));
    ss_program_add(g, seq, ss_program_execute(g, last));
    return total;
}

static enum emu_status pi_build(struct graph *g, const uint64_t *value, void **state)
{
    uint32_t p = classic_tiles(g, value[0], UINT16_MAX), n = (uint32_t)value[1];
    uint32_t workers = ss_graph_arch(g)->workers, cs = ss_graph_compute_set(g, "throw"), *sum;
    struct program seq = ss_program_sequence(g);
    struct classic *c;
    struct tensor hits;

    TRY(classic_new(state, &c));
    CLASSIC_CODELET(g, "darts_u32", GIVES("hits", U32), NUMBER("throws"), NUMBER("seed"));
    CLASSIC_CODELET(g, "prefix_u32", TAKES("x", U32), GIVES("y", U32), GIVES("total", U32),
                    LENGTH_OF("n", "x"));
    hits = classic_blocks(g, ELEM_U32, p, workers, "hits");
    sum = emu_alloc(1, sizeof(*sum));
    for (uint32_t i = 0; i < p; i++) {
        uint32_t v = ss_graph_vertex(g, cs, "darts_u32", i), seed = i * 7919;

        ss_vertex_connect(g, v, "hits", ss_tensor_index(g, hits, i));
        ss_vertex_set_u32(g, v, "throws", n);
        ss_vertex_set_u32(g, v, "seed", seed);
        for (uint32_t w = 0; sum && w < workers; w++)
            *sum += plain_darts(seed + w, n);
    }
    ss_program_add(g, seq, ss_program_execute(g, cs));
    classic_note(c, "p", p);
    if (sum)
        classic_note(c, "pi_times_10000",
                     (uint64_t)(40000.0 * *sum / ((double)p * workers * n) + 0.5));
    classic_result(g, c, sum_of_counts(g, seq, hits), sum, 0);
    ss_graph_set_program(g, seq);
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_pi, "pi", "pi by throwing darts: nearly no communication", pi_param,
                pi_build, NULL);

/* ---- the Fourier transform ---- */

static const struct program_param fourier_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all, at most 64 and at most side" },
    { "side", 32, 4, 128, "root of the number of points, a power of two" },
};

/* Row r of `side` complex numbers is on tile r p / side. */
static struct tensor complex_rows(struct graph *g, uint32_t side, uint32_t p, const char *name)
{
    const uint32_t shape[3] = { side, side, 2 };
    struct tensor t = ss_graph_variable(g, ELEM_F32, 3, shape, name);

    for (uint32_t r = 0; r < side; r++)
        ss_graph_map(g, ss_tensor_index(g, t, r), r * p / side);
    ss_graph_keep(g, t);
    return t;
}

static uint32_t reversed(uint32_t k, uint32_t side)
{
    uint32_t out = 0;

    for (; side > 1; side /= 2, k /= 2)
        out = 2 * out + k % 2;
    return out;
}

/* e^(-2 pi i k / n) */
static void root_of_one(float *out, uint64_t k, uint64_t n)
{
    double angle = -2 * M_PI * (double)(k % n) / (double)n;

    out[0] = (float)cos(angle);
    out[1] = (float)sin(angle);
}

static void transform_rows(struct graph *g, struct program seq, struct tensor x,
                           struct tensor roots, struct tensor factors, uint32_t p)
{
    uint32_t side = ss_tensor_shape(g, x)[0], cs = ss_graph_compute_set(g, "rows");

    for (uint32_t i = 0, r = 0; i < p; i++) {
        uint32_t first = r, v;

        while (r < side && r * p / side == i)
            r++;
        v = ss_graph_vertex(g, cs, "fft_rows_f32", i);
        ss_vertex_connect(g, v, "x", classic_part(g, x, first, r));
        ss_vertex_connect(g, v, "root", ss_tensor_index(g, roots, i));
        ss_vertex_connect(g, v, "factor", classic_part(g, factors, first, r));
        ss_vertex_set_u32(g, v, "n", side);
        ss_vertex_set_u32(g, v, "rows", r - first);
    }
    ss_program_add(g, seq, ss_program_execute(g, cs));
}

static float *tables(uint32_t rows, uint32_t side)
{
    float *out = emu_alloc((size_t)rows * side, sizeof(*out));

    for (uint32_t i = 0; out && i < rows * side / 2; i++)
        root_of_one(out + 2 * (size_t)i, i % (side / 2), side);
    return out;
}

/* First: what turns the transforms of the columns into those of the whole; then ones. */
static float *factor_table(uint32_t side, int last)
{
    float *out = emu_alloc(2 * (size_t)side * side, sizeof(*out));

    for (uint32_t i = 0; out && i < side * side; i++)
        root_of_one(out + 2 * (size_t)i, last ? 0 : (uint64_t)(i / side) * reversed(i % side, side),
                    (uint64_t)side * side);
    return out;
}

/* X[k] of points x, k = a + side b, where the machine has it: row and column are a and b, each with
 * its bits in reverse. In f64. */
static float *plain_transform(const float *x, uint32_t side)
{
    uint64_t n = (uint64_t)side * side;
    float *out = emu_alloc(2 * n, sizeof(*out));

    for (uint64_t k = 0; out && x && k < n; k++) {
        double re = 0, im = 0;

        for (uint64_t j = 0; j < n; j++) {
            double angle = -2 * M_PI * (double)(j * k % n) / (double)n;
            double c = cos(angle), s = sin(angle);

            /* point j is in row j mod side, column j / side */
            const float *at = x + 2 * (j % side * side + j / side);

            re += (double)at[0] * c - (double)at[1] * s;
            im += (double)at[0] * s + (double)at[1] * c;
        }
        out[2 * ((uint64_t)reversed((uint32_t)(k % side), side) * side +
                 reversed((uint32_t)(k / side), side))] = (float)re;
        out[2 * ((uint64_t)reversed((uint32_t)(k % side), side) * side +
                 reversed((uint32_t)(k / side), side)) +
            1] = (float)im;
    }
    return out;
}

static void add_fourier_codelet(struct graph *g)
{
    static const struct own_field field[] = {
        { FIELD_INOUT, "x", ELEM_F32, 8, NULL },   { FIELD_IN, "root", ELEM_F32, 8, NULL },
        { FIELD_IN, "factor", ELEM_F32, 8, NULL }, { FIELD_U32, "n", ELEM_U32, 0, NULL },
        { FIELD_U32, "rows", ELEM_U32, 0, NULL },
    };

    classic_codelet(g, "fft_rows_f32", field, EMU_COUNT_OF(field));
}

static enum emu_status fourier_build(struct graph *g, const uint64_t *value, void **state)
{
    static const unsigned order[3] = { 1, 0, 2 };
    uint32_t side = (uint32_t)value[1], most = side < 64 ? side : 64;
    uint32_t p = classic_tiles(g, value[0], most);
    struct program seq = ss_program_sequence(g);
    struct tensor x, turned, roots, factors, ones;
    struct classic *c;
    float *points;

    if (classic_power(side) != side || p > side)
        return FAIL(USAGE, "side %u, p %u: expected a power of two, and at most as many tiles",
                    side, p);
    TRY(classic_new(state, &c));
    add_fourier_codelet(g);
    x = complex_rows(g, side, p, "columns");
    turned = complex_rows(g, side, p, "rows");
    factors = complex_rows(g, side, p, "factors");
    ones = complex_rows(g, side, p, "ones");
    roots = classic_blocks(g, ELEM_F32, p, side, "roots");
    transform_rows(g, seq, x, roots, factors, p);
    ss_program_add(g, seq, ss_program_copy(g, ss_tensor_transpose(g, x, order), turned));
    transform_rows(g, seq, turned, roots, ones, p);
    ss_graph_set_program(g, seq);
    points = classic_floats(2 * (uint64_t)side * side, 19);
    classic_result(g, c, turned, plain_transform(points, side), 1e-5 * side * side);
    classic_input(g, c, x, points);
    classic_input(g, c, roots, tables(p, side));
    classic_input(g, c, factors, factor_table(side, 0));
    classic_input(g, c, ones, factor_table(side, 1));
    classic_note(c, "p", p);
    classic_note(c, "rows", (side + p - 1) / p);
    classic_note(c, "log", classic_log2(side));
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_fourier, "fft", "Fourier transform with one transposition", fourier_param,
                fourier_build, NULL);
