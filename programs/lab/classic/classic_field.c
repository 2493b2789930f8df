/* classic_field.c - fields in strips of rows: a stencil whose halo is several rows deep, and
 * Conway's game of life.
 */
#include "programs/lab/classic/classic.h"
#include "programs/library/kernel/vertex_fields.h"

#include <string.h>

/* Strips of `rows` rows of `width` with `halo` rows of the neighbours above and below. */
struct lab_field {
    uint32_t p, rows, halo, width;
};

static struct tensor new_strips(struct graph *g, const struct lab_field *f, enum elem e,
                                const char *name)
{
    const uint32_t rows = f->rows + 2 * f->halo, shape[3] = { f->p, rows, f->width };

    return ss_tensor_reshape(g, classic_blocks(g, e, f->p, rows * f->width, name), 3, shape);
}

/* The outer rows of every strip go to the neighbours. Beyond the outermost strips nothing changes.
 */
static void fetch_halo(struct graph *g, struct program seq, const struct lab_field *f,
                       struct tensor t)
{
    struct tensor above = ss_tensor_slice(g, t, 0, 0, f->p - 1);
    struct tensor below = ss_tensor_slice(g, t, 0, 1, f->p);
    uint32_t rows = f->rows, k = f->halo;

    if (f->p < 2)
        return;
    ss_program_add(g, seq,
                   ss_program_copy(g, ss_tensor_slice(g, above, 1, rows, rows + k),
                                   ss_tensor_slice(g, below, 1, 0, k)));
    ss_program_add(g, seq,
                   ss_program_copy(g, ss_tensor_slice(g, below, 1, k, 2 * k),
                                   ss_tensor_slice(g, above, 1, rows + k, rows + 2 * k)));
}

/* A whole field of p rows + 2 halo rows, as the strips overlap in it. */
static void *strips_of(const struct lab_field *f, const void *field)
{
    size_t strip = (size_t)(f->rows + 2 * f->halo) * f->width;
    uint32_t *out = emu_alloc(f->p * strip, sizeof(*out));

    for (uint32_t i = 0; out && field && i < f->p; i++)
        memcpy(out + i * strip, (const uint32_t *)field + (size_t)i * f->rows * f->width,
               strip * sizeof(*out));
    return out;
}

/* Its inner rows alone: what the tiles compute. */
static void *inner_rows(const struct lab_field *f, const void *field)
{
    size_t n = (size_t)f->p * f->rows * f->width;
    uint32_t *out = emu_alloc(n, sizeof(*out));

    if (out && field)
        memcpy(out, (const uint32_t *)field + (size_t)f->halo * f->width, n * sizeof(*out));
    return out;
}

static size_t field_elements(const struct lab_field *f)
{
    return ((size_t)f->p * f->rows + 2 * (size_t)f->halo) * f->width;
}

/* ---- a stencil with a deep halo ---- */

static const struct program_param halo_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all, at most 64" },
    { "rows", 8, 1, 64, "rows of a tile" },
    { "width", 64, 4, 1024, "columns, even" },
    { "depth", 4, 1, 16, "rows of the neighbours, and steps between two exchanges" },
    { "blocks", 4, 1, 1000, "exchanges" },
};

enum { HALO_P, HALO_ROWS, HALO_WIDTH, HALO_DEPTH, HALO_BLOCKS };

static const float c0 = 0.5f, c1 = 0.125f;

/* Step j of a block: rows j .. end - j of the strip, one less at each end than the step before. The
 * rows beyond the first and the last strip stay as they are. */
static struct program sweep(struct graph *g, const struct lab_field *f, struct tensor from,
                            struct tensor to, uint32_t j)
{
    uint32_t rows = f->rows + 2 * f->halo, cs = ss_graph_compute_set(g, "sweep");

    for (uint32_t i = 0; i < f->p; i++) {
        uint32_t first = i ? j : f->halo, end = rows - (i + 1 < f->p ? j : f->halo);
        struct tensor x = ss_tensor_slice(g, ss_tensor_index(g, from, i), 0, first - 1, end + 1);
        struct tensor y = ss_tensor_slice(g, ss_tensor_index(g, to, i), 0, first, end);

        VERTEX(stencil5_f32, g, cs, i, .x = ss_tensor_flatten(g, x), .y = ss_tensor_flatten(g, y),
               .c0 = c0, .c1 = c1, .h = end - first, .w = f->width);
    }
    return ss_program_execute(g, cs);
}

static struct program halo_block(struct graph *g, const struct lab_field *f, struct tensor here,
                                 struct tensor there)
{
    struct program seq = ss_program_sequence(g);
    struct tensor from = here, to = there;

    fetch_halo(g, seq, f, here);
    for (uint32_t j = 1; j <= f->halo; j++) {
        struct tensor swap = from;

        ss_program_add(g, seq, sweep(g, f, from, to, j));
        from = to;
        to = swap;
    }
    return seq;
}

static void plain_sweep(const struct lab_field *f, const float *x, float *y)
{
    uint32_t rows = f->p * f->rows + 2 * f->halo, w = f->width;

    memcpy(y, x, field_elements(f) * sizeof(*y));
    for (uint32_t r = f->halo; r < rows - f->halo; r++) {
        for (uint32_t c = 1; c + 1 < w; c++) {
            const float *at = x + (size_t)r * w + c;

            y[(size_t)r * w + c] =
                c0 * at[0] + c1 * ((at[-1] + at[1]) + (at[-(ptrdiff_t)w] + at[w]));
        }
    }
}

static float *plain_steps(const struct lab_field *f, const float *field, uint64_t steps)
{
    size_t n = field_elements(f);
    float *x = emu_alloc(n, sizeof(*x)), *y = emu_alloc(n, sizeof(*y)), *swap;

    if (x && y && field) {
        memcpy(x, field, n * sizeof(*x));
        for (uint64_t k = 0; k < steps; k++) {
            plain_sweep(f, x, y);
            swap = x;
            x = y;
            y = swap;
        }
    }
    ss_free(y);
    return x;
}

static enum emu_status halo_build(struct graph *g, const uint64_t *value, void **state)
{
    struct lab_field f = { .p = classic_tiles(g, value[HALO_P], 64),
                           .rows = (uint32_t)value[HALO_ROWS],
                           .halo = (uint32_t)value[HALO_DEPTH],
                           .width = (uint32_t)value[HALO_WIDTH] };
    struct program seq = ss_program_sequence(g);
    struct tensor here, there;
    float *field, *after;
    struct classic *c;

    if (f.width % 2 || f.halo % 2 > (f.halo == 1) || f.halo > f.rows)
        return FAIL(USAGE,
                    "width %u, depth %u, rows %u: expected an even width, and a depth of 1 or "
                    "an even one that is at most rows",
                    f.width, f.halo, f.rows);
    TRY(classic_new(state, &c));
    here = new_strips(g, &f, ELEM_F32, "here");
    there = new_strips(g, &f, ELEM_F32, "there");
    for (uint64_t k = 0; k < value[HALO_BLOCKS]; k++) {
        ss_program_add(g, seq, halo_block(g, &f, here, there));
        if (f.halo == 1)
            ss_program_add(g, seq, ss_program_copy(g, there, here));
    }
    ss_graph_set_program(g, seq);
    field = classic_floats(field_elements(&f), 16);
    after = plain_steps(&f, field, value[HALO_BLOCKS] * f.halo);
    classic_input(g, c, here, strips_of(&f, field));
    classic_input(g, c, there, strips_of(&f, field));
    classic_result(g, c, ss_tensor_slice(g, here, 1, f.halo, f.halo + f.rows),
                   inner_rows(&f, after), 0);
    ss_free(field);
    ss_free(after);
    classic_note(c, "p", f.p);
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_halo, "stencil-halo", "5-point stencil, several steps for each exchange",
                halo_param, halo_build, NULL);

/* ---- life ---- */

static const struct program_param life_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all, at most 64" },
    { "rows", 6, 1, 256, "rows of a tile" },
    { "width", 34, 4, 1024, "columns, the outermost of which are dead" },
    { "steps", 8, 2, 10000, "generations, even" },
};

enum { LIFE_P, LIFE_ROWS, LIFE_WIDTH, LIFE_STEPS };

static struct program generation(struct graph *g, const struct lab_field *f, struct tensor from,
                                 struct tensor to)
{
    struct program seq = ss_program_sequence(g);
    uint32_t cs = ss_graph_compute_set(g, "generation");

    fetch_halo(g, seq, f, from);
    for (uint32_t i = 0; i < f->p; i++) {
        struct tensor y = ss_tensor_slice(g, ss_tensor_index(g, to, i), 0, 1, f->rows + 1);
        uint32_t v = ss_graph_vertex(g, cs, "life_u32", i);

        ss_vertex_connect(g, v, "x", ss_tensor_flatten(g, ss_tensor_index(g, from, i)));
        ss_vertex_connect(g, v, "y", ss_tensor_flatten(g, y));
        ss_vertex_set_u32(g, v, "rows", f->rows);
        ss_vertex_set_u32(g, v, "w", f->width);
    }
    ss_program_add(g, seq, ss_program_execute(g, cs));
    return seq;
}

static void plain_generation(const uint32_t *x, uint32_t *y, uint32_t rows, uint32_t w)
{
    for (uint32_t r = 1; r + 1 < rows; r++) {
        for (uint32_t c = 1; c + 1 < w; c++) {
            uint32_t sum = 0;

            for (uint32_t k = 0; k < 9; k++)
                sum += x[(size_t)(r + k / 3 - 1) * w + c + k % 3 - 1];
            sum -= x[(size_t)r * w + c];
            y[(size_t)r * w + c] = sum == 3 || (sum == 2 && x[(size_t)r * w + c]);
        }
    }
}

/* Alive with one chance in three; the border is dead. */
static uint32_t *first_generation(const struct lab_field *f)
{
    uint32_t *x = classic_integers(field_elements(f), 17, 3);
    uint32_t rows = f->p * f->rows + 2;

    for (size_t i = 0; x && i < field_elements(f); i++) {
        size_t r = i / f->width, c = i % f->width;

        x[i] = x[i] == 0 && r && r + 1 < rows && c && c + 1 < f->width;
    }
    return x;
}

static uint32_t *plain_generations(const struct lab_field *f, const uint32_t *first, uint64_t steps)
{
    size_t n = field_elements(f);
    uint32_t *x = emu_alloc(n, sizeof(*x)), *y = emu_alloc(n, sizeof(*y));

    if (x && y && first) {
        memcpy(x, first, n * sizeof(*x));
        for (uint64_t k = 0; k < steps; k += 2) {
            plain_generation(x, y, f->p * f->rows + 2, f->width);
            plain_generation(y, x, f->p * f->rows + 2, f->width);
        }
    }
    ss_free(y);
    return x;
}

static enum emu_status life_build(struct graph *g, const uint64_t *value, void **state)
{
    struct lab_field f = { .p = classic_tiles(g, value[LIFE_P], 64),
                           .rows = (uint32_t)value[LIFE_ROWS],
                           .halo = 1,
                           .width = (uint32_t)value[LIFE_WIDTH] };
    struct program seq = ss_program_sequence(g), both = ss_program_sequence(g);
    uint32_t *first, *after;
    struct tensor here, there;
    struct classic *c;

    if (value[LIFE_STEPS] % 2)
        return FAIL(USAGE, "steps is %llu, expected an even number",
                    (unsigned long long)value[LIFE_STEPS]);
    TRY(classic_new(state, &c));
    CLASSIC_CODELET(g, "life_u32", TAKES("x", U32), GIVES("y", U32), NUMBER("rows"), NUMBER("w"));
    here = new_strips(g, &f, ELEM_U32, "here");
    there = new_strips(g, &f, ELEM_U32, "there");
    ss_program_add(g, both, generation(g, &f, here, there));
    ss_program_add(g, both, generation(g, &f, there, here));
    ss_program_add(g, seq, ss_program_repeat(g, (uint32_t)value[LIFE_STEPS] / 2, both));
    ss_graph_set_program(g, seq);
    first = first_generation(&f);
    after = plain_generations(&f, first, value[LIFE_STEPS]);
    classic_input(g, c, here, strips_of(&f, first));
    classic_input(g, c, there, emu_alloc((size_t)f.p * (f.rows + 2) * f.width, sizeof(uint32_t)));
    classic_result(g, c, ss_tensor_slice(g, here, 1, 1, f.rows + 1), inner_rows(&f, after), 0);
    ss_free(first);
    ss_free(after);
    classic_note(c, "p", f.p);
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_life, "life", "Conway's game of life", life_param, life_build, NULL);
