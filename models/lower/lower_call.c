/* lower_call.c - makes functions of equal blocks, and calls them. */
#include "models/lower/lower_call.h"

#include "models/lower/lower_state.h"

/* The tensors of a value that can be handed to a function; a value need not have all of them. */
enum placed_part {
    PART_FIELD,
    PART_VIEW, /* or the blocks of which it is a view */
    PART_STATE,
    PART_MEAN,
    PART_VARIANCE,
    PART_RSTD,
    PARTS
};
#define PART(p) (1u << (p))
enum { STATISTICS = PART(PART_MEAN) | PART(PART_VARIANCE) | PART(PART_RSTD) };

static struct tensor *part_of(struct placed *p, unsigned part)
{
    struct tensor *of[PARTS] = { &p->field.t,
                                 p->has_blocks ? &p->blocks : &p->view,
                                 &p->state,
                                 &p->statistics.mean,
                                 &p->statistics.variance,
                                 &p->statistics.rstd };

    return of[part];
}

/* New memory that is spread over tiles as t is. A tensor that repeats numbers is spread anew, since
 * all of it lies in one place. */
static struct tensor memory_like(struct lowering *l, struct tensor t, const char *name)
{
    enum { GRAIN = 16, LEAST = 32 };
    struct tensor v = ss_graph_variable(l->g, ss_tensor_elem(l->g, t), ss_tensor_rank(l->g, t),
                                        ss_tensor_shape(l->g, t), name);

    if (ss_tensor_repeats(l->g, t))
        ss_graph_map_linear(l->g, v, GRAIN, LEAST, 0, ss_graph_compute_tiles(l->g));
    else
        ss_graph_map_like(l->g, v, t);
    return v;
}

static void copy(struct lowering *l, struct tensor from, struct tensor to)
{
    ss_program_add(l->g, l->seq, ss_program_copy(l->g, from, to));
}

/* ---- formal values ---- */

static int is_read(const struct lowering *l, const struct block_class *c, const struct stretch *s,
                   uint32_t k)
{
    return !c->made[k] && !lower_is_constant(l, s->value[k]);
}

/* The smallest set of tensors from which a value follows. */
static unsigned parts_of(const struct lowering *l, uint32_t value)
{
    const struct placed *p = &l->at[value];
    unsigned parts = placed_as_field(p) ? PART(PART_FIELD) : PART(PART_VIEW);

    if (p->has_state && !p->has_blocks)
        parts |= PART(PART_STATE);
    return p->normed_by ? parts | STATISTICS : parts;
}

/* lent: the value is read where it is. */
static void make_formal(struct lowering *l, uint32_t value, unsigned parts, int lent,
                        struct placed *out)
{
    const char *name = l->og->value[value].name;
    struct placed *p = &l->at[value];

    if (parts & PART(PART_VIEW))
        lower_view(l, value);
    *out = (struct placed){ .field = p->field,
                            .axis = p->axis,
                            .has_field = (parts & PART(PART_FIELD)) != 0,
                            .has_view = (parts & PART(PART_VIEW)) != 0,
                            .has_state = (parts & PART(PART_STATE)) != 0,
                            .has_blocks = p->has_blocks && !placed_as_field(p),
                            .normed_by = p->normed_by };
    for (unsigned k = 0; k < PARTS; k++) {
        if (parts >> k & 1)
            *part_of(out, k) = lent ? *part_of(p, k) : memory_like(l, *part_of(p, k), name);
    }
    if (out->has_blocks)
        out->view = lower_of_blocks(l, value, out->blocks);
}

/* Whether all stretches of the class of s read value k where another function makes it. */
static uint8_t is_lent_to_all(const struct lowering *l, const struct stretch *s, uint32_t k)
{
    int only;

    return l->at[s->value[k]].is_lent &&
           lent_to_all(l->og, l->blocks, l->lent, s->class, k, &only).class != OP_NONE;
}

/* ---- the function ---- */

static enum emu_status new_function(struct block_function *f, const struct block_class *c)
{
    f->is_known = 1;
    f->function = OP_NONE;
    f->formal = emu_alloc(c->values + 1, sizeof(*f->formal));
    f->made = emu_alloc(c->values + 1, sizeof(*f->made));
    f->parts = emu_alloc(c->values + 1, sizeof(*f->parts));
    f->is_lent = emu_alloc(c->values + 1, sizeof(*f->is_lent));
    return f->formal && f->made && f->parts && f->is_lent
               ? EMU_OK
               : FAIL(NO_MEMORY, "a block of %u values", c->values);
}

/* Whether the memory of value k holds other values that are still needed. */
static int is_shared(const struct block_class *c, const struct block_function *f, uint32_t k)
{
    for (uint32_t i = 0; i < c->values; i++) {
        if (i != k && c->asked[i] && f->made[i].has_storage &&
            f->made[i].storage == f->made[k].storage)
            return 1;
    }
    return 0;
}

/* Value k of a stretch within the body. */
static void set_formal(struct lowering *l, const struct stretch *s, const struct block_class *c,
                       const struct block_function *f, uint32_t k)
{
    uint32_t value = s->value[k];
    const struct block_function *maker;
    struct lent_value from;
    int only;

    if (!f->is_lent[k]) {
        lower_set_formal(l, value, &f->formal[k], c->reads[k]);
        return;
    }
    from = lent_to_all(l->og, l->blocks, l->lent, s->class, k, &only);
    maker = l->function + from.class;
    only = only && !is_shared(l->blocks->class + from.class, maker, from.number);
    lower_set_lent(l, value, &f->formal[k], c->reads[k], only);
}

/* Lowers the groups of a stretch on its formal values. */
static enum emu_status lower_body(struct lowering *l, const struct stretch *s,
                                  const struct block_class *c, struct block_function *f)
{
    uint32_t first = l->group, convs = l->conv;

    for (uint32_t k = 0; k < c->values; k++) {
        l->is_result[s->value[k]] = c->asked[k];
        if (is_read(l, c, s, k))
            set_formal(l, s, c, f, k);
    }
    for (; l->group < first + s->groups; l->group++)
        TRY(lower_one(l, &l->groups->at[l->group]));
    l->group = first;
    f->convs = l->conv - convs;
    for (uint32_t k = 0; k < c->values; k++) {
        l->is_result[s->value[k]] = 0;
        f->made[k] = l->at[s->value[k]];
    }
    return EMU_OK;
}

static enum emu_status make_function(struct lowering *l, const struct stretch *s,
                                     struct block_function *f)
{
    const struct block_class *c = &l->blocks->class[s->class];
    const struct op_node *n = &l->og->node[l->groups->at[s->begin].node[0]];
    struct program body = ss_program_sequence(l->g), outer = l->seq;
    struct placed *inner, *at = l->at;
    enum emu_status st;

    TRY(new_function(f, c));
    for (uint32_t k = 0; k < c->values; k++) {
        if (is_read(l, c, s, k) && l->at[s->value[k]].picture.n)
            return EMU_OK;
    }
    inner = emu_alloc(l->og->values + 1, sizeof(*inner));
    if (!inner)
        return FAIL(NO_MEMORY, "a function of %u groups", s->groups);
    ss_graph_push(l->g, n->name);
    for (uint32_t k = 0; k < c->values; k++) {
        if (!is_read(l, c, s, k))
            continue;
        f->parts[k] = (uint8_t)parts_of(l, s->value[k]);
        f->is_lent[k] = is_lent_to_all(l, s, k);
        make_formal(l, s->value[k], f->parts[k], f->is_lent[k], &f->formal[k]);
    }
    ss_graph_pop(l->g);
    l->at = inner;
    l->seq = body;
    ss_nn_continue_in(l->nn, body);
    st = lower_body(l, s, c, f);
    l->at = at;
    if (st == EMU_OK)
        lower_gradients_in_function(l, s->value, c->asked, c->values, f->made);
    l->seq = outer;
    ss_nn_continue_in(l->nn, outer);
    ss_free(inner);
    TRY(st);
    f->function = ss_graph_function(l->g, body, n->block);
    return ss_graph_status(l->g);
}

/* ---- calls ---- */

/* Which tensors of a formal value the body has looked at. */
static unsigned parts_read(const struct block_function *f, uint32_t k)
{
    const struct placed *p = &f->made[k];
    unsigned parts = f->parts[k];

    if (!p->view_is_read)
        parts &= ~PART(PART_VIEW);
    if (!p->state_is_read)
        parts &= ~PART(PART_STATE);
    return p->statistics_are_read ? parts : parts & ~STATISTICS;
}

/* Whether a value can be copied to a formal one. */
static int is_like(struct lowering *l, uint32_t value, const struct block_function *f, uint32_t k)
{
    const struct placed *p = &l->at[value], *formal = &f->formal[k];
    unsigned parts = parts_read(f, k);

    if (p->picture.n || p->normed_by != formal->normed_by)
        return 0;
    if (parts & PART(PART_STATE) && !p->has_state)
        return 0;
    if (parts & PART(PART_VIEW) && formal->has_blocks)
        return p->has_blocks &&
               ss_tensor_elements(l->g, p->blocks) == ss_tensor_elements(l->g, formal->blocks);
    return !(parts & PART(PART_VIEW)) ||
           ss_tensor_elem(l->g, lower_view(l, value)) == ss_tensor_elem(l->g, formal->view);
}

static int can_call(struct lowering *l, const struct stretch *s, const struct block_function *f)
{
    const struct block_class *c = &l->blocks->class[s->class];

    for (uint32_t k = 0; k < c->values; k++) {
        if (is_read(l, c, s, k) && !is_like(l, s->value[k], f, k))
            return 0;
    }
    return 1;
}

static void hand_over(struct lowering *l, uint32_t value, struct block_function *f, uint32_t k)
{
    struct placed *formal = &f->formal[k];
    unsigned parts = parts_read(f, k);

    if (f->is_lent[k] && l->at[value].is_lent)
        return;
    for (unsigned i = 0; i < PARTS; i++) {
        struct tensor to = *part_of(formal, i), from;

        if (!(parts >> i & 1))
            continue;
        if (i == PART_FIELD)
            from = lower_field(l, value, formal->axis, formal->field.n, formal->field.h,
                               formal->field.w)
                       .t;
        else if (i == PART_VIEW && !formal->has_blocks)
            from = lower_view(l, value);
        else
            from = *part_of(&l->at[value], i);
        copy(l, from, to);
    }
}

static struct tensor taken(struct lowering *l, uint32_t value, struct tensor from)
{
    struct tensor to = memory_like(l, from, l->og->value[value].name);

    copy(l, from, to);
    return to;
}

/* Leaves a value where the function has made it. */
static void borrow_result(struct lowering *l, uint32_t value, const struct placed *made)
{
    if (placed_as_field(made))
        lower_set_field(l, value, made->field, made->axis);
    else
        lower_set_view(l, value, made->view);
    lower_pin(l, value);
    l->at[value].is_lent = 1;
    if (!made->normed_by)
        return;
    l->at[value].normed_by = made->normed_by;
    l->at[value].statistics = made->statistics;
}

/* Memory of its own for a value that a function has lent. */
static void own(struct lowering *l, uint32_t value)
{
    struct placed *p = &l->at[value];

    if (p->has_field)
        p->field.t = taken(l, value, p->field.t);
    if (placed_as_field(p))
        p->has_view = 0;
    if (p->has_view)
        p->view = taken(l, value, p->view);
    if (p->normed_by) {
        p->statistics.mean = taken(l, value, p->statistics.mean);
        p->statistics.variance = taken(l, value, p->statistics.variance);
        p->statistics.rstd = taken(l, value, p->statistics.rstd);
    }
    p->is_lent = 0;
}

static int can_be_lent(const struct lowering *l, uint32_t value, const struct placed *made)
{
    if (l->lent[value].class == OP_NONE || l->is_kept[value])
        return 0;
    return placed_as_field(made) ||
           (made->has_view && !made->has_blocks && !ss_tensor_repeats(l->g, made->view));
}

/* A result of the function becomes the value of a stretch. */
static void take_result(struct lowering *l, uint32_t value, const struct placed *made)
{
    const struct op_node *n = &l->og->node[l->og->value[value].node];
    struct activation x = made->field;
    struct tensor t;

    if (can_be_lent(l, value, made)) {
        borrow_result(l, value, made);
    } else if (placed_as_field(made)) {
        x.t = taken(l, value, x.t);
        lower_set_field(l, value, x, made->axis);
    } else if (made->has_blocks) {
        t = taken(l, value, made->blocks);
        lower_set_view(l, value, lower_gradient_of_blocks(l, n, t));
        l->at[value].blocks = t;
        l->at[value].has_blocks = 1;
    } else if (made->has_view) {
        lower_set_view(l, value, taken(l, value, made->view));
    }
}

static void take_statistics(struct lowering *l, uint32_t value, const struct placed *made)
{
    struct placed *p = &l->at[value];

    p->normed_by = made->normed_by;
    p->statistics.mean = taken(l, value, made->statistics.mean);
    p->statistics.variance = taken(l, value, made->statistics.variance);
    p->statistics.rstd = taken(l, value, made->statistics.rstd);
}

static void take_results(struct lowering *l, const struct stretch *s,
                         const struct block_function *f)
{
    const struct block_class *c = &l->blocks->class[s->class];

    for (uint32_t k = 0; k < c->values; k++) {
        uint32_t value = s->value[k];
        int is_asked = stretch_is_asked(l->og, l->blocks, s, k);

        if (is_asked && !lower_gradient_is_home(l, value, &f->made[k]))
            take_result(l, value, &f->made[k]);
        if (is_asked)
            lower_gradient_is_made(l, value, &f->made[k]);
        if ((is_asked || is_read(l, c, s, k)) && f->made[k].normed_by && !l->at[value].normed_by)
            take_statistics(l, value, &f->made[k]);
    }
    for (uint32_t k = 0; k < c->values; k++) {
        for (uint32_t i = 0; i < c->reads[k]; i++)
            lower_read_once(l, s->value[k]);
    }
}

/* Other code may look at any time at what a stretch reads that is lowered by itself. */
static void own_all(struct lowering *l, const struct stretch *s)
{
    const struct block_class *c = &l->blocks->class[s->class];

    ss_graph_push(l->g, l->og->node[l->groups->at[s->begin].node[0]].name);
    for (uint32_t k = 0; k < c->values; k++) {
        if (is_read(l, c, s, k) && l->at[s->value[k]].is_lent)
            own(l, s->value[k]);
    }
    ss_graph_pop(l->g);
}

/* The groups of a stretch are those of the first one. */
static void name_groups(struct lowering *l, const struct stretch *s)
{
    const struct block_class *c = &l->blocks->class[s->class];
    uint32_t first = l->blocks->stretch[c->first].begin;

    for (uint32_t k = 0; k < s->groups; k++) {
        struct lowered_group *group = &l->out->group[s->begin + k];

        group->scope = ss_graph_push(l->g, l->og->node[l->groups->at[s->begin + k].node[0]].name);
        ss_graph_pop(l->g);
        group->plan = l->out->group[first + k].plan;
    }
}

static void add_call(struct lowering *l, const struct stretch *s, struct block_function *f)
{
    const struct block_class *c = &l->blocks->class[s->class];

    ss_graph_push(l->g, l->og->node[l->groups->at[s->begin].node[0]].name);
    for (uint32_t k = 0; k < c->values; k++) {
        if (is_read(l, c, s, k))
            hand_over(l, s->value[k], f, k);
    }
    ss_program_add(l->g, l->seq, ss_program_call(l->g, f->function));
    take_results(l, s, f);
    ss_graph_pop(l->g);
    name_groups(l, s);
}

enum emu_status lower_call_stretch(struct lowering *l, uint32_t *groups)
{
    const struct stretch *s = equal_blocks_at(l->blocks, l->group);
    struct block_function *f = s ? &l->function[s->class] : NULL;
    struct lowered_call *call = &l->out->call[l->out->calls];
    uint32_t convs = l->conv;

    *groups = 0;
    if (!s)
        return EMU_OK;
    if (!f->is_known)
        TRY(make_function(l, s, f));
    l->conv = convs;
    if (f->function == OP_NONE || !can_call(l, s, f)) {
        own_all(l, s);
        return ss_graph_status(l->g);
    }
    l->conv += f->convs;
    add_call(l, s, f);
    *call =
        (struct lowered_call){ .first = l->blocks->stretch[l->blocks->class[s->class].first].begin,
                               .begin = s->begin,
                               .groups = s->groups,
                               .function = s->class };
    l->out->calls++;
    *groups = s->groups;
    return ss_graph_status(l->g);
}

/* ---- begin and end ---- */

/* States of equal blocks lie alike. */
static void find_like(struct lowering *l)
{
    for (uint32_t i = 0; i < l->blocks->stretches; i++) {
        const struct stretch *s = &l->blocks->stretch[i];
        const struct block_class *c = &l->blocks->class[s->class];
        const struct stretch *first = &l->blocks->stretch[c->first];

        for (uint32_t k = 0; k < c->values; k++) {
            uint32_t value = s->value[k], other = first->value[k];

            if (value != other && l->og->value[value].kind == OP_STATE &&
                l->like[value] == OP_NONE && l->like[other] == OP_NONE)
                l->like[value] = other;
        }
    }
}

enum emu_status lower_calls_begin(struct lowering *l, struct equal_blocks *blocks)
{
    l->blocks = blocks;
    l->function = emu_alloc(blocks->classes + 1, sizeof(*l->function));
    l->like = emu_alloc(l->og->values + 1, sizeof(*l->like));
    l->is_result = emu_alloc(l->og->values + 1, sizeof(*l->is_result));
    l->lent = lent_values_find(l->og, blocks);
    if (!l->function || !l->like || !l->is_result || !l->lent)
        return FAIL(NO_MEMORY, "functions of %u blocks", blocks->classes);
    for (uint32_t v = 0; v < l->og->values; v++)
        l->like[v] = OP_NONE;
    find_like(l);
    return EMU_OK;
}

void lower_calls_end(struct lowering *l)
{
    for (uint32_t c = 0; l->function && c < l->blocks->classes; c++) {
        ss_free(l->function[c].formal);
        ss_free(l->function[c].made);
        ss_free(l->function[c].parts);
        ss_free(l->function[c].is_lent);
    }
    ss_free(l->function);
    ss_free(l->like);
    ss_free(l->is_result);
    ss_free(l->lent);
}

uint32_t lower_storages(const struct lowering *l)
{
    uint32_t count = l->og->values;

    for (uint32_t c = 0; c < l->blocks->classes; c++)
        count += l->blocks->class[c].values;
    return count;
}
