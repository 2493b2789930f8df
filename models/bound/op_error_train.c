/* op_error_train.c - norms whose statistics come from the data or whose parameters are no
 * constants, and the gradients of norms (see op_error.h).
 *
 * They run as layers of the library or as formulas (models/lower/lower_norm_train.c); bounds are
 * those of both. Over the N elements of a lane, with m the mean, r = 1 / root(variance + eps), h =
 * (x - m) r, A and Q the means of |x| and x^2, H = r (|x| + |m|), and sums of N numbers in f32 off
 * by N v times their magnitudes:
 *
 *   em, of m         N v A
 *   ev, of variance  N v Q + 2 |m| em + em^2 + 3 v m^2: the mean of squares less the square of m
 *   er, of r         1 / root(1 - (ev / (variance + eps) + v)) - 1 + 3 v, relative
 *   eh, of h         r (em + v (|x| + |m|)) + |h| (er + 3 v)
 *   y                |scale| eh + |h| (error of scale) + error of shift + 3 v (|scale h| +
 * |shift|); a layer rounds the factor s = scale r and the summand d = shift - m s, and both
 *                    results: u (|s| (|x| + |m|) + |d| + |s x| + |y|) + (|x| + |m| + 3) t
 *
 * and of gradients, with g = dy scale, S = sum of g, D = sum of g h:
 *
 *   eg               |dy| (error of scale) + |scale| (error of dy) + v |g|
 *   eS, eD           sums of eg and of |g| eh + eg |h|, N v times those of |g| and of |g| H
 *   dx               r (eg + eS / N + H eD / N + |D| / N r em +
 *                    (|g| + |S| / N + H |D| / N) (2 er + 10 v)), then rounded
 *   dscale, dshift   as eD and eS of dy in place of g
 */
#include <string.h>

#include "models/operators/op_lanes.h"
#include "models/bound/op_error_rules.h"

/* ---- what a norm sees ---- */

enum norm_error_kind { NORM_BATCH, NORM_GROUP, NORM_LAYER };

struct norm_error {
    const struct op_error *o;
    const struct op_node *n;
    const struct bounded_value *const *in;
    enum norm_error_kind kind;
    struct op_lanes x, place, dy; /* owned; place: which number of scale and shift an element has */
    struct op_tensor places;      /* owned, of x's shape */
    double eps;
};

static int is_named(const struct op_node *n, enum op_code norm, enum op_code gradient)
{
    return op_node_is(n, norm) || op_node_is(n, gradient);
}

/* Lanes along axes of a shape, and where scale and shift run along x. */
static void see(struct norm_error *m, struct op_shape *seen, uint32_t *axes, struct op_shape *scale)
{
    const struct op_shape *x = &m->in[0]->t.shape, *s = &m->in[1]->t.shape;
    struct op_call c = op_attrs_of(m->o->g, m->n);
    uint32_t all = (1u << x->rank) - 1;

    *seen = *x;
    *scale = (struct op_shape){ .type = s->type, .rank = x->rank };
    for (unsigned d = 0; d < x->rank; d++)
        scale->dim[d] = 1;
    if (m->kind == NORM_LAYER) {
        int64_t axis = op_int(&c, "axis");

        *axes = all & ~((1u << (axis + (axis < 0 ? x->rank : 0))) - 1);
        for (unsigned d = 0; d < s->rank; d++)
            scale->dim[x->rank - s->rank + d] = s->dim[d];
        return;
    }
    *axes = all & ~2u;
    scale->dim[x->rank > 1] = s->dim[0];
    if (m->kind == NORM_GROUP)
        *axes = op_lanes_of_groups(x, (uint32_t)op_int(&c, "num_groups"),
                                   op_int(&c, "strided") != 0, seen);
}

static enum emu_status norm_open(struct norm_error *m, const struct op_error *o,
                                 const struct op_node *n, const struct bounded_value *const *in)
{
    struct op_call c = op_attrs_of(o->g, n);
    const struct op_shape *x = &in[0]->t.shape;
    uint64_t stride[OP_RANK_MAX];
    uint32_t index[OP_RANK_MAX] = { 0 }, axes;
    struct op_shape seen, scale;

    *m = (struct norm_error){ .o = o, .n = n, .in = in, .eps = op_float(&c, "epsilon") };
    m->kind = is_named(n, OP_BatchNormalization, OP_BatchNormalizationGradient)   ? NORM_BATCH
              : is_named(n, OP_GroupNormalization, OP_GroupNormalizationGradient) ? NORM_GROUP
                                                                                  : NORM_LAYER;
    see(m, &seen, &axes, &scale);
    TRY(op_tensor_new(x, &m->places));
    op_broadcast_strides(&scale, x, stride);
    for (uint64_t i = 0; i < op_shape_count(x); i++) {
        uint64_t at = 0;

        for (unsigned d = 0; d < x->rank; d++)
            at += index[d] * stride[d];
        m->places.f[i] = (double)at;
        op_index_next(x, index);
    }
    TRY(op_lanes_new(&seen, axes, &m->x));
    TRY(op_lanes_new(&seen, axes, &m->place));
    return op_lanes_new(&seen, axes, &m->dy);
}

static void norm_close(struct norm_error *m)
{
    op_lanes_free(&m->x);
    op_lanes_free(&m->place);
    op_lanes_free(&m->dy);
    op_tensor_free(&m->places);
}

/* Number i of input k. */
static struct bounded parameter(const struct norm_error *m, uint32_t k, uint64_t i,
                                double otherwise)
{
    return has_input(m->n, m->in, k) ? bounded_at(m->in[k], i) : exactly(otherwise);
}

/* Whether all of x is exact; if not, its results may be anything. */
static int is_exact(const struct norm_error *m, struct bounded_value *out)
{
    int exact = 1;

    for (uint64_t i = 0; m->in[0]->e && i < count_of(m->in[0]); i++)
        exact &= m->in[0]->e[i] == 0;
    for (uint32_t k = 0; !exact && k < m->n->outs; k++) {
        for (uint64_t i = 0; out[k].e && i < count_of(&out[k]); i++)
            out[k].e[i] = INFINITY;
    }
    return exact;
}

/* ---- statistics ---- */

struct statistics {
    double sums; /* N v, and what a few more operations add */
    double mean, variance, root, em, ev, er;
};

/* er, from ev: of 1 / root(variance + eps). */
static void set_root(struct statistics *s, double eps)
{
    double off = s->ev / (s->variance + eps) + F32_UNIT;

    s->root = 1 / sqrt(s->variance + eps);
    s->er = off < 1 ? 1 / sqrt(1 - off) - 1 + 3 * F32_UNIT : INFINITY;
}

/* Of the lane in m->x. */
static struct statistics statistics_of(const struct norm_error *m)
{
    double n = (double)m->x.length, size = 0, squares = 0;
    struct statistics s = { .sums = (n + 8) * F32_UNIT };

    for (uint64_t i = 0; i < m->x.length; i++) {
        s.mean += m->x.f[i] / n;
        size += fabs(m->x.f[i]) / n;
        squares += m->x.f[i] * m->x.f[i] / n;
    }
    for (uint64_t i = 0; i < m->x.length; i++)
        s.variance += (m->x.f[i] - s.mean) * (m->x.f[i] - s.mean) / n;
    s.em = s.sums * size;
    s.ev =
        s.sums * squares + 2 * fabs(s.mean) * s.em + s.em * s.em + 3 * F32_UNIT * s.mean * s.mean;
    set_root(&s, m->eps);
    return s;
}

/* Those that are inputs of a norm. */
static struct statistics given_statistics(const struct norm_error *m, uint64_t lane)
{
    struct bounded mean = parameter(m, 3, lane, 0), variance = parameter(m, 4, lane, 0);
    struct statistics s = {
        .sums = F32_UNIT, .mean = mean.v, .em = mean.e, .variance = variance.v, .ev = variance.e
    };

    set_root(&s, m->eps);
    return s;
}

/* h and H of an element. */
static struct bounded normed(const struct statistics *s, double x)
{
    struct bounded h = { (x - s->mean) * s->root, 0 };

    h.e = s->root * (s->em + F32_UNIT * (fabs(x) + fabs(s->mean))) +
          fabs(h.v) * (s->er + 3 * F32_UNIT);
    return h;
}

static double height(const struct statistics *s, double x)
{
    return s->root * (fabs(x) + fabs(s->mean));
}

/* The bounds of a lane of results of x's shape. */
static void write_lane(const struct norm_error *m, uint64_t lane, const double *e, double *bounds)
{
    struct op_tensor t = { .shape = m->in[0]->t.shape, .f = bounds };
    struct op_lanes room = m->x;

    memcpy(room.f, e, m->x.length * sizeof(*e));
    op_lane_write(&room, lane, &t);
}

/* ---- forward ---- */

static double result_error(const struct norm_error *m, const struct statistics *s, uint64_t i)
{
    const struct rounding r = rounding_of(m->o->elem);
    uint64_t at = (uint64_t)m->place.f[i];
    struct bounded h = normed(s, m->x.f[i]), scale = parameter(m, 1, at, 1);
    struct bounded shift = parameter(m, 2, at, 0), y = { scale.v * h.v + shift.v, 0 };
    double wide = fabs(m->x.f[i]) + fabs(s->mean), factor = fabs(scale.v) * s->root;
    double summand = fabs(shift.v) + factor * fabs(s->mean);

    y.e = fabs(scale.v) * h.e + (fabs(h.v) + h.e) * scale.e + shift.e +
          3 * F32_UNIT * (fabs(scale.v * h.v) + fabs(shift.v));
    if (m->o->elem == ELEM_F16 && m->kind != NORM_LAYER)
        y.e += r.u * (factor * wide + summand + factor * fabs(m->x.f[i]) + fabs(y.v)) +
               (wide + 3) * r.t;
    return bounded_round(&r, y, 1.001).e;
}

/* A running statistic that moves, in f32. */
static double moved_error(const struct norm_error *m, uint32_t k, uint64_t lane, double now,
                          double e)
{
    struct op_call c = op_attrs_of(m->o->g, m->n);
    struct bounded before = parameter(m, 2 + k, lane, 0);
    double momentum = op_float(&c, "momentum");

    return fabs(momentum) * before.e + fabs(1 - momentum) * e +
           4 * F32_UNIT * (fabs(before.v) + fabs(now) + e);
}

static void statistics_error(const struct norm_error *m, const struct statistics *s, uint64_t lane,
                             struct bounded_value *out)
{
    int layer = m->kind == NORM_LAYER;
    double second = layer ? s->root * (s->er + F32_UNIT) : s->ev;

    if (m->n->outs > 1 && out[1].e)
        out[1].e[lane] = layer ? s->em : moved_error(m, 1, lane, s->mean, s->em);
    if (m->n->outs > 2 && out[2].e)
        out[2].e[lane] = layer ? second : moved_error(m, 2, lane, s->variance, second);
}

enum emu_status norm_train_error(const struct op_error *o, const struct op_node *n,
                                 const struct bounded_value *const *in, struct bounded_value *out)
{
    struct op_call c = op_attrs_of(o->g, n);
    int given = op_node_is(n, OP_BatchNormalization) && !op_int(&c, "training_mode");
    struct norm_error m;
    enum emu_status st = norm_open(&m, o, n, in);
    double *e = st == EMU_OK ? emu_alloc(m.x.length + 1, sizeof(*e)) : NULL;

    if (st == EMU_OK && !e)
        st = FAIL(NO_MEMORY, "%s", n->name);
    for (uint64_t k = 0; st == EMU_OK && is_exact(&m, out) && k < m.x.count; k++) {
        struct statistics s;

        op_lane_read(&m.x, k, &in[0]->t);
        op_lane_read(&m.place, k, &m.places);
        s = given ? given_statistics(&m, k) : statistics_of(&m);
        for (uint64_t i = 0; i < m.x.length; i++)
            e[i] = s.er < INFINITY ? result_error(&m, &s, i) : INFINITY;
        write_lane(&m, k, e, out[0].e);
        if (!given)
            statistics_error(&m, &s, k, out);
    }
    ss_free(e);
    norm_close(&m);
    return st;
}

/* ---- backward ---- */

/* A lane of gradients; by element. */
struct slope {
    struct bounded g, dy;
    double h, eh, height;
};

/* What is added up over a lane or for a number of scale and shift: magnitudes and errors. */
struct lane_sums {
    double s, d;         /* of g, and of g h */
    double size, height; /* of |g|, and of |g| H */
    double es, ed;       /* of eg, and of |g| eh + eg |h| */
};

static void add_to(struct lane_sums *t, struct bounded g, const struct slope *p)
{
    t->s += g.v;
    t->d += g.v * p->h;
    t->size += fabs(g.v);
    t->height += fabs(g.v) * p->height;
    t->es += g.e;
    t->ed += fabs(g.v) * p->eh + g.e * (fabs(p->h) + p->eh);
}

/* What errors of a sum of n numbers become: eS and eD. */
static void add_sum_errors(struct lane_sums *t, double n)
{
    t->es += (n + 8) * F32_UNIT * t->size;
    t->ed += (n + 8) * F32_UNIT * t->height;
}

static struct slope slope_of(const struct norm_error *m, const struct statistics *s, uint64_t i,
                             struct bounded dy)
{
    struct bounded h = normed(s, m->x.f[i]);
    struct bounded scale = parameter(m, 1, (uint64_t)m->place.f[i], 1);
    const struct rounding r = rounding_of(m->o->elem);
    struct slope p = { .h = h.v, .eh = h.e, .height = height(s, m->x.f[i]) };

    dy.e += bounded_constant(&r, dy.v).e; /* f32 that becomes a field */
    p.dy = dy;
    p.g.v = dy.v * scale.v;
    p.g.e = fabs(dy.v) * scale.e + (fabs(scale.v) + scale.e) * dy.e + F32_UNIT * fabs(p.g.v);
    return p;
}

static double back_error(const struct rounding *r, const struct statistics *s,
                         const struct lane_sums *t, const struct slope *p, double n)
{
    struct bounded dx = { s->root * (p->g.v - (t->s + p->h * t->d) / n), 0 };
    double parts = fabs(p->g.v) + fabs(t->s) / n + p->height * fabs(t->d) / n;

    dx.e = s->root * (p->g.e + t->es / n + p->height * t->ed / n +
                      fabs(t->d) / n * s->root * s->em + parts * (2 * s->er + 10 * F32_UNIT));
    return bounded_round(r, dx, 1.001).e;
}

/* A lane; by_parameter: what its elements add to the sums of scale and shift. */
static void lane_back(const struct norm_error *m, const struct statistics *s, struct slope *p,
                      double *e, struct lane_sums *by_parameter)
{
    const struct rounding r = rounding_of(m->o->elem);
    double n = (double)m->x.length;
    struct lane_sums lane = { 0 };

    for (uint64_t i = 0; i < m->x.length; i++) {
        add_to(&lane, p[i].g, &p[i]);
        add_to(&by_parameter[(uint64_t)m->place.f[i]], p[i].dy, &p[i]);
    }
    add_sum_errors(&lane, n);
    for (uint64_t i = 0; i < m->x.length; i++)
        e[i] = s->er < INFINITY ? back_error(&r, s, &lane, &p[i], n) : INFINITY;
}

/* dy of a lane, with its errors. */
static void read_gradients(const struct norm_error *m, uint64_t k, const struct statistics *s,
                           struct slope *p)
{
    const struct op_lanes *dy = &m->dy;
    struct op_tensor errors = { .shape = m->in[2]->t.shape, .f = m->in[2]->e };

    op_lane_read(dy, k, &m->in[2]->t);
    for (uint64_t i = 0; i < m->x.length; i++)
        p[i] = slope_of(m, s, i, exactly(dy->f[i]));
    if (errors.f)
        op_lane_read(dy, k, &errors);
    for (uint64_t i = 0; errors.f && i < m->x.length; i++)
        p[i] = slope_of(m, s, i, (struct bounded){ p[i].dy.v, dy->f[i] });
}

/* Gradients of scale and shift: sums in f32. */
static void parameters_back(const struct norm_error *m, struct lane_sums *by_parameter,
                            struct bounded_value *out)
{
    uint64_t parameters = count_of(m->in[1]);

    for (uint64_t i = 0; i < parameters; i++) {
        struct lane_sums *t = &by_parameter[i];

        add_sum_errors(t, (double)(count_of(m->in[0]) / parameters));
        if (m->n->outs > 1 && out[1].e)
            out[1].e[i] = isnan(t->ed) ? INFINITY : t->ed;
        if (m->n->outs > 2 && out[2].e)
            out[2].e[i] = t->es;
    }
}

enum emu_status norm_back_error(const struct op_error *o, const struct op_node *n,
                                const struct bounded_value *const *in, struct bounded_value *out)
{
    struct norm_error m;
    enum emu_status st = norm_open(&m, o, n, in);
    double *e = NULL;
    struct slope *p = NULL;
    struct lane_sums *sums = NULL;

    if (st == EMU_OK) {
        e = emu_alloc(m.x.length + 1, sizeof(*e));
        p = emu_alloc(m.x.length + 1, sizeof(*p));
        sums = emu_alloc(count_of(in[1]) + 1, sizeof(*sums));
        st = e && p && sums ? EMU_OK : FAIL(NO_MEMORY, "%s", n->name);
    }
    for (uint64_t k = 0; st == EMU_OK && is_exact(&m, out) && k < m.x.count; k++) {
        struct statistics s;

        op_lane_read(&m.x, k, &in[0]->t);
        op_lane_read(&m.place, k, &m.places);
        s = statistics_of(&m);
        read_gradients(&m, k, &s, p);
        lane_back(&m, &s, p, e, sums);
        write_lane(&m, k, e, out[0].e);
    }
    if (st == EMU_OK)
        parameters_back(&m, sums, out);
    ss_free(sums);
    ss_free(p);
    ss_free(e);
    norm_close(&m);
    return st;
}
