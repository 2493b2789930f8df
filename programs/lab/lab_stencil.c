/* lab_stencil.c - a 5-point stencil in steps: strips of rows on the tiles, the two outer rows of
 * each strip fetched from the neighbours before every step.
 */
#include <string.h>

#include "programs/lab/lab.h"
#include "programs/library/kernel/vertex_fields.h"

static const struct program_param param[] = {
    { "steps", 2000, 2, 1000000, "steps, even" },
    { "rows", 4, 1, 256, "rows of a tile" },
    { "width", 256, 4, 4096, "columns, even" },
};

enum { STEPS, ROWS, WIDTH };

static const float c0 = 0.5f, c1 = 0.125f;

/* The strip of a tile with the row above and the row below: [tiles][rows + 2][width]. */
static struct tensor new_strips(struct graph *g, const struct lab *l, const char *name)
{
    uint32_t tiles = ss_graph_arch(g)->tiles;
    uint32_t shape[3] = { tiles, (uint32_t)l->size[ROWS] + 2, (uint32_t)l->size[WIDTH] };
    struct tensor t = ss_graph_variable(g, ELEM_F32, 3, shape, name);

    for (uint32_t i = 0; i < tiles; i++)
        ss_graph_map(g, ss_tensor_index(g, t, i), i);
    return t;
}

static struct tensor rows_of(struct graph *g, struct tensor t, uint32_t first, uint32_t end)
{
    return ss_tensor_slice(g, t, 1, first, end);
}

/* The last row of every strip goes above the next one, the first below the one before. The
 * outermost rows of the field have no neighbours and stay as they are. */
static struct program fetch_edges(struct graph *g, const struct lab *l, struct tensor t)
{
    uint32_t tiles = ss_graph_arch(g)->tiles, rows = (uint32_t)l->size[ROWS];
    struct program both = ss_program_sequence(g);
    struct tensor upper = ss_tensor_slice(g, t, 0, 0, tiles - 1);
    struct tensor lower = ss_tensor_slice(g, t, 0, 1, tiles);

    ss_program_add(g, both,
                   ss_program_copy(g, rows_of(g, upper, rows, rows + 1), rows_of(g, lower, 0, 1)));
    ss_program_add(
        g, both,
        ss_program_copy(g, rows_of(g, lower, 1, 2), rows_of(g, upper, rows + 1, rows + 2)));
    return both;
}

static struct program step(struct graph *g, const struct lab *l, struct tensor from,
                           struct tensor to, const char *name)
{
    uint32_t tiles = ss_graph_arch(g)->tiles, rows = (uint32_t)l->size[ROWS];
    struct program seq = ss_program_sequence(g);
    uint32_t cs = ss_graph_compute_set(g, name);

    for (uint32_t i = 0; i < tiles; i++) {
        struct tensor y = ss_tensor_slice(g, ss_tensor_index(g, to, i), 0, 1, rows + 1);

        VERTEX(stencil5_f32, g, cs, i, .x = ss_tensor_flatten(g, ss_tensor_index(g, from, i)),
               .y = ss_tensor_flatten(g, y), .c0 = c0, .c1 = c1, .h = rows,
               .w = (uint32_t)l->size[WIDTH]);
    }
    ss_program_add(g, seq, fetch_edges(g, l, from));
    ss_program_add(g, seq, ss_program_execute(g, cs));
    return seq;
}

static enum emu_status stencil_build(struct graph *g, const uint64_t *value, void **state)
{
    struct program seq = ss_program_sequence(g), twice = ss_program_sequence(g);
    struct tensor odd;
    struct lab *l;

    if (ss_graph_arch(g)->tiles < 2)
        return FAIL(USAGE, "a halo exchange needs at least 2 tiles");
    if (value[STEPS] % 2 || value[WIDTH] % 2)
        return FAIL(USAGE, "steps is %llu, width %llu: expected even numbers",
                    (unsigned long long)value[STEPS], (unsigned long long)value[WIDTH]);
    TRY(lab_new(&l));
    *state = l;
    for (int i = 0; i <= WIDTH; i++)
        l->size[i] = value[i];
    l->in[0] = new_strips(g, l, "even");
    odd = new_strips(g, l, "odd");
    ss_graph_keep(g, l->in[0]);
    ss_program_add(g, twice, step(g, l, l->in[0], odd, "to_odd"));
    ss_program_add(g, twice, step(g, l, odd, l->in[0], "to_even"));
    /* The outermost rows of the field are the same in both. */
    ss_program_add(g, seq, ss_program_copy(g, l->in[0], odd));
    ss_program_add(g, seq, ss_program_repeat(g, (uint32_t)(value[STEPS] / 2), twice));
    ss_graph_set_program(g, seq);
    return EMU_OK;
}

/* The field has tiles * rows + 2 rows; strips overlap in two. */
static uint64_t field_rows(const struct session *s, const struct lab *l)
{
    return (uint64_t)ss_graph_arch(ss_session_graph(s))->tiles * l->size[ROWS] + 2;
}

static void field_to_strips(const struct lab *l, uint32_t tiles, const float *field, float *strips)
{
    uint64_t strip = (l->size[ROWS] + 2) * l->size[WIDTH];

    for (uint64_t i = 0; i < tiles; i++) {
        for (uint64_t k = 0; k < strip; k++)
            strips[i * strip + k] = field[i * l->size[ROWS] * l->size[WIDTH] + k];
    }
}

static enum emu_status stencil_before(struct session *s, void *state)
{
    struct lab *l = state;
    uint32_t tiles = ss_graph_arch(ss_session_graph(s))->tiles;
    uint64_t n = tiles * (l->size[ROWS] + 2) * l->size[WIDTH];
    float *strips = emu_alloc(n, sizeof(*strips));
    enum emu_status st;

    l->x = lab_numbers(field_rows(s, l) * l->size[WIDTH], 6, 10);
    if (!strips || !l->x) {
        ss_free(strips);
        return FAIL(NO_MEMORY, "the field");
    }
    field_to_strips(l, tiles, l->x, strips);
    st = lab_write(s, ss_session_graph(s), l->in[0], strips, n);
    ss_free(strips);
    return st;
}

/* One step of the whole field in plain C, rounding as the machine does. */
static void plain_step(const float *x, float *y, uint64_t rows, uint64_t width)
{
    for (uint64_t r = 1; r + 1 < rows; r++) {
        const float *row = x + r * width;
        float *out = y + r * width;

        out[0] = row[0];
        out[width - 1] = row[width - 1];
        for (uint64_t c = 1; c + 1 < width; c++)
            out[c] =
                c0 * row[c] + c1 * ((row[c - 1] + row[c + 1]) + (row[c - width] + row[c + width]));
    }
}

static enum emu_status stencil_after(struct session *s, void *state, json_t *answer)
{
    struct lab *l = state;
    uint32_t tiles = ss_graph_arch(ss_session_graph(s))->tiles;
    uint64_t rows = field_rows(s, l), width = l->size[WIDTH], strip = (l->size[ROWS] + 2) * width;
    float *got;
    enum emu_status st;

    l->y = emu_alloc(rows * width, sizeof(*l->y));
    if (!l->y)
        return FAIL(NO_MEMORY, "the plain field");
    memcpy(l->y, l->x, rows * width * sizeof(*l->y));
    for (uint64_t i = 0; i < l->size[STEPS]; i += 2) {
        plain_step(l->x, l->y, rows, width);
        plain_step(l->y, l->x, rows, width);
    }
    TRY(lab_read(s, ss_session_graph(s), l->in[0], &got, tiles * strip));
    for (uint64_t i = 0; i < tiles; i++)
        memcpy(l->y + (i * l->size[ROWS] + 1) * width, got + i * strip + width,
               l->size[ROWS] * width * sizeof(*got));
    ss_free(got);
    st = lab_compare(l->y + width, l->x + width, (rows - 2) * width, 0, answer);
    lab_note(answer, "cycles_per_step", (double)ss_session_cycles(s) / (double)l->size[STEPS]);
    return st;
}

const struct named_program lab_stencil = {
    .name = "stencil",
    .text = "5-point stencil in steps, with an exchange of edges between them",
    .param = param,
    .params = EMU_COUNT_OF(param),
    .build = stencil_build,
    .before = stencil_before,
    .after = stencil_after,
    .done = lab_free,
};
