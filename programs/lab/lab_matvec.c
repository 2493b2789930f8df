/* lab_matvec.c - y = A x in f32, cut two ways, with the BSP bill of each written beside the
 * measured one.
 *
 * By rows: every tile needs all of x (h = k words), and there is nothing to add up. By blocks: a
 * tile needs k / columns of x and sends partial results of m / rows, which are then added up.
 */
#include "programs/lab/lab.h"
#include "programs/library/kernel/kernel_cycles.h"
#include "programs/library/kernel/vertex_fields.h"
#include "programs/library/layout/plan_cost.h"

static const struct program_param rows_param[] = {
    { "m", 4096, 1, 16384, "rows of the matrix" },
    { "k", 4096, 2, 16384, "columns of the matrix, even" },
};

static const struct program_param blocks_param[] = {
    { "m", 4096, 1, 16384, "rows of the matrix" },
    { "k", 4096, 2, 16384, "columns of the matrix, even" },
    { "grid", 32, 1, 128, "blocks in a column of blocks; the tiles that fit are in its rows" },
};

enum { GRID = 2 };

void lab_rows_defaults(const struct arch *a, uint64_t *value)
{
    for (int i = 0; i < GRID; i++)
        value[i] = lab_scaled(a, value[i], 2, 2);
}

/* Near to a square of tiles. */
void lab_blocks_defaults(const struct arch *a, uint64_t *value)
{
    lab_rows_defaults(a, value);
    while (value[GRID] > 1 && value[GRID] * value[GRID] > a->tiles)
        value[GRID]--;
}

/* What a superstep costs by the model: w + h g + l, with g = 1 cycle a word. */
static void note_model(json_t *answer, const char *key, uint64_t w, uint64_t h, uint64_t l)
{
    json_object_set_new(answer, key,
                        json_pack("{s:I, s:I, s:I, s:I}", "w_cycles", (json_int_t)w, "h_words",
                                  (json_int_t)h, "l_cycles", (json_int_t)l, "total_cycles",
                                  (json_int_t)(w + h + l)));
}

static uint64_t matvec_cycles(const struct arch *a, uint64_t m, uint64_t k)
{
    return KERNEL_CYCLES(matvec, KERNEL_ROW(matvec_f32), a, .a = (uint32_t)(m * k),
                         .x = (uint32_t)k, .y = (uint32_t)m);
}

/* ---- the host's side, the same for both ---- */

static enum emu_status before(struct session *s, void *state)
{
    struct lab *l = state;
    const struct graph *g = ss_session_graph(s);

    l->x = lab_numbers(l->size[0] * l->size[1], 1, 10);
    l->y = lab_numbers(l->size[1], 2, 1);
    TRY(lab_write(s, g, l->in[0], l->x, l->size[0] * l->size[1]));
    return lab_write(s, g, l->in[1], l->y, l->size[1]);
}

/* Products are multiples of 2^-11, so sums of them below 2^13 are exact in f32, in any order. */
static const double exact_sum = 0x1p13;

/* Row i of the product, and how far f32 may be from it: by nothing where no partial sum can leave
 * the exact ones, else by half a unit of the largest for each of k additions. */
static void plain_row(const struct lab *l, uint64_t i, float *row, float *bound)
{
    uint64_t k = l->size[1];
    double sum = 0, most = 0;

    for (uint64_t j = 0; j < k; j++) {
        double product = (double)l->x[i * k + j] * (double)l->y[j];

        sum += product;
        most += product < 0 ? -product : product;
    }
    *row = (float)sum;
    *bound = most < exact_sum ? 0 : (float)((double)k * most * 0x1p-24);
}

static enum emu_status compare(struct session *s, struct lab *l, json_t *answer)
{
    uint64_t m = l->size[0];
    float *got, *bound;
    enum emu_status st;

    l->want = emu_alloc(2 * m, sizeof(*l->want));
    if (!l->want)
        return FAIL(NO_MEMORY, "the plain product");
    bound = l->want + m;
    for (uint64_t i = 0; i < m; i++)
        plain_row(l, i, &l->want[i], &bound[i]);
    TRY(lab_read(s, ss_session_graph(s), l->out, &got, m));
    st = lab_compare_each(got, l->want, bound, m, answer);
    ss_free(got);
    return st;
}

static enum emu_status new_operands(struct graph *g, const uint64_t *value, struct lab **out)
{
    uint32_t shape[2] = { (uint32_t)value[0], (uint32_t)value[1] };
    struct lab *l;

    if (shape[1] % 2)
        return FAIL(USAGE, "k is %u, expected an even number", shape[1]);
    TRY(lab_new(out));
    l = *out;
    l->size[0] = shape[0];
    l->size[1] = shape[1];
    l->in[0] = ss_graph_variable(g, ELEM_F32, 2, shape, "a");
    l->in[1] = ss_graph_variable(g, ELEM_F32, 1, &shape[1], "x");
    ss_graph_map_linear(g, l->in[1], 2, 2, 0, ss_graph_arch(g)->tiles);
    ss_graph_keep(g, l->in[0]);
    ss_graph_keep(g, l->in[1]);
    return EMU_OK;
}

static void add_product(struct graph *g, uint32_t cs, struct tensor a, struct tensor x,
                        struct tensor y, uint32_t tile)
{
    ss_graph_map(g, a, tile);
    ss_graph_map(g, y, tile);
    VERTEX(matvec_f32, g, cs, tile, .a = ss_tensor_flatten(g, a), .x = x, .y = y);
}

/* ---- by rows ---- */

static enum emu_status rows_build(struct graph *g, const uint64_t *value, void **state)
{
    uint32_t m = (uint32_t)value[0], tiles = ss_graph_arch(g)->tiles, cs;
    uint32_t rows = (m + tiles - 1) / tiles;
    struct program seq = ss_program_sequence(g);
    struct lab *l;

    TRY(new_operands(g, value, &l));
    *state = l;
    l->out = ss_graph_variable(g, ELEM_F32, 1, &m, "y");
    ss_graph_keep(g, l->out);
    cs = ss_graph_compute_set(g, "rows");
    for (uint32_t i = 0; i * rows < m; i++) {
        uint32_t end = (i + 1) * rows < m ? (i + 1) * rows : m;

        add_product(g, cs, ss_tensor_slice(g, l->in[0], 0, i * rows, end), l->in[1],
                    ss_tensor_slice(g, l->out, 0, i * rows, end), i);
    }
    ss_program_add(g, seq, ss_program_execute(g, cs));
    ss_graph_set_program(g, seq);
    return EMU_OK;
}

static enum emu_status rows_after(struct session *s, void *state, json_t *answer)
{
    struct lab *l = state;
    const struct arch *a = ss_graph_arch(ss_session_graph(s));
    uint64_t rows = (l->size[0] + a->tiles - 1) / a->tiles, k = l->size[1];

    note_model(answer, "model_product", matvec_cycles(a, rows, k), k,
               plan_exchange_cycles(a, k) - k);
    return compare(s, l, answer);
}

const struct named_program lab_matvec_rows = {
    .name = "matvec-rows",
    .text = "matrix times vector, the matrix cut by rows",
    .param = rows_param,
    .params = EMU_COUNT_OF(rows_param),
    .build = rows_build,
    .before = before,
    .after = rows_after,
    .done = lab_free,
};

/* ---- by blocks ---- */

/* Where part i of n begins: in pairs, as evenly as can be. */
static uint32_t cut(uint32_t n, uint32_t parts, uint32_t i)
{
    uint32_t pairs = (n + 1) / 2, at = (uint32_t)((uint64_t)pairs * i / parts) * 2;

    return at > n ? n : at;
}

/* The largest part. */
static uint64_t largest_part(uint64_t n, uint64_t parts)
{
    uint64_t pairs = (n + 1) / 2, size = (pairs + parts - 1) / parts * 2;

    return size > n ? n : size;
}

static enum emu_status blocks_build(struct graph *g, const uint64_t *value, void **state)
{
    uint32_t m = (uint32_t)value[0], k = (uint32_t)value[1], grid = (uint32_t)value[2], cs;
    uint32_t columns = ss_graph_arch(g)->tiles / grid, shape[2];
    struct program seq = ss_program_sequence(g);
    struct tensor partials;
    struct lab *l;

    columns = columns > (k + 1) / 2 ? (k + 1) / 2 : columns;
    if (!columns || grid > (m + 1) / 2)
        return FAIL(USAGE,
                    "grid is %u: expected at most a block for every two of %u rows, on %u "
                    "tiles",
                    grid, m, ss_graph_arch(g)->tiles);
    TRY(new_operands(g, value, &l));
    *state = l;
    l->size[2] = grid;
    l->size[3] = columns;
    shape[0] = columns;
    shape[1] = m;
    partials = ss_graph_variable(g, ELEM_F32, 2, shape, "partials");
    cs = ss_graph_compute_set(g, "blocks");
    for (uint32_t i = 0; i < grid * columns; i++) {
        uint32_t r = i / columns, c = i % columns;
        uint32_t r0 = cut(m, grid, r), r1 = cut(m, grid, r + 1);
        uint32_t c0 = cut(k, columns, c), c1 = cut(k, columns, c + 1);
        struct tensor a = ss_tensor_slice(g, ss_tensor_slice(g, l->in[0], 0, r0, r1), 1, c0, c1);

        add_product(g, cs, a, ss_tensor_slice(g, l->in[1], 0, c0, c1),
                    ss_tensor_slice(g, ss_tensor_index(g, partials, c), 0, r0, r1), i);
    }
    ss_program_add(g, seq, ss_program_execute(g, cs));
    l->out = ss_op_reduce(g, seq, REDUCE_SUM, partials, ELEM_F32, "sum");
    ss_graph_keep(g, l->out);
    ss_graph_set_program(g, seq);
    return EMU_OK;
}

static enum emu_status blocks_after(struct session *s, void *state, json_t *answer)
{
    struct lab *l = state;
    const struct arch *a = ss_graph_arch(ss_session_graph(s));
    uint64_t rows = largest_part(l->size[0], l->size[2]);
    uint64_t columns = largest_part(l->size[1], l->size[3]);
    uint64_t latency = plan_exchange_cycles(a, 1) - 1; /* of a phase, with its sync */
    struct reduce_plan p;

    note_model(answer, "model_product", matvec_cycles(a, rows, columns), columns,
               plan_exchange_cycles(a, columns) - columns);
    TRY(plan_reduce(a, (uint32_t)l->size[3], rows, ELEM_F32, a->tiles, &p));
    latency *= p.stages;
    json_object_set_new(answer, "sum_stages", json_integer(p.stages));
    note_model(answer, "model_sum", p.cost.reduce, p.cost.exchange_partials + p.cost.sync - latency,
               latency);
    return compare(s, l, answer);
}

const struct named_program lab_matvec_blocks = {
    .name = "matvec-blocks",
    .text = "matrix times vector, the matrix cut into blocks",
    .param = blocks_param,
    .params = EMU_COUNT_OF(blocks_param),
    .build = blocks_build,
    .before = before,
    .after = blocks_after,
    .done = lab_free,
};
