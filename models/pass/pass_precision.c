/* pass_precision.c - finds what would silently go wrong in f16, and has it computed in f32.
 *
 *   integers   numbers made of integers, which f16 has up to 2,048 only
 *   phases     what leads to Sin and Cos, where an error of 1 is as good as any number
 *   masks      constants beyond f16 that are added or multiplied, up to a softmax
 *   floors     constants that f16 has not, since they are too small, up to the division, the
 *              logarithm or the root that they keep from 0; sums that something is divided by
 *   squares    sums of squares, which are made one operation first
 *
 * A walk backwards finds the values that lead to a phase or a division. A walk forwards marks nodes
 * and tells their readers that a result is f32; it ends at operators whose results are small
 * whatever they read, and at products with a factor that is f16 anyway. A constant beyond f16 that
 * only chooses (Where, Max, Min) becomes the largest number of f16 instead.
 */
#include <float.h>
#include <math.h>

#include "emu/base/fp.h"
#include "models/pass/expand.h"
#include "models/pass/pass_precision.h"

enum {
    SMALL_PRODUCT = 16, /* terms of a product that may lead to a phase */
    COUNTED = 2048,     /* integers up to this one are numbers of f16 */
    PRODUCERS_MAX = 4   /* how far a sum of squares is followed back */
};
static const double F16_LARGEST = 65504;
static const double MASK_LARGEST = 1e38; /* before a softmax; several may be added in f32 */
static const double TINY_ERROR =
    0.01; /* the error of rounding a constant from which on it matters */

/* What a value leads to, as bits. */
enum leads { LEADS_PHASE = 1, LEADS_FLOOR = 2, LEADS_SOFTMAX = 4 };

/* What is known of the numbers of a value. */
enum numbers {
    NUMBERS_PLAIN,   /* rounded to f16, as those of most values */
    NUMBERS_NEUTRAL, /* few and small: truth values, constants */
    NUMBERS_WIDE     /* f32, and f16 would lose something */
};

/* What becomes of an input in f32 in an operator's result. */
enum flow {
    FLOW_STOPS,   /* nothing: it reads f16 */
    FLOW_ENDS,    /* computed in f32, a result that is small */
    FLOW_CARRIES, /* computed in f32, a result that may be anything */
    FLOW_MIXES,   /* the same, unless the other factor is f16 anyway */
    FLOW_MOVES    /* the same numbers in other places, in any type */
};

struct precision {
    struct op_graph *g;
    uint8_t *leads;   /* owned; by value */
    uint8_t *numbers; /* owned; by value */
    struct precision_notes *notes;
};

/* ---- operators ---- */

static int is_float(const struct op_graph *g, uint32_t value)
{
    return value != OP_NONE && op_type_kind(g->value[value].shape.type) == OP_KIND_FLOAT;
}

static enum flow unary_flow(const struct op_graph *g, const struct op_node *n)
{
    static const enum op_code ends[] = { OP_Acosh, OP_Asinh, OP_Atanh,       OP_Cos,
                                         OP_Erf,   OP_Gelu,  OP_HardSigmoid, OP_HardSwish,
                                         OP_IsNaN, OP_Log,   OP_Not,         OP_Sigmoid,
                                         OP_Sign,  OP_Sin,   OP_Softsign,    OP_Swish,
                                         OP_Tan,   OP_Tanh };

    (void)g;
    for (unsigned k = 0; k < EMU_COUNT_OF(ends); k++) {
        if (op_node_is(n, ends[k]))
            return FLOW_ENDS;
    }
    return FLOW_CARRIES;
}

static enum flow binary_flow(const struct op_graph *g, const struct op_node *n)
{
    if (op_type_kind(g->value[n->out[0]].shape.type) != OP_KIND_FLOAT)
        return FLOW_ENDS;
    return op_node_is(n, OP_Mul) || op_node_is(n, OP_Div) ? FLOW_MIXES : FLOW_CARRIES;
}

static enum flow norm_flow(const struct op_graph *g, const struct op_node *n)
{
    for (uint32_t k = 1; k < n->ins; k++) {
        if (n->in[k] != OP_NONE && !op_value_settled(g, n->in[k]))
            return FLOW_STOPS;
    }
    return n->outs > 1 ? FLOW_STOPS : FLOW_ENDS;
}

static enum flow copy_flow(const struct op_graph *g, const struct op_node *n)
{
    return is_float(g, op_node_result(n)) ? FLOW_CARRIES : FLOW_STOPS;
}

/* Of reductions and casts: integers are small. */
static enum flow float_flow(const struct op_graph *g, const struct op_node *n)
{
    return is_float(g, op_node_result(n)) ? FLOW_CARRIES : FLOW_ENDS;
}

static enum flow softmax_flow(const struct op_graph *g, const struct op_node *n)
{
    (void)g;
    return op_node_is(n, OP_LogSoftmax) ? FLOW_CARRIES : FLOW_ENDS;
}

static enum flow view_flow(const struct op_graph *g, const struct op_node *n)
{
    (void)g;
    (void)n;
    return FLOW_MOVES;
}

/* Families that are not named read f16. */
static enum flow flow_of(const struct op_graph *g, const struct op_node *n)
{
    static enum flow (*const of[FAMILIES])(const struct op_graph *g, const struct op_node *n) = {
        [FAMILY_alias] = view_flow,  [FAMILY_binary] = binary_flow,   [FAMILY_cast] = float_flow,
        [FAMILY_gather] = copy_flow, [FAMILY_norm] = norm_flow,       [FAMILY_reduce] = float_flow,
        [FAMILY_slice] = copy_flow,  [FAMILY_softmax] = softmax_flow, [FAMILY_unary] = unary_flow,
        [FAMILY_view] = view_flow,
    };

    return of[n->row->family_code] ? of[n->row->family_code](g, n) : FLOW_STOPS;
}

static int is_constant(const struct op_graph *g, uint32_t value)
{
    return op_value_settled(g, value);
}

/* The node that makes a value, behind views; NULL: an input or a constant. */
static const struct op_node *maker_of(const struct op_graph *g, uint32_t value)
{
    const struct op_node *n = NULL;

    while (value != OP_NONE && g->value[value].node != OP_NONE) {
        n = &g->node[g->value[value].node];
        if (flow_of(g, n) != FLOW_MOVES)
            return n;
        value = n->in[0];
        n = NULL;
    }
    return n;
}

static int is_one_of(const struct op_node *n, const enum op_code *codes, unsigned count)
{
    for (unsigned k = 0; n && k < count; k++) {
        if (op_node_is(n, codes[k]))
            return 1;
    }
    return 0;
}
#define IS_ONE_OF(n, ...)                                                                          \
    is_one_of(n, (const enum op_code[]){ __VA_ARGS__ },                                            \
              (unsigned)EMU_COUNT_OF(((const enum op_code[]){ __VA_ARGS__ })))

/* ---- constants ---- */

/* The largest and the smallest magnitude above 0 of a constant's finite numbers, and whether one is
 * infinite. */
struct extent {
    double largest, least;
    int is_infinite;
};

static struct extent extent_of(const struct op_graph *g, uint32_t value)
{
    struct extent e = { .least = INFINITY };
    struct op_tensor t;

    if (!is_float(g, value) || !is_constant(g, value) || !g->value[value].data ||
        op_value_read(g, value, &t) != EMU_OK)
        return e;
    for (uint64_t k = 0; k < op_shape_count(&t.shape); k++) {
        double size = fabs(t.f[k]);

        e.is_infinite |= isinf(t.f[k]) != 0;
        if (!isfinite(size))
            continue;
        e.largest = fmax(e.largest, size);
        if (size > 0)
            e.least = fmin(e.least, size);
    }
    op_tensor_free(&t);
    return e;
}

/* Whether rounding to f16 changes a small number noticeably. */
static int is_tiny(double v)
{
    struct fp_env env = { 0 };

    return v > 0 && v < 1 && fabs(fp_f16_value(fp_f16_from_f64(v, 0, &env)) - v) > TINY_ERROR * v;
}

/* A copy of a constant without numbers beyond a limit. */
static enum emu_status clamped_copy(struct op_graph *g, uint32_t value, double limit, uint32_t *out)
{
    struct op_tensor t;
    enum emu_status s;

    TRY(op_value_read(g, value, &t));
    for (uint64_t k = 0; k < op_shape_count(&t.shape); k++) {
        if (fabs(t.f[k]) > limit && (isfinite(t.f[k]) || limit > F16_LARGEST))
            t.f[k] = copysign(limit, t.f[k]);
    }
    s = op_value_constant(g, NULL, &t, out);
    op_tensor_free(&t);
    return s;
}

static enum emu_status clamp_input(struct precision *p, struct op_node *n, uint32_t k, double limit)
{
    uint32_t *in = op_graph_copy(p->g, n->in, n->ins * sizeof(*in)), now;
    const char *name = p->g->value[n->in[k]].name;

    if (!in)
        return FAIL(NO_MEMORY, "a node");
    TRY(clamped_copy(p->g, n->in[k], limit, &now));
    p->g->value[in[k]].readers--;
    p->g->value[now].readers++;
    in[k] = now;
    n->in = in;
    if (p->notes->clamped < PRECISION_CLAMPED_MAX)
        p->notes->clamp[p->notes->clamped] = name;
    p->notes->clamped++;
    return EMU_OK;
}

/* ---- backwards: what leads to phases and divisions ---- */

static void lead(struct precision *p, uint32_t value, unsigned bits)
{
    if (is_float(p->g, value))
        p->leads[value] |= (uint8_t)bits;
}

static void lead_all(struct precision *p, const struct op_node *n, unsigned bits)
{
    for (uint32_t k = 0; k < n->ins; k++)
        lead(p, n->in[k], bits);
}

/* A product of few terms, such as positions times frequencies. */
static int is_small_product(const struct op_graph *g, const struct op_node *n)
{
    const struct op_shape *a = &g->value[n->in[0]].shape;

    return op_node_is(n, OP_MatMul) && a->rank && a->dim[a->rank - 1] <= SMALL_PRODUCT;
}

static int carries_phase(const struct op_graph *g, const struct op_node *n)
{
    enum flow flow = flow_of(g, n);

    return flow == FLOW_CARRIES || flow == FLOW_MIXES || is_small_product(g, n);
}

/* Sums that leave the range of f16 earlier than the numbers that are divided by them. */
static int is_sum(const struct op_node *n)
{
    return IS_ONE_OF(n, OP_ReduceSum, OP_ReduceL1, OP_ReduceL2);
}

static void look_back(struct precision *p, struct op_node *n)
{
    unsigned to = 0;
    enum flow flow = flow_of(p->g, n);

    for (uint32_t k = 0; k < n->outs; k++)
        to |= n->out[k] == OP_NONE ? 0 : p->leads[n->out[k]];
    if (IS_ONE_OF(n, OP_Sin, OP_Cos, OP_Tan)) {
        n->precision = OP_WIDE_INSIDE;
        lead(p, n->in[0], LEADS_PHASE);
    }
    if (flow == FLOW_MOVES)
        lead(p, n->in[0], to);
    if (to & LEADS_PHASE && carries_phase(p->g, n)) {
        n->precision = OP_WIDE;
        lead_all(p, n, LEADS_PHASE);
    }
    if (flow == FLOW_CARRIES || flow == FLOW_MIXES)
        lead_all(p, n, to & (LEADS_FLOOR | LEADS_SOFTMAX));
    if (IS_ONE_OF(n, OP_Softmax, OP_LogSoftmax))
        lead(p, n->in[0], LEADS_SOFTMAX);
    if ((to & LEADS_FLOOR && is_sum(n)) || op_node_is(n, OP_ReduceSumSquare))
        n->precision = OP_WIDE;
    if (IS_ONE_OF(n, OP_Log, OP_Reciprocal, OP_Pow))
        lead(p, n->in[0], LEADS_FLOOR);
    if (op_node_is(n, OP_Div))
        lead(p, n->in[1], LEADS_FLOOR);
}

/* ---- forwards ---- */

/* Integers that may be beyond those that f16 has. */
static int makes_integers(const struct op_graph *g, const struct op_node *n)
{
    const struct op_node *from;
    const struct op_shape *s = &g->value[n->in[0]].shape;

    if (!op_node_is_of(n, FAMILY_cast) || op_type_kind(s->type) != OP_KIND_INT ||
        !is_float(g, n->out[0]) || s->type == OP_TYPE_U8 || s->type == OP_TYPE_I8)
        return 0;
    from = maker_of(g, n->in[0]);
    if (from && IS_ONE_OF(from, OP_ArgMax, OP_ArgMin)) {
        const struct op_shape *all = &g->value[from->in[0]].shape;

        return op_shape_count(all) > COUNTED;
    }
    return !from || !op_node_is_of(from, FAMILY_cast) ||
           op_type_kind(g->value[from->in[0]].shape.type) != OP_KIND_BOOL;
}

/* The smallest number of a constant that a node adds, or takes the maximum with; INFINITY: none. */
static double floor_of(const struct op_graph *g, const struct op_node *n)
{
    double least = INFINITY;

    if (op_node_is(n, OP_Clip)) {
        const struct op_call c = op_attrs_of(g, n);
        uint32_t min = op_tensor_value(&c, "min");

        return min == OP_NONE ? least : extent_of(g, min).least;
    }
    for (uint32_t k = 0; k < n->ins && IS_ONE_OF(n, OP_Add, OP_Max, OP_Sub, OP_Sum); k++) {
        if (n->in[k] != OP_NONE)
            least = fmin(least, extent_of(g, n->in[k]).least);
    }
    return least;
}

/* Whether everything that reads a value, behind views, chooses among its numbers or takes their
 * softmax over the last axis. */
static int is_only_for_softmax(const struct op_graph *g, uint32_t value)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < g->nodes; i++) {
        const struct op_node *n = &g->node[i];
        unsigned last = g->value[value].shape.rank - 1u;
        const struct op_call c = op_attrs_of(g, n);

        for (uint32_t k = 0; k < n->ins; k++) {
            if (n->in[k] != value)
                continue;
            found += IS_ONE_OF(n, OP_Softmax, OP_LogSoftmax) &&
                     (op_int(&c, "axis") == -1 || op_int(&c, "axis") == last);
        }
    }
    return found && found == g->value[value].readers;
}

/* Whether a constant leaves a number in every row that is not beyond f16. */
static int leaves_some(const struct op_graph *g, uint32_t value)
{
    const struct op_shape *s = &g->value[value].shape;
    uint32_t row = s->rank ? s->dim[s->rank - 1] : 1;
    struct op_tensor t;
    int all_rows = 1;

    if (op_value_read(g, value, &t) != EMU_OK)
        return 0;
    for (uint64_t k = 0; k < op_shape_count(s); k += row) {
        int some = 0;

        for (uint32_t i = 0; i < row; i++)
            some |= fabs(t.f[k + i]) < COUNTED;
        all_rows &= some;
    }
    op_tensor_free(&t);
    return all_rows;
}

/* A constant mask that is added before a softmax: numbers beyond f16 become infinite there, whose
 * exponential is 0, as it should be, unless a whole row is masked. */
static int is_good_mask(const struct op_graph *g, const struct op_node *n, uint32_t constant)
{
    return op_node_is(n, OP_Add) && is_only_for_softmax(g, n->out[0]) && leaves_some(g, constant);
}

/* Whether the largest number of f16 in place of one beyond it leaves the result as it is. */
static int may_clamp(const struct op_graph *g, const struct op_node *n)
{
    return op_node_is(n, OP_Max) || op_node_is(n, OP_Min) ||
           (op_node_is(n, OP_Where) && is_only_for_softmax(g, n->out[0]));
}

static int reads(const struct precision *p, const struct op_node *n, enum numbers which);

/* Whether a constant makes large numbers of a mask, whose rounding counts where all of a row are
 * masked; or is a divisor that f16 has not. */
static int makes_large(const struct precision *p, const struct op_node *n, uint32_t k,
                       const struct extent *e)
{
    if (op_node_is(n, OP_Div) && k == 1 && is_tiny(e->least))
        return 1;
    return IS_ONE_OF(n, OP_Mul, OP_Where) && e->largest > COUNTED && !reads(p, n, NUMBERS_PLAIN);
}

/* A node in f32 reads a constant whose largest number is that. */
static enum emu_status clamp_wide(struct precision *p, struct op_node *n, uint32_t k,
                                  double largest)
{
    double limit = p->leads[n->out[0]] & LEADS_SOFTMAX ? MASK_LARGEST : (double)FLT_MAX;

    return largest > limit ? clamp_input(p, n, k, limit) : EMU_OK;
}

/* Constants beyond f16 that a node reads. *wide: whether it has to compute in f32 for them. */
static enum emu_status look_at_constants(struct precision *p, struct op_node *n, int reads_wide,
                                         int *wide)
{
    *wide = 0;
    if (!op_node_is_of(n, FAMILY_binary) || !is_float(p->g, n->out[0]))
        return EMU_OK;
    for (uint32_t k = 0; k < n->ins; k++) {
        const struct extent e =
            n->in[k] == OP_NONE ? (struct extent){ .largest = 0 } : extent_of(p->g, n->in[k]);

        if (e.is_infinite && IS_ONE_OF(n, OP_Mul, OP_Div)) { /* 0 times it is no mask */
            TRY(clamp_wide(p, n, k, INFINITY));
            *wide = 1;
        } else if (e.largest > F16_LARGEST && !reads_wide && may_clamp(p->g, n)) {
            TRY(clamp_input(p, n, k, F16_LARGEST));
        } else if (makes_large(p, n, k, &e) ||
                   (e.largest > F16_LARGEST && (reads_wide || !is_good_mask(p->g, n, n->in[k])))) {
            TRY(clamp_wide(p, n, k, e.largest));
            *wide = 1;
        }
    }
    return EMU_OK;
}

static int reads(const struct precision *p, const struct op_node *n, enum numbers which)
{
    for (uint32_t k = 0; k < n->ins; k++) {
        if (n->in[k] != OP_NONE && p->numbers[n->in[k]] == which &&
            (which == NUMBERS_WIDE || is_float(p->g, n->in[k])))
            return 1;
    }
    return 0;
}

/* A variance computed as the mean of squares less the square of the mean: unless both are f32,
 * little but rounding errors is left of it. */
static void pull(struct precision *p, uint32_t value)
{
    for (unsigned k = 0; k < PRODUCERS_MAX && value != OP_NONE; k++) {
        uint32_t node = p->g->value[value].node;
        struct op_node *n = node == OP_NONE ? NULL : &p->g->node[node];

        if (!IS_ONE_OF(n, OP_Mul, OP_Div, OP_Pow, OP_ReduceMean, OP_ReduceSum, OP_Reshape,
                       OP_Unsqueeze))
            return;
        if (flow_of(p->g, n) != FLOW_MOVES)
            n->precision = OP_WIDE;
        p->numbers[value] = NUMBERS_WIDE;
        value = is_sum(n) || op_node_is(n, OP_ReduceMean) ? OP_NONE : n->in[0];
    }
}

/* Whether one operand is a mean or sum of squares. */
static int is_of_squares(const struct op_graph *g, const struct op_node *n)
{
    int found = 0;

    for (uint32_t k = 0; k < n->ins && op_node_is(n, OP_Sub); k++) {
        const struct op_node *from = maker_of(g, n->in[k]);

        if (from && IS_ONE_OF(from, OP_Mul, OP_Div))
            from = maker_of(g, from->in[0]);
        found |= from && op_node_is(from, OP_ReduceSumSquare);
    }
    return found;
}

static int leads_to(const struct precision *p, const struct op_node *n, unsigned where)
{
    uint32_t result = op_node_result(n);

    return result != OP_NONE && p->leads[result] & where;
}

/* What is known of a node's results. wide: it computes in f32. */
static enum numbers made_by(const struct precision *p, const struct op_node *n, enum flow flow,
                            int wide, int huge)
{
    if (flow == FLOW_MOVES)
        return p->numbers[n->in[0]];
    if (!wide)
        return flow == FLOW_STOPS || op_node_is_of(n, FAMILY_gather) || reads(p, n, NUMBERS_PLAIN)
                   ? NUMBERS_PLAIN
                   : NUMBERS_NEUTRAL;
    if (leads_to(p, n, LEADS_PHASE) || huge)
        return NUMBERS_WIDE;
    if (flow == FLOW_ENDS ||
        (flow == FLOW_MIXES && reads(p, n, NUMBERS_PLAIN) && !leads_to(p, n, LEADS_FLOOR)))
        return NUMBERS_PLAIN;
    return NUMBERS_WIDE;
}

static enum emu_status look_ahead(struct precision *p, struct op_node *n)
{
    enum flow flow = flow_of(p->g, n);
    int reads_wide = reads(p, n, NUMBERS_WIDE), huge, wide;
    enum numbers made;

    TRY(look_at_constants(p, n, reads_wide, &huge));
    wide = n->precision != OP_AS_OTHERS || huge || makes_integers(p->g, n) ||
           (reads_wide && flow != FLOW_STOPS && flow != FLOW_MOVES) ||
           (leads_to(p, n, LEADS_FLOOR) && is_tiny(floor_of(p->g, n)));
    if (wide && is_of_squares(p->g, n)) {
        pull(p, n->in[0]);
        pull(p, n->in[1]);
    }
    made = made_by(p, n, flow, wide, huge);
    for (uint32_t k = 0; k < n->outs; k++) {
        if (n->out[k] != OP_NONE)
            p->numbers[n->out[k]] = (uint8_t)made;
    }
    n->precision = !wide ? OP_AS_OTHERS : made == NUMBERS_WIDE ? OP_WIDE : OP_WIDE_INSIDE;
    return EMU_OK;
}

/* ---- sums of squares ---- */

/* The square of which value a value is; OP_NONE: it is none. */
static uint32_t root_of(const struct op_pass *p, uint32_t value)
{
    const struct op_node *pow = op_pass_made_by(p, value, OP_Pow);
    const struct op_node *mul = op_pass_made_by(p, value, OP_Mul);
    double two;

    if (pow && op_pass_scalar(p, pow->in[1], &two) && two == 2 &&
        op_shape_equal(&p->g->value[pow->in[0]].shape, &p->g->value[value].shape))
        return pow->in[0];
    return mul && mul->in[0] == mul->in[1] ? mul->in[0] : OP_NONE;
}

/* Whether a reduction names its axes. */
static int has_axes(const struct op_pass *p, const struct op_node *n, struct op_named_attr *axes)
{
    const struct op_call c = op_attrs_of(p->g, n);

    axes->name = "axes";
    axes->attr = (struct op_attr){ .kind = OP_ATTR_INTS };
    axes->attr.count = op_ints(&c, "axes", &axes->attr.ints);
    return axes->attr.count != 0;
}

/* ReduceSum and ReduceMean of squares. */
static enum emu_status visit_square(struct op_pass *p, uint32_t node, int *replaced)
{
    const struct op_node *n = &p->old[node];
    int mean = op_node_is(n, OP_ReduceMean);
    uint32_t root = mean || op_node_is(n, OP_ReduceSum) ? root_of(p, n->in[0]) : OP_NONE, by, out;
    struct expand_part part = { .op = OP_ReduceSumSquare, .suffix = mean ? ".squares" : "" };
    const struct op_call c = op_attrs_of(p->g, n);
    uint64_t made;

    if (root == OP_NONE || !has_axes(p, n, &part.attr[0]) || !is_float(p->g, root))
        return EMU_OK;
    made = op_shape_count(&p->g->value[n->out[0]].shape);
    if (!made)
        return EMU_OK;
    part.in[0] = op_pass_now(p, root);
    part.in[1] = part.in[2] = OP_NONE;
    part.attr[1] =
        (struct op_named_attr){ "keepdims", { .kind = OP_ATTR_INT, .i = op_int(&c, "keepdims") } };
    part.attrs = 2;
    TRY(expand_put(p, n, &part, &out));
    if (mean) {
        TRY(expand_number(p, p->g->value[root].shape.type,
                          (double)made / (double)op_shape_count(&p->g->value[root].shape), &by));
        TRY(expand_binary(p, n, OP_Mul, "", out, by, &out));
    }
    op_pass_replace(p, n->out[0], out);
    *replaced = 1;
    return EMU_OK;
}

/* ---- the pass ---- */

static enum emu_status mark_all(struct precision *p)
{
    struct op_graph *g = p->g;

    for (uint32_t v = 0; v < g->values; v++) {
        int truth = op_type_kind(g->value[v].shape.type) == OP_KIND_BOOL;

        p->numbers[v] = truth || is_constant(g, v) ? NUMBERS_NEUTRAL : NUMBERS_PLAIN;
    }
    for (uint32_t i = g->nodes; i-- > 0;)
        look_back(p, &g->node[i]);
    for (uint32_t i = 0; i < g->nodes; i++)
        TRY(look_ahead(p, &g->node[i]));
    for (uint32_t i = 0; i < g->nodes; i++)
        p->notes->nodes += g->node[i].precision != OP_AS_OTHERS;
    return EMU_OK;
}

enum emu_status pass_precision(struct op_graph *g, struct precision_notes *notes)
{
    struct precision p = { .g = g, .notes = notes };
    enum emu_status s;

    *notes = (struct precision_notes){ .nodes = 0 };
    TRY(op_pass_run(g, visit_square));
    p.leads = emu_alloc(g->values + 1, 1);
    p.numbers = emu_alloc(g->values + 1, 1);
    s = p.leads && p.numbers ? mark_all(&p) : FAIL(NO_MEMORY, "a graph of %u values", g->values);
    ss_free(p.leads);
    ss_free(p.numbers);
    if (s == EMU_OK)
        s = op_graph_tidy(g);
    return s == EMU_OK ? op_graph_check(g) : s;
}
