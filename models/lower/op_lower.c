/* op_lower.c - walks the groups of an operator graph and lowers each by its family. */

#include "emu/arch/arch.h"
#include "models/lower/lower_batches.h"
#include "models/lower/lower_call.h"
#include "models/lower/lower_stage.h"
#include "models/lower/lower_state.h"
#include "models/lower/op_live.h"

/* Families whose lowering has another name or is not built yet, or that refuse nothing. */
#define lower_constant     NULL
#define lower_conv         lower_dense
#define lower_einsum       NULL
#define lower_shape        NULL
#define lower_view         lower_view_node
#define alias_obstacle     NULL
#define constant_obstacle  NULL
#define conv_obstacle      dense_obstacle
#define einsum_obstacle    NULL
#define norm_back_obstacle NULL
#define shape_obstacle     NULL
#define view_obstacle      NULL
static const struct lower_family family[] = {
#define FAMILY(name, flags) [FAMILY_##name] = { lower_##name, name##_obstacle },
#include "models/operators/op_families.def"
#undef FAMILY
};
#undef lower_shape
#undef lower_view

static const struct lower_family *family_of(const struct op_node *n)
{
    const struct lower_family *f = &family[n->row->family_code];

    return f->lower ? f : NULL;
}

/* ---- what can be lowered ---- */

/* Whether results beside the first one are lowered. */
static int makes_more_results(const struct op_node *n)
{
    return op_node_has(n, OP_MORE_RESULTS) || op_node_is(n, OP_Split) ||
           op_node_is(n, OP_LayerNormalization) ||
           (op_node_is(n, OP_BatchNormalization) && n->outs == 3);
}

static const char *obstacle_of(const struct op_graph *g, const struct op_node *n)
{
    const struct lower_family *f = family_of(n);

    if (!f)
        return "no lowering of the operator is built yet";
    for (uint32_t k = 0; k < n->ins; k++) {
        const struct op_shape *s = n->in[k] == OP_NONE ? NULL : &g->value[n->in[k]].shape;

        if (s && (op_type_kind(s->type) == OP_KIND_NONE))
            return "numbers of that type are not known on the chip";
        if (s && !op_shape_count(s))
            return "an input has no elements";
    }
    for (uint32_t k = 0; k < n->outs; k++) {
        if (n->out[k] != OP_NONE && !op_shape_count(&g->value[n->out[k]].shape))
            return "a result has no elements";
    }
    if (f->obstacle && f->obstacle(g, n))
        return f->obstacle(g, n);
    for (uint32_t k = 1; k < n->outs; k++) {
        if (n->out[k] != OP_NONE && value_reads(g, n->out[k]) && !makes_more_results(n))
            return "results beside the first one";
    }
    return NULL;
}

/* "f32 [1, 3, 224, 224], f32 [64, 3, 7, 7]" */
static void inputs_text(const struct op_graph *g, const struct op_node *n, char *out, size_t bytes)
{
    char shape[OP_SHAPE_TEXT];
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t k = 0; k < n->ins && used + 1 < bytes; k++)
        used += (size_t)snprintf(
            out + used, bytes - used, "%s%s", k ? ", " : "",
            n->in[k] == OP_NONE ? "-" : op_shape_text(&g->value[n->in[k]].shape, shape));
}

enum emu_status op_lower_check(struct op_graph *g)
{
    for (uint32_t i = 0; i < g->nodes; i++) {
        const struct op_node *n = &g->node[i];
        const char *why = obstacle_of(g, n);
        char inputs[256];

        if (!why)
            continue;
        inputs_text(g, n, inputs, sizeof(inputs));
        TRY(op_graph_problem(g, n->name, n->row->name, inputs, why));
    }
    return EMU_OK;
}

enum emu_status op_lower_check_machine(const struct arch *a, const struct op_graph *g)
{
    struct conv_kernels known = { .count = 0 };

    for (uint32_t i = 0; i < g->nodes; i++) {
        const struct op_node *n = &g->node[i];
        const struct node_group alone = {
            .node = { i }, .nodes = 1, .bias = OP_NONE, .added = OP_NONE, .real = ELEM_F16
        };
        const struct lower_options o = { .real = ELEM_F16 };
        struct dense_layer layer;
        struct conv_shape shape;
        enum emu_status s;

        if (!op_node_is(n, OP_Conv) || !node_group_conv(g, &alone, &o, &layer, &shape))
            continue;
        s = ss_conv_check(a, &shape, &known);
        if (s != EMU_OK)
            return ss_fail(s, "node %s: %s", n->name, ss_error());
    }
    return EMU_OK;
}

/* ---- inputs and outputs ---- */

/* A place in the program before what is added from now on. */
static struct program place(struct lowering *l)
{
    struct program first = ss_program_sequence(l->g);

    ss_program_add(l->g, l->seq, first);
    return first;
}

static struct tensor arriving(struct lowering *l, uint32_t value, enum elem elem,
                              struct lowered_value *in);

/* Pictures in the format that the options say, as a first layer reads them. */
static struct activation formatted_picture(struct lowering *l, const struct op_shape *s,
                                           struct lowered_value *in)
{
    struct program first = place(l);
    struct tensor raw;
    struct activation x = ss_op_pixels(l->nn, s->dim[0], s->dim[2], s->dim[3],
                                       l->options->loop.pixels, &raw, in->name);

    in->lanes = x.c;
    lower_arrive(l, in, raw, first);
    return x;
}

/* The same of pictures that another stage has made, which it sends in the order of their shape. */
static struct activation picture_of_stage(struct lowering *l, const struct op_shape *s,
                                          struct lowered_value *in, struct activation x)
{
    struct tensor t = arriving(l, in->value, ELEM_F16, in);

    ss_op_fill(l->g, l->seq, x.t, 0, in->name); /* channels beyond the last */
    ss_program_add(l->g, l->seq,
                   ss_program_copy(l->g,
                                   ss_tensor_transpose(l->g, t, (const unsigned[]){ 0, 2, 3, 1 }),
                                   ss_tensor_slice(l->g, x.t, 3, 0, s->dim[1])));
    return x;
}

/* Pictures as a first layer reads them, which come with every micro batch. */
static struct activation streamed_picture(struct lowering *l, const struct op_shape *s,
                                          struct lowered_value *in)
{
    const uint32_t shape[] = { s->dim[0], s->dim[2], s->dim[3], 4 };
    struct activation x = { ss_graph_variable(l->g, ELEM_F16, 4, shape, in->name), s->dim[0], 3,
                            s->dim[2], s->dim[3] };

    ss_graph_map_linear(l->g, x.t, 64, 64, 0, ss_graph_compute_tiles(l->g));
    if (lower_comes_from_stage(l, in->value))
        return picture_of_stage(l, s, in, x);
    in->lanes = 4;
    lower_arrive(l, in, x.t, place(l));
    return x;
}

/* Whether an input is the one whose format lower_loop.pixels gives. */
static int is_formatted(const struct lowering *l, uint32_t value)
{
    return l->options->loop.pixels && value == l->og->input[0];
}

static void add_picture(struct lowering *l, uint32_t value, struct lowered_value *in)
{
    const struct op_shape *s = lower_shape(l, value);
    struct activation x;
    struct tensor t;

    if (is_formatted(l, value)) {
        x = formatted_picture(l, s, in);
    } else if (lower_is_of_batch(l, value)) {
        x = streamed_picture(l, s, in);
    } else {
        x = ss_op_picture(l->nn, s->dim[0], s->dim[2], s->dim[3], in->name);
        in->lanes = 4;
        in->view = x.t;
        in->elem = ELEM_F16;
    }
    x.c = s->dim[1];
    l->at[value].picture = x;
    t = ss_tensor_transpose(l->g, x.t, (const unsigned[]){ 0, 3, 1, 2 });
    lower_set_view(l, value, ss_tensor_slice(l->g, t, 1, 0, x.c));
}

/* Numbers in the value's order, floats, say, or bytes that become floats. */
static struct tensor arriving(struct lowering *l, uint32_t value, enum elem elem,
                              struct lowered_value *in)
{
    enum { GRAIN = 16, LEAST = 64 };
    const struct op_shape *s = lower_shape(l, value);
    struct program first = place(l);
    uint32_t channels = s->rank == 4 ? s->dim[1] : 1;
    struct tensor t, raw;

    if (is_formatted(l, value) && l->options->loop.pixels->elem == ELEM_U8) {
        t = ss_op_bytes(l->nn, elem, s->rank, s->dim, channels,
                        (uint32_t)op_shape_count(s) / s->dim[0] / channels, l->options->loop.pixels,
                        &raw, in->name);
    } else {
        raw = t = ss_graph_variable(l->g, elem, s->rank, s->dim, in->name);
        ss_graph_map_linear(l->g, t, GRAIN, LEAST, 0, ss_graph_compute_tiles(l->g));
    }
    lower_arrive(l, in, raw, first);
    return t;
}

/* Whether an input is a field that convolutions train on: their gradients need it in whole blocks
 * of channels. */
int lower_is_trained_on(const struct lowering *l, uint32_t value)
{
    const struct op_shape *s = lower_shape(l, value);
    int found = 0;

    for (uint32_t i = 0; i < l->og->nodes; i++)
        found |=
            op_node_is(&l->og->node[i], OP_ConvWeightGradient) && l->og->node[i].in[0] == value;
    return found && l->real == ELEM_F16 && s->rank == 4;
}

/* A field of zeros for an input. */
static struct activation new_input_field(struct lowering *l, uint32_t value, const char *name)
{
    const struct op_shape *s = lower_shape(l, value);
    struct activation x = { .n = s->dim[0], .c = s->dim[1], .h = s->dim[2], .w = s->dim[3] };
    const uint32_t shape[] = { channel_blocks_of(x.c), x.n, x.h, x.w, CHANNEL_BLOCK };
    /* pixels in three bytes become numbers on tiles that have sixteen of them */
    uint32_t grain = is_formatted(l, value) && x.c == 3 ? 16 * CHANNEL_BLOCK : CHANNEL_BLOCK;
    void *zeros;

    x.t = ss_graph_variable(l->g, ELEM_F16, 5, shape, name);
    zeros = emu_alloc(ss_tensor_elements(l->g, x.t) + 1, ss_elem_bytes(ELEM_F16));
    if (!zeros) {
        ss_graph_fail(l->g, EMU_NO_MEMORY, "%s", name);
        return x;
    }
    ss_graph_map_linear(l->g, x.t, grain, grain > 4 * CHANNEL_BLOCK ? grain : 4 * CHANNEL_BLOCK, 0,
                        ss_graph_compute_tiles(l->g));
    ss_graph_set_initial(l->g, x.t, zeros);
    ss_graph_keep(l->g, x.t);
    ss_free(zeros);
    return x;
}

/* The host sends the channels of the input only; those that fill up blocks stay 0. */
static void add_field(struct lowering *l, uint32_t value, struct lowered_value *in)
{
    struct activation x = new_input_field(l, value, in->name), p;
    struct tensor view, t;

    lower_set_field(l, value, x, 1);
    lower_pin(l, value);
    view = lower_made_view(l, value);
    if (is_formatted(l, value) && x.c == 3) {
        const uint32_t shape[] = { 1, x.n, x.h, x.w, 4 };

        p = formatted_picture(l, lower_shape(l, value), in);
        t = ss_tensor_reshape(l->g, p.t, 5, shape); /* the fourth number is 0 */
        ss_program_add(l->g, l->seq, ss_program_copy(l->g, t, ss_tensor_slice(l->g, x.t, 4, 0, 4)));
    } else if (is_formatted(l, value) || lower_is_of_batch(l, value)) {
        t = arriving(l, value, ELEM_F16, in);
        ss_program_add(
            l->g, l->seq,
            ss_program_copy(l->g, ss_tensor_flatten(l->g, t), ss_tensor_flatten(l->g, view)));
    } else {
        in->elem = ELEM_F16;
        in->view = view;
    }
}

static void add_input(struct lowering *l, uint32_t value, struct lowered_value *in)
{
    const struct op_value *v = &l->og->value[value];

    in->value = value;
    in->name = v->name;
    if (v->kind == OP_STATE) {
        in->view = l->at[value].state;
        in->elem = ss_tensor_elem(l->g, in->view);
    } else if (value_is_picture(l->og, value)) {
        add_picture(l, value, in);
    } else if (lower_is_trained_on(l, value)) {
        add_field(l, value, in);
    } else {
        lower_set_view(l, value, arriving(l, value, lower_input_elem(l, value), in));
    }
}

/* Places either the inputs that come with every micro batch, or all others. */
static void add_inputs(struct lowering *l, int of_batch)
{
    for (uint32_t k = 0; k < l->og->inputs; k++) {
        if (lower_is_of_batch(l, l->og->input[k]) == of_batch)
            add_input(l, l->og->input[k], &l->out->in[k]);
    }
}

/* The state that a value becomes; OP_NONE: none. */
static uint32_t state_of(const struct op_graph *g, uint32_t value)
{
    for (uint32_t k = 0; k < g->updates; k++) {
        if (g->update[k].value == value)
            return g->update[k].state;
    }
    return OP_NONE;
}

/* Outputs are copied where they cannot be read after the run, or lie in pieces; of an open loop
 * those of the last batch can. */
static void add_output(struct lowering *l, uint32_t k)
{
    uint32_t value = l->og->output[k];
    struct lowered_value *out = &l->out->out[k];
    const struct op_value *v = &l->og->value[value];
    uint32_t state = state_of(l->og, value);
    struct tensor t;

    out->value = value;
    out->name = v->name;
    if (state != OP_NONE) {
        out->view = l->at[state].state;
        out->elem = ss_tensor_elem(l->g, out->view);
        return;
    }
    t = lower_view(l, value);
    out->elem = ss_tensor_elem(l->g, t);
    if (l->options->stage && k >= l->options->stage->results) {
        out->view = t;
        out->is_edge = 1;
        return;
    }
    if (lower_leaves(l, k) && !l->options->loop.is_open) {
        out->view = t;
        lower_stream_out(l, t, out);
        return;
    }
    if (v->kind == OP_RESULT && !l->storage_is_input[l->at[value].storage]) {
        out->view = t;
    } else {
        out->view = ss_graph_variable(l->g, out->elem, v->shape.rank, v->shape.dim, v->name);
        ss_graph_map_like(l->g, out->view, t);
        ss_program_add(l->g, l->seq, ss_program_copy(l->g, t, out->view));
    }
    ss_graph_keep(l->g, out->view);
    if (lower_leaves(l, k))
        lower_stream_out(l, out->view, out);
}

/* ---- what is kept ---- */

void lower_mark_kept(const struct op_graph *g, const struct node_groups *groups,
                     const struct lower_options *o, uint8_t *kept)
{
    for (uint32_t i = o->keep_begin; i < o->keep_end && i < groups->count; i++) {
        const struct node_group *group = &groups->at[i];
        const struct op_node *last = &g->node[group->node[group->nodes - 1]];

        for (unsigned k = 0; k < group->nodes; k++) {
            const struct op_node *n = &g->node[group->node[k]];

            for (uint32_t j = 0; j < n->ins; j++) {
                if (n->in[j] != OP_NONE && !op_value_constant_kind(&g->value[n->in[j]]))
                    kept[n->in[j]] = 1;
            }
        }
        for (uint32_t j = 0; j < last->outs; j++) {
            if (last->out[j] != OP_NONE)
                kept[last->out[j]] = 1;
        }
    }
}

const struct lowered_value *lower_kept(const struct lowered_network *n, uint32_t value)
{
    for (uint32_t k = 0; k < n->kepts; k++) {
        if (n->kept[k].value == value)
            return &n->kept[k];
    }
    return NULL;
}

/* Keeps a value that has just been made, if it is wanted; values within a group never are. */
static void keep(struct lowering *l, uint32_t value)
{
    struct lowered_value *v = &l->out->kept[l->out->kepts];

    if (value == OP_NONE || !l->is_kept[value] ||
        (!l->at[value].has_view && !l->at[value].has_field))
        return;
    v->value = value;
    v->name = l->og->value[value].name;
    v->view = lower_made_view(l, value);
    v->elem = ss_tensor_elem(l->g, v->view);
    ss_graph_keep(l->g, v->view);
    l->out->kepts++;
}

/* ---- groups ---- */

static void group_is_done(struct lowering *l, const struct node_group *group)
{
    for (unsigned k = 0; k < group->nodes; k++) {
        const struct op_node *n = &l->og->node[group->node[k]];

        for (uint32_t i = 0; i < n->ins; i++)
            lower_read_once(l, n->in[i]);
        for (uint32_t i = 0; i < n->outs; i++) {
            lower_gradient_is_made(l, n->out[i], NULL);
            keep(l, n->out[i]);
        }
    }
}

/* Adds up results of a group. */
static void watch(struct lowering *l, const struct node_group *group)
{
    const struct op_node *last = &l->og->node[group->node[group->nodes - 1]];

    for (uint32_t k = 0; k < last->outs; k++) {
        uint32_t value = last->out[k];
        struct lowered_sum *w = &l->out->watched[l->out->watches];
        struct tensor t;

        if (value == OP_NONE || (!l->at[value].has_view && !l->at[value].has_field) ||
            l->at[value].has_state || op_type_kind(lower_shape(l, value)->type) != OP_KIND_FLOAT)
            continue;
        t = lower_made_view(l, value);
        if (ss_tensor_elem(l->g, t) != ELEM_F16 && ss_tensor_elem(l->g, t) != ELEM_F32)
            continue;
        w->node = last->name;
        w->sum = ss_op_total(l->g, l->seq, REDUCE_SUM, t, "watched");
        ss_graph_keep(l->g, w->sum);
        l->out->watches++;
    }
}

/* Whether a node makes gradients of parameters and nothing else. */
static int is_of_weights(const struct lowering *l, const struct op_node *n)
{
    uint32_t gradients = 0;

    for (uint32_t k = 0; k < n->outs; k++) {
        if (n->out[k] == OP_NONE)
            continue;
        if (l->gradient_of[n->out[k]] == OP_NONE)
            return 0;
        gradients++;
    }
    return gradients != 0;
}

int lower_reads_f32(const struct op_graph *g, const struct op_node *n)
{
    return op_node_has(n, OP_READS_F32) || norm_trains(g, n);
}

/* What a group reads, before and after it is lowered. */
static void narrow_inputs(struct lowering *l, const struct node_group *group, int back)
{
    for (unsigned k = 0; k < group->nodes; k++) {
        const struct op_node *n = &l->og->node[group->node[k]];

        for (uint32_t i = 0; i < n->ins && !lower_reads_f32(l->og, n); i++) {
            if (n->in[i] != OP_NONE && back)
                lower_widen_value(l, n->in[i]);
            else if (n->in[i] != OP_NONE)
                lower_narrow_value(l, n->in[i]);
        }
    }
}

/* Whether a reduction takes f16 as it is and adds up in f32: a copy in f32 would be as large as
 * what is summed. */
static int sums_f16(const struct op_node *n)
{
    return op_node_is_of(n, FAMILY_reduce) && !op_node_is(n, OP_ReduceLogSumExp);
}

static enum emu_status lower_rounded(struct lowering *l, const struct node_group *group,
                                     const struct op_node *n)
{
    enum emu_status s;

    narrow_inputs(l, group, 0);
    s = family_of(n)->lower(l, group, n);
    narrow_inputs(l, group, 1);
    return s;
}

/* A group in f32 among others in f16. */
static enum emu_status lower_wide(struct lowering *l, const struct node_group *group,
                                  const struct op_node *n)
{
    const struct op_node *last = &l->og->node[group->node[group->nodes - 1]];
    struct placed *before = emu_alloc(n->ins + 1, sizeof(*before));
    enum emu_status s;

    if (!before)
        return FAIL(NO_MEMORY, "%s", n->name);
    for (uint32_t i = 0; i < n->ins; i++)
        lower_as_wide(l, n->in[i], sums_f16(n), &before[i]);
    l->real = ELEM_F32;
    s = family_of(n)->lower(l, group, n);
    l->real = ELEM_F16;
    for (uint32_t i = n->ins; i-- > 0;)
        lower_as_before(l, n->in[i], &before[i]);
    for (uint32_t i = 0; group->precision == OP_WIDE_INSIDE && i < last->outs; i++)
        lower_round_value(l, last->out[i]);
    ss_free(before);
    return s;
}

enum emu_status lower_one(struct lowering *l, const struct node_group *group)
{
    const struct op_node *n = &l->og->node[group->node[0]];
    const struct lower_family *f = family_of(n);
    int weights = is_of_weights(l, n);
    enum emu_status s;

    if (!f)
        return FAIL(BAD_FILE, "node %s (%s): no lowering of the operator is built yet", n->name,
                    n->row->name);
    l->out->group[l->group].scope = ss_graph_push(l->g, n->name);
    if (weights)
        ss_graph_push(l->g, "weights");
    s = group->precision == OP_AS_OTHERS || lower_reads_f32(l->og, n) ? lower_rounded(l, group, n)
                                                                      : lower_wide(l, group, n);
    if (weights)
        ss_graph_pop(l->g);
    if (s == EMU_OK && l->options->watch)
        watch(l, group);
    ss_graph_pop(l->g);
    if (s == EMU_OK)
        s = ss_graph_status(l->g);
    if (s != EMU_OK)
        return ss_fail(s, "node %s (%s): %s", n->name, n->row->name, ss_error());
    group_is_done(l, group);
    return EMU_OK;
}

static enum emu_status lower_groups(struct lowering *l)
{
    uint32_t called;

    for (l->group = 0; l->group < l->groups->count; l->group += called ? called : 1) {
        if (node_group_around(&l->groups->at[l->group]) != l->real)
            lower_narrow(l);
        TRY(lower_call_stretch(l, &called));
        if (!called)
            TRY(lower_one(l, &l->groups->at[l->group]));
    }
    return EMU_OK;
}

static enum emu_status lower_all(struct lowering *l)
{
    const struct op_graph *og = l->og;

    lower_place_states(l);
    if (l->groups->count)
        l->real = node_group_around(&l->groups->at[0]);
    add_inputs(l, 0);
    TRY(ss_graph_status(l->g));
    TRY(lower_batches_begin(l));
    lower_stage_begin(l);
    add_inputs(l, 1);
    for (uint32_t k = 0; k < og->inputs; k++)
        keep(l, og->input[k]);
    TRY(ss_graph_status(l->g));
    TRY(lower_groups(l));
    for (uint32_t k = 0; k < og->outputs; k++)
        add_output(l, k);
    TRY(lower_stage_end(l));
    lower_batches_end(l);
    lower_update_states(l);
    TRY(lower_batches_close(l));
    if (l->options->gradients)
        lower_list_gradients(l);
    l->out->functions = l->blocks->classes;
    ss_graph_set_program(l->g, l->seq);
    return ss_graph_status(l->g);
}

/* ---- plans ---- */

/* Convolutions of equal blocks get one plan, for the fullest moment of all of them. */
static enum emu_status share_plans(const struct op_graph *og, const struct lower_options *o,
                                   const struct equal_blocks *blocks,
                                   const struct lowered_network *n, struct conv_request *request,
                                   uint32_t convs)
{
    uint32_t *conv = emu_alloc(n->groups.count + 1, sizeof(*conv)), at = 0;
    struct conv_shape shape;
    struct dense_layer d;

    if (!conv)
        return FAIL(NO_MEMORY, "plans of %u convolutions", convs);
    for (uint32_t i = 0; i < n->groups.count; i++)
        conv[i] = node_group_conv(og, &n->groups.at[i], o, &d, &shape) ? at++ : OP_NONE;
    for (unsigned pass = 0; pass < 2;
         pass++) { /* the first stretch gets the largest of its class, then all do */
        for (uint32_t i = 0; i < blocks->stretches; i++) {
            const struct stretch *s = &blocks->stretch[i];
            uint32_t first = blocks->stretch[blocks->class[s->class].first].begin;

            for (uint32_t k = 0; k < s->groups; k++) {
                uint32_t a = conv[first + k], b = conv[s->begin + k];

                if (a != OP_NONE && request[b].live > request[a].live)
                    request[a].live = request[b].live;
                if (a != OP_NONE)
                    request[b].live = request[a].live;
            }
        }
    }
    ss_free(conv);
    return EMU_OK;
}

static enum emu_status choose_plans(const struct graph *g, const struct op_graph *og,
                                    const struct lower_options *o,
                                    const struct equal_blocks *blocks, struct lowered_network *out)
{
    const struct arch *a = ss_graph_arch(g);
    uint32_t tiles = ss_graph_compute_tiles(g);
    struct conv_request *request = emu_alloc(og->nodes + 1, sizeof(*request));
    struct conv_demand d = { .conv = request,
                             .least_memory = o->least_memory,
                             .memory_proportion = o->memory_proportion,
                             .parameter_proportion = o->parameter_proportion };
    enum emu_status s = request ? EMU_OK : FAIL(NO_MEMORY, "plans of %u nodes", og->nodes);

    if (s == EMU_OK)
        s = op_live_demand(og, &out->groups, o, tiles, request, &d);
    if (s == EMU_OK)
        s = share_plans(og, o, blocks, out, request, d.convs);
    d.fixed_bytes += conv_plans_fixed(a, op_live_nodes(og)) + o->reserve_bytes;
    if (s == EMU_OK)
        s = conv_plans_choose(a, tiles, &d, &out->plans);
    ss_free(request);
    return s;
}

static enum emu_status new_network(const struct op_graph *og, enum elem real,
                                   struct lowered_network **out)
{
    struct lowered_network *n = emu_alloc(1, sizeof(*n));
    enum emu_status s;

    *out = n;
    if (!n)
        return FAIL(NO_MEMORY, "a network");
    n->graph = og;
    TRY(node_groups_of(og, real, &n->groups));
    n->group = emu_alloc(n->groups.count + 1, sizeof(*n->group));
    n->in = emu_alloc(og->inputs + 1, sizeof(*n->in));
    n->out = emu_alloc(og->outputs + 1, sizeof(*n->out));
    n->kept = emu_alloc(og->values + 1, sizeof(*n->kept));
    n->watched = emu_alloc(og->values + 1, sizeof(*n->watched));
    n->gradient = emu_alloc(og->inputs + 1, sizeof(*n->gradient));
    s = n->group && n->in && n->out && n->kept && n->watched && n->gradient
            ? EMU_OK
            : FAIL(NO_MEMORY, "a network");
    return s;
}

/* Equal blocks, if they are to be functions; values that are kept are those of one block only. */
static enum emu_status find_blocks(const struct op_graph *og, const struct lower_options *o,
                                   const struct lowered_network *n, struct equal_blocks *out)
{
    if (o->share_blocks != SHARE_EQUAL || o->keep_begin < o->keep_end)
        return EMU_OK;
    return equal_blocks_find(og, &n->groups, out);
}

static enum emu_status lowering_begin(struct lowering *l, struct equal_blocks *blocks)
{
    const struct op_graph *og = l->og;

    TRY(find_blocks(og, l->options, l->out, blocks));
    TRY(lower_calls_begin(l, blocks));
    l->at = emu_alloc(og->values + 1, sizeof(*l->at));
    l->storage_left = emu_alloc(lower_storages(l) + 1, sizeof(*l->storage_left));
    l->storage_is_input = emu_alloc(lower_storages(l) + 1, sizeof(*l->storage_is_input));
    l->is_kept = emu_alloc(og->values + 1, sizeof(*l->is_kept));
    l->conv_of = emu_alloc(og->values + 1, sizeof(*l->conv_of));
    l->gradient_of = emu_alloc(og->values + 1, sizeof(*l->gradient_of));
    l->load = emu_alloc(ss_graph_compute_tiles(l->g) + 1, sizeof(*l->load));
    l->out->call = emu_alloc(blocks->stretches + 1, sizeof(*l->out->call));
    if (!l->at || !l->storage_left || !l->storage_is_input || !l->is_kept || !l->conv_of ||
        !l->gradient_of || !l->load || !l->out->call)
        return FAIL(NO_MEMORY, "a network of %u values", og->values);
    l->outer = l->at;
    lower_mark_kept(og, l->groups, l->options, l->is_kept);
    TRY(choose_plans(l->g, og, l->options, blocks, l->out));
    return ss_nn_new(
        l->g, l->seq,
        (uint64_t)(l->options->memory_proportion * (double)ss_graph_arch(l->g)->mem_bytes), &l->nn);
}

static void lowering_end(struct lowering *l, struct equal_blocks *blocks)
{
    ss_nn_free(l->nn);
    if (l->blocks)
        lower_calls_end(l);
    equal_blocks_free(blocks);
    ss_free(l->at);
    ss_free(l->storage_left);
    ss_free(l->storage_is_input);
    ss_free(l->is_kept);
    ss_free(l->conv_of);
    ss_free(l->gradient_of);
    ss_free(l->load);
}

enum emu_status op_lower(struct graph *g, const struct op_graph *og, const struct lower_options *o,
                         struct lowered_network **out)
{
    struct lowering l = { .og = og, .g = g, .real = o->real, .options = o };
    struct equal_blocks blocks = { .stretches = 0 };
    enum emu_status s = new_network(og, o->real, out);

    l.seq = ss_program_sequence(g);
    if (og->updates || og->f32_nodes) /* of thousands of small operations */
        ss_graph_take_turns(g);
    if (s == EMU_OK) {
        l.out = *out;
        l.groups = &(*out)->groups;
        s = lowering_begin(&l, &blocks);
    }
    if (s == EMU_OK)
        s = lower_all(&l);
    lowering_end(&l, &blocks);
    if (s != EMU_OK) {
        op_lower_free(*out);
        *out = NULL;
    }
    return s;
}

void op_lower_free(struct lowered_network *n)
{
    if (!n)
        return;
    node_groups_free(&n->groups);
    conv_plans_free(&n->plans);
    ss_free(n->group);
    ss_free(n->call);
    ss_free(n->in);
    ss_free(n->out);
    ss_free(n->kept);
    ss_free(n->watched);
    ss_free(n->gradient);
    ss_free(n->loop.in);
    ss_free(n->loop.out);
    ss_free(n);
}
