/* placed.c - where the values of an operator graph are on the chip. */
#include <string.h>

#include "emu/base/fp.h"
#include "models/lower/lowering.h"

/* Runs of this many elements are dealt to tiles, and no tile gets fewer than the second number. */
enum { GRAIN = 16, LEAST = 32 };

/* A number of readers that never gets down to 0. */
static const uint32_t PINNED = 1u << 30;

enum elem lower_elem(const struct lowering *l, enum op_type type)
{
    switch (op_type_kind(type)) {
    case OP_KIND_INT:
        return ELEM_I32;
    default:
        return l->real;
    }
}

struct tensor lower_seed(struct lowering *l, uint32_t value)
{
    struct placed *p = &l->at[value];

    if (!p->has_seed)
        p->seed = ss_op_seed(l->g, l->seq, lower_view(l, value), l->og->value[value].name);
    p->has_seed = 1;
    return p->seed;
}

/* ---- storage ---- */

static void new_storage(struct lowering *l, uint32_t value)
{
    l->at[value].storage = l->storages;
    l->at[value].has_storage = 1;
    l->storage_is_input[l->storages] = l->og->value[value].kind != OP_RESULT;
    l->storage_left[l->storages++] = value_reads(l->og, value);
    if (l->is_kept[value] || l->is_result[value])
        lower_pin(l, value);
}

void lower_set_formal(struct lowering *l, uint32_t value, const struct placed *p, uint32_t reads)
{
    l->at[value] = *p;
    new_storage(l, value);
    l->storage_is_input[l->at[value].storage] = 0;
    l->storage_left[l->at[value].storage] = reads;
}

void lower_set_lent(struct lowering *l, uint32_t value, const struct placed *p, uint32_t reads,
                    int only)
{
    lower_set_formal(l, value, p, reads);
    if (!only)
        lower_pin(l, value);
}

void lower_read_once(struct lowering *l, uint32_t value)
{
    if (value != OP_NONE && l->at[value].has_storage)
        l->storage_left[l->at[value].storage]--;
}

void lower_pin(struct lowering *l, uint32_t value)
{
    if (l->at[value].has_storage)
        l->storage_left[l->at[value].storage] |= PINNED;
}

static void share_storage(struct lowering *l, uint32_t value, uint32_t of)
{
    l->at[value].storage = l->at[of].storage;
    l->at[value].has_storage = 1;
    l->storage_left[l->at[of].storage] += value_reads(l->og, value);
    if (l->is_kept[value])
        lower_pin(l, value);
}

/* ---- constants ---- */

static uint64_t pack_one(enum elem e, double v)
{
    struct fp_env env = { 0 };
    float f = (float)v;
    uint32_t bits;

    if (e == ELEM_F16)
        return fp_f16_from_f64(v, 0, &env);
    if (e == ELEM_I32)
        return (uint32_t)(int32_t)v;
    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

/* The numbers of t as elements; owned. NULL: the graph has failed. */
static uint8_t *pack_all(struct lowering *l, enum elem e, const struct op_tensor *t,
                         const char *name)
{
    uint64_t n = op_shape_count(&t->shape);
    uint32_t size = ss_elem_bytes(e);
    uint8_t *data = emu_alloc(n + 1, size);

    if (!data)
        ss_graph_fail(l->g, EMU_NO_MEMORY, "%s", name);
    for (uint64_t k = 0; data && k < n; k++) {
        uint64_t bits = pack_one(e, op_tensor_number(t, k));

        memcpy(data + k * size, &bits, size);
    }
    return data;
}

/* No tile gets fewer elements than `least`. */
static struct tensor new_constant(struct lowering *l, enum elem e, const struct op_tensor *t,
                                  uint32_t least, const char *name)
{
    uint8_t *data = pack_all(l, e, t, name);
    struct tensor c = { 0 };

    if (!data)
        return c;
    c = ss_graph_constant(l->g, e, t->shape.rank, t->shape.dim, data, name);
    ss_graph_map_linear(l->g, c, GRAIN, least, 0, ss_graph_compute_tiles(l->g));
    ss_free(data);
    return c;
}

struct tensor lower_numbers(struct lowering *l, enum elem e, const struct op_tensor *t,
                            const char *name)
{
    return new_constant(l, e, t, LEAST, name);
}

struct tensor lower_lanes(struct lowering *l, const struct op_tensor *t, const char *name)
{
    enum { LANES = CHANNEL_BLOCK, FEW_TILES = 16 * LANES };
    struct op_shape s = { .type = OP_TYPE_F32, .rank = t->shape.rank + 1 };
    struct tensor c = { 0 };
    struct op_tensor all;
    enum emu_status st;

    memcpy(s.dim, t->shape.dim, t->shape.rank * sizeof(s.dim[0]));
    s.dim[t->shape.rank] = LANES;
    st = op_tensor_new(&s, &all);
    if (st != EMU_OK) {
        ss_graph_fail(l->g, st, "%s", ss_error());
        return c;
    }
    for (uint64_t k = 0; k < op_shape_count(&s); k++)
        all.f[k] = op_tensor_number(t, k / LANES);
    c = new_constant(l, ELEM_F16, &all, FEW_TILES, name);
    op_tensor_free(&all);
    return c;
}

void lower_set_initial(struct lowering *l, struct tensor t, uint32_t value)
{
    const struct op_value *v = &l->og->value[value];
    enum emu_status s;
    struct op_tensor numbers;
    uint8_t *data;

    if (!v->data)
        return;
    s = op_value_read(l->og, value, &numbers);
    if (s != EMU_OK) {
        ss_graph_fail(l->g, s, "%s", ss_error());
        return;
    }
    data = pack_all(l, ss_tensor_elem(l->g, t), &numbers, v->name);
    if (data)
        ss_graph_set_initial(l->g, t, data);
    ss_free(data);
    op_tensor_free(&numbers);
}

static void place_constant(struct lowering *l, uint32_t value)
{
    const struct op_value *v = &l->og->value[value];
    enum emu_status s;
    struct op_tensor t;

    s = op_value_read(l->og, value, &t);
    if (s != EMU_OK) {
        ss_graph_fail(l->g, s, "%s", ss_error());
        return;
    }
    l->at[value].view = lower_numbers(l, lower_elem(l, v->shape.type), &t, v->name);
    l->at[value].has_view = 1;
    if (!l->at[value].has_storage) /* it may have been made in another type */
        new_storage(l, value);
    lower_pin(l, value);
    op_tensor_free(&t);
}

int lower_scalar(const struct lowering *l, uint32_t value, double *number)
{
    const struct op_value *v = &l->og->value[value];
    struct op_tensor t;

    if (!op_value_constant_kind(v) || op_shape_count(&v->shape) != 1 ||
        op_value_read(l->og, value, &t) != EMU_OK)
        return 0;
    *number = op_tensor_number(&t, 0);
    op_tensor_free(&t);
    return 1;
}

/* ---- fields ---- */

/* The dimensions of a shape but one, in order. Returns their number. */
static unsigned others(const struct op_shape *s, unsigned axis, uint32_t dim[OP_RANK_MAX])
{
    unsigned n = 0;

    for (unsigned k = 0; k < s->rank; k++) {
        if (k != axis)
            dim[n++] = s->dim[k];
    }
    return n;
}

struct tensor lower_rows(struct lowering *l, struct tensor t, unsigned axis)
{
    unsigned rank = ss_tensor_rank(l->g, t), order[OP_RANK_MAX], n = 0;
    uint32_t length;

    EMU_ASSERT(axis < rank && rank <= OP_RANK_MAX);
    length = ss_tensor_shape(l->g, t)[axis];
    for (unsigned k = 0; k < rank; k++) {
        if (k != axis)
            order[n++] = k;
    }
    order[n] = axis;
    if (axis + 1 < rank)
        t = ss_tensor_transpose(l->g, t, order);
    return ss_tensor_reshape(
        l->g, t, 2,
        (const uint32_t[]){ length ? (uint32_t)(ss_tensor_elements(l->g, t) / length) : 0,
                            length });
}

struct tensor lower_from_rows(struct lowering *l, struct tensor t, const struct op_shape *to,
                              unsigned axis)
{
    uint32_t dim[OP_RANK_MAX];
    unsigned n = others(to, axis, dim), order[OP_RANK_MAX];

    dim[n] = to->dim[axis];
    t = ss_tensor_reshape(l->g, t, to->rank, dim);
    for (unsigned k = 0; k < to->rank; k++)
        order[k] = k < axis ? k : k == axis ? n : k - 1;
    return axis + 1 < to->rank ? ss_tensor_transpose(l->g, t, order) : t;
}

/* A field [c16][n][h][w][16] as the view of a value. */
static struct tensor view_of_field(struct lowering *l, const struct activation *f, unsigned axis,
                                   const struct op_shape *s)
{
    uint32_t blocks = channel_blocks_of(f->c);
    uint32_t positions = f->n * f->h * f->w;
    struct tensor t =
        ss_tensor_reshape(l->g, f->t, 3, (const uint32_t[]){ blocks, positions, CHANNEL_BLOCK });

    t = ss_tensor_transpose(l->g, t, (const unsigned[]){ 1, 0, 2 });
    t = ss_tensor_reshape(l->g, t, 2, (const uint32_t[]){ positions, blocks * CHANNEL_BLOCK });
    if (f->c < blocks * CHANNEL_BLOCK)
        t = ss_tensor_slice(l->g, t, 1, 0, f->c);
    return lower_from_rows(l, t, s, axis);
}

/* [positions][channels] with channels filled up with zeros, as [c16][positions][16]. */
static struct tensor blocks_of_rows(struct lowering *l, struct tensor rows)
{
    uint32_t positions = ss_tensor_shape(l->g, rows)[0], c = ss_tensor_shape(l->g, rows)[1];
    uint32_t blocks = channel_blocks_of(c), rest = blocks * CHANNEL_BLOCK - c;

    if (rest) {
        const struct op_shape zeros = { .rank = 2, .dim = { positions, rest } };
        struct tensor part[] = { rows, lower_filled(l, ELEM_F16, &zeros, 0) };

        rows = ss_tensor_concat(l->g, part, 2, 1);
    }
    rows = ss_tensor_reshape(l->g, rows, 3, (const uint32_t[]){ positions, blocks, CHANNEL_BLOCK });
    return ss_tensor_transpose(l->g, rows, (const unsigned[]){ 1, 0, 2 });
}

struct activation lower_copied_field(struct lowering *l, struct tensor t, uint32_t channels)
{
    const uint32_t *s = ss_tensor_shape(l->g, t);
    struct activation f = { .n = s[1], .c = channels, .h = s[2], .w = s[3] };

    f.t = ss_graph_variable(l->g, ELEM_F16, 5, s, "field");
    ss_graph_map_linear(l->g, f.t, CHANNEL_BLOCK, 4 * CHANNEL_BLOCK, 0,
                        ss_graph_compute_tiles(l->g));
    ss_program_add(l->g, l->seq, ss_program_copy(l->g, t, f.t));
    return f;
}

struct activation lower_field_of(struct lowering *l, struct tensor t, unsigned axis, uint32_t n,
                                 uint32_t h, uint32_t w)
{
    struct tensor rows = lower_rows(l, t, axis);
    uint32_t c = ss_tensor_shape(l->g, rows)[1];
    uint32_t blocks = channel_blocks_of(c);
    const uint32_t shape[] = { blocks, n, h, w, CHANNEL_BLOCK };

    if (ss_tensor_elem(l->g, rows) != ELEM_F16)
        rows = ss_op_cast(l->g, l->seq, rows, ELEM_F16, "half");
    return lower_copied_field(l, ss_tensor_reshape(l->g, blocks_of_rows(l, rows), 5, shape), c);
}

static struct activation reshaped(struct lowering *l, const struct activation *f, uint32_t n,
                                  uint32_t h, uint32_t w)
{
    const uint32_t shape[] = { channel_blocks_of(f->c), n, h, w, CHANNEL_BLOCK };

    if (f->n == n && f->h == h && f->w == w)
        return *f;
    return (struct activation){ ss_tensor_reshape(l->g, f->t, 5, shape), n, f->c, h, w };
}

struct tensor lower_field_columns(struct lowering *l, const struct activation *f, int each_item)
{
    uint32_t blocks = channel_blocks_of(f->c), positions = f->h * f->w;
    uint32_t columns = blocks * CHANNEL_BLOCK * (each_item ? f->n : 1);
    struct tensor t = ss_tensor_reshape(
        l->g, f->t, 4, (const uint32_t[]){ blocks, f->n, positions, CHANNEL_BLOCK });

    t = ss_tensor_transpose(
        l->g, t, each_item ? (const unsigned[]){ 2, 1, 0, 3 } : (const unsigned[]){ 1, 2, 0, 3 });
    return ss_tensor_reshape(
        l->g, t, 2, (const uint32_t[]){ each_item ? positions : f->n * positions, columns });
}

int lower_computes_on_field(const struct lowering *l, uint32_t value)
{
    return l->real == ELEM_F16 && placed_as_field(&l->at[value]);
}

int lower_has_field(const struct lowering *l, uint32_t value, unsigned axis)
{
    const struct placed *p = &l->at[value];

    return placed_as_field(p) && p->axis == axis;
}

struct activation lower_field(struct lowering *l, uint32_t value, unsigned axis, uint32_t n,
                              uint32_t h, uint32_t w)
{
    struct placed *p = &l->at[value];

    if (!p->has_field || p->axis != axis) {
        struct activation f = lower_field_of(l, lower_view(l, value), axis, n, h, w);

        if (p->has_field)
            return f;
        p->field = f;
        p->axis = axis;
        p->has_field = 1;
        p->field_is_rounded = l->real == ELEM_F32;
        /* The view stays where it was, so that overwriting the field does not change other values.
         */
    }
    return reshaped(l, &p->field, n, h, w);
}

/* Whether from now on only this group reads the memory there. */
static int is_last_reader(const struct lowering *l, uint32_t value)
{
    return l->storage_left[l->at[value].storage] <= 1;
}

struct activation lower_field_to_change(struct lowering *l, uint32_t value, unsigned axis,
                                        uint32_t n, uint32_t h, uint32_t w)
{
    struct activation x = lower_field(l, value, axis, n, h, w), y = x;

    if (is_last_reader(l, value))
        return x;
    y.t = ss_graph_variable(l->g, ELEM_F16, 5, ss_tensor_shape(l->g, x.t), "in");
    ss_graph_map_like(l->g, y.t, x.t);
    ss_program_add(l->g, l->seq, ss_program_copy(l->g, x.t, y.t));
    return y;
}

/* ---- operands and results ---- */

struct tensor lower_view(struct lowering *l, uint32_t value)
{
    struct placed *p = &l->at[value];

    p->view_is_read = 1;
    if (!p->has_view && !p->has_field)
        place_constant(l, value);
    if (!p->has_view) {
        p->view = view_of_field(l, &p->field, p->axis, lower_shape(l, value));
        p->has_view = 1;
        if (l->real != ELEM_F16)
            p->view = ss_op_cast(l->g, l->seq, p->view, l->real, "wide");
    }
    return p->view;
}

struct tensor lower_state_numbers(struct lowering *l, uint32_t value)
{
    struct placed *p = &l->at[value];

    if (!p->has_state)
        return lower_view(l, value);
    p->state_is_read = 1;
    return p->state;
}

const struct norm_statistics *lower_statistics(struct lowering *l, uint32_t value)
{
    l->at[value].statistics_are_read = 1;
    return &l->at[value].statistics;
}

/* What is left to be read of a value, as f16. */
static void narrow(struct lowering *l, uint32_t value)
{
    struct placed *p = &l->at[value];

    if (!p->has_view || ss_tensor_elem(l->g, p->view) != ELEM_F32 || p->has_state)
        return;
    if (lower_is_constant(l, value)) {
        p->has_view = 0; /* made again if it is asked for */
    } else if (l->storage_left[p->storage]) {
        p->view = ss_op_cast(l->g, l->seq, p->view, ELEM_F16, l->og->value[value].name);
        p->has_field = 0;
    }
}

void lower_narrow(struct lowering *l)
{
    for (uint32_t v = 0; v < l->og->values; v++)
        narrow(l, v);
    l->real = ELEM_F16;
}

void lower_narrow_value(struct lowering *l, uint32_t value)
{
    struct placed *p = &l->at[value];

    if (l->real != ELEM_F16 || !p->has_view || p->has_state || p->is_narrowed ||
        ss_tensor_elem(l->g, p->view) != ELEM_F32)
        return;
    p->wide = p->view;
    p->view = ss_op_cast(l->g, l->seq, p->view, ELEM_F16, "rounded");
    p->is_narrowed = 1;
}

void lower_widen_value(struct lowering *l, uint32_t value)
{
    struct placed *p = &l->at[value];

    if (!p->is_narrowed)
        return;
    p->view = p->wide;
    p->field_is_rounded = p->has_field; /* made of what was rounded */
    p->is_narrowed = 0;
}

/* ---- groups in f32 among others ---- */

static int is_float(const struct lowering *l, uint32_t value)
{
    return op_type_kind(lower_shape(l, value)->type) != OP_KIND_INT;
}

void lower_as_wide(struct lowering *l, uint32_t value, int takes_f16, struct placed *before)
{
    struct placed *p = value == OP_NONE ? NULL : &l->at[value];

    if (!p || !is_float(l, value))
        return;
    if (!lower_is_constant(l, value))
        lower_view(l, value);
    *before = *p;
    p->has_field = 0;
    if (lower_is_constant(l, value))
        p->has_view = 0; /* made anew, in f32 */
    else if (ss_tensor_elem(l->g, p->view) == ELEM_F16 && !takes_f16)
        p->view = ss_op_cast(l->g, l->seq, p->view, ELEM_F32, "wide");
}

void lower_as_before(struct lowering *l, uint32_t value, const struct placed *before)
{
    struct placed *p = value == OP_NONE ? NULL : &l->at[value];
    uint32_t storage = p ? p->storage : 0;
    int has_storage = p && p->has_storage;

    if (!p || !is_float(l, value))
        return;
    *p = *before;
    p->storage = storage;
    p->has_storage = has_storage;
}

void lower_round_value(struct lowering *l, uint32_t value)
{
    struct placed *p = value == OP_NONE ? NULL : &l->at[value];

    if (p && p->has_view && ss_tensor_elem(l->g, p->view) == ELEM_F32)
        p->view = ss_op_cast(l->g, l->seq, p->view, ELEM_F16, l->og->value[value].name);
}

struct tensor lower_made_view(struct lowering *l, uint32_t value)
{
    const struct placed *p = &l->at[value];

    return p->has_view ? p->view : view_of_field(l, &p->field, p->axis, lower_shape(l, value));
}

void lower_set_view(struct lowering *l, uint32_t value, struct tensor t)
{
    if (value == OP_NONE)
        return;
    l->at[value].view = lower_reshape(l, t, lower_shape(l, value));
    l->at[value].has_view = 1;
    new_storage(l, value);
}

void lower_set_field(struct lowering *l, uint32_t value, struct activation f, unsigned axis)
{
    l->at[value].field = f;
    l->at[value].axis = axis;
    l->at[value].has_field = 1;
    new_storage(l, value);
}

void lower_set_alias(struct lowering *l, uint32_t value, uint32_t of, struct tensor t)
{
    if (value == OP_NONE)
        return;
    l->at[value].view = lower_reshape(l, t, lower_shape(l, value));
    l->at[value].has_view = 1;
    share_storage(l, value, of);
}

/* ---- views ---- */

struct tensor lower_reshape(struct lowering *l, struct tensor t, const struct op_shape *to)
{
    unsigned rank = ss_tensor_rank(l->g, t);

    if (rank == to->rank && !memcmp(ss_tensor_shape(l->g, t), to->dim, rank * sizeof(to->dim[0])))
        return t;
    return ss_tensor_reshape(l->g, t, to->rank, to->dim);
}

struct tensor lower_broadcast(struct lowering *l, struct tensor t, const struct op_shape *to)
{
    uint32_t shape[OP_RANK_MAX];
    unsigned rank = ss_tensor_rank(l->g, t), lead = to->rank - rank;

    EMU_ASSERT(rank <= to->rank);
    for (unsigned k = 0; k < to->rank; k++)
        shape[k] = k < lead ? 1 : ss_tensor_shape(l->g, t)[k - lead];
    if (lead)
        t = ss_tensor_reshape(l->g, t, to->rank, shape);
    for (unsigned k = 0; k < to->rank; k++) {
        if (shape[k] == 1 && to->dim[k] != 1)
            t = ss_tensor_broadcast(l->g, t, k, to->dim[k]);
    }
    return t;
}

struct tensor lower_filled(struct lowering *l, enum elem e, const struct op_shape *s, double number)
{
    uint64_t bits = pack_one(e, number);
    struct tensor t = ss_graph_constant(
        l->g, e, s->rank, (const uint32_t[OP_RANK_MAX]){ 1, 1, 1, 1, 1, 1, 1, 1 }, &bits, "fill");

    ss_graph_map(l->g, t, ss_graph_first_tile(l->g, 1));
    return lower_broadcast(l, t, s);
}

struct op_call lower_call(const struct lowering *l, const struct op_node *n)
{
    return op_attrs_of(l->og, n);
}

unsigned lower_axis(const struct lowering *l, const struct op_node *n)
{
    struct op_call c = lower_call(l, n);
    int64_t axis = op_int(&c, "axis");

    return (unsigned)(axis < 0 ? axis + (int64_t)lower_shape(l, n->in[0])->rank : axis);
}
