/* family_update.c - ParameterUpdate: one step of an optimiser on any number of parameters.
 *
 * Inputs are three numbers and a seed, then lists of one length: rate, what gradients are
 * multiplied with, which step it is (the first is 1), two words for states that are rounded
 * stochastically; parameters w, their gradients, and the method's states. Results are new
 * parameters, then new states, then, if wanted, the sum of all gradients, which is no number if one
 * of them is none. With g the gradient after that multiplication:
 *
 *   sgd      v = alpha v + g + decay w                            w - rate v
 *            nesterov: w - rate (g + decay w + alpha v)
 *   rmsprop  s = s + (1 - beta) (h^2 - s), h = g + decay w
 *            m = alpha m + rate h / root(s + epsilon)             w - m
 *   lars     m = alpha m + rate t (g + decay w)                   w - m
 *            t = eta |w| / (|g| + decay |w| + epsilon), norms of a whole parameter; 1 if a norm or
 *            eta is 0
 *   adamw    m = alpha m + (1 - alpha) g, v = beta v + (1 - beta) g^2
 *            w - rate (m / (1 - alpha^step) / (root(v / (1 - beta^step)) + epsilon) + decay w)
 */
#include <math.h>
#include <string.h>

#include "models/operators/op_families.h"
#include "models/operators/op_update.h"

static const struct op_update_method methods[] = {
    { "sgd", 1, { "momentum" }, { 0 }, { 0 } },
    { "rmsprop", 2, { "square", "momentum" }, { 1, 0 }, { 1, 0 } },
    { "lars", 1, { "momentum" }, { 0 }, { 0 } },
    { "adamw", 2, { "momentum", "square" }, { 0, 0 }, { 0, 1 } },
};

const struct op_update_method *op_update_method(const char *name)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(methods); k++) {
        if (!strcmp(methods[k].name, name))
            return &methods[k];
    }
    return NULL;
}

const char *op_update_method_name(unsigned i)
{
    return i < EMU_COUNT_OF(methods) ? methods[i].name : NULL;
}

/* Whether input k is there and has the dimensions that it must have. */
static enum emu_status check_input(struct op_call *c, uint32_t k, uint32_t n)
{
    uint64_t numbers = k == UPDATE_SEED ? 2 : 1;

    if (!c->in[k])
        return op_refuse(c, "input %u is missing", k);
    if (k < UPDATE_LISTS ? op_shape_count(c->in[k]) != numbers
                         : !op_shape_equal(c->in[k], c->in[UPDATE_LISTS + (k - UPDATE_LISTS) % n]))
        return op_refuse(c, "input %u has other dimensions than its parameter", k);
    return EMU_OK;
}

static enum emu_status update_infer(struct op_call *c)
{
    static const struct op_shape number = { .type = OP_TYPE_F32 };
    const struct op_update_method *m = op_update_method(op_string(c, "method"));
    uint32_t n, each, results;

    if (!m)
        return op_refuse(c, "method %.40s is none of sgd, rmsprop, lars, adamw",
                         op_string(c, "method"));
    each = 2 + m->slots;
    n = (c->ins - UPDATE_LISTS) / each;
    results = n * (1 + m->slots);
    if (n * each != c->ins - UPDATE_LISTS || c->outs < results || c->outs > results + 1)
        return op_refuse(c,
                         "%u inputs and %u results: %s has %u lists of parameters, %u of results",
                         c->ins, c->outs, m->name, each, 1 + m->slots);
    for (uint32_t k = 0; k < c->ins; k++)
        TRY(check_input(c, k, n));
    for (uint32_t k = 0; k < results; k++)
        c->out[k] = *c->in[UPDATE_LISTS + (k < n ? k : k + n)]; /* gradients have no successor */
    if (c->outs > results)
        c->out[results] = number;
    return EMU_OK;
}

/* --- numbers ------------------------------------------------------------------------------ */

struct update_step {
    double rate, scale, alpha, beta, epsilon, decay, eta;
    double number; /* of the step */
    int nesterov;
};

/* A parameter, its gradient and states, and what becomes of them. */
struct update_numbers {
    const double *w, *g, *state[UPDATE_SLOTS];
    double *to, *state_to[UPDATE_SLOTS];
    uint64_t n;
};

typedef void update_function(const struct update_step *s, const struct update_numbers *p);

static void sgd(const struct update_step *s, const struct update_numbers *p)
{
    for (uint64_t k = 0; k < p->n; k++) {
        double h = s->scale * p->g[k] + s->decay * p->w[k];
        double v = s->alpha * p->state[0][k] + h;

        p->state_to[0][k] = v;
        p->to[k] = p->w[k] - s->rate * (s->nesterov ? h + s->alpha * v : v);
    }
}

static void rmsprop(const struct update_step *s, const struct update_numbers *p)
{
    for (uint64_t k = 0; k < p->n; k++) {
        double h = s->scale * p->g[k] + s->decay * p->w[k];
        double square = p->state[0][k] + (1 - s->beta) * (h * h - p->state[0][k]);
        double m = s->alpha * p->state[1][k] + s->rate * h / sqrt(square + s->epsilon);

        p->state_to[0][k] = square;
        p->state_to[1][k] = m;
        p->to[k] = p->w[k] - m;
    }
}

static double norm(const double *x, uint64_t n)
{
    double sum = 0;

    for (uint64_t k = 0; k < n; k++)
        sum += x[k] * x[k];
    return sqrt(sum);
}

static void lars(const struct update_step *s, const struct update_numbers *p)
{
    double w = norm(p->w, p->n), g = s->scale * norm(p->g, p->n), trust = 1;

    if (w > 0 && g > 0 && s->eta > 0)
        trust = s->eta * w / (g + s->decay * w + s->epsilon);
    for (uint64_t k = 0; k < p->n; k++) {
        double m =
            s->alpha * p->state[0][k] + s->rate * trust * (s->scale * p->g[k] + s->decay * p->w[k]);

        p->state_to[0][k] = m;
        p->to[k] = p->w[k] - m;
    }
}

static void adamw(const struct update_step *s, const struct update_numbers *p)
{
    double first = 1 - pow(s->alpha, s->number), second = 1 - pow(s->beta, s->number);

    for (uint64_t k = 0; k < p->n; k++) {
        double g = s->scale * p->g[k];
        double m = s->alpha * p->state[0][k] + (1 - s->alpha) * g;
        double v = s->beta * p->state[1][k] + (1 - s->beta) * g * g;

        p->state_to[0][k] = m;
        p->state_to[1][k] = v;
        p->to[k] =
            p->w[k] - s->rate * (m / first / (sqrt(v / second) + s->epsilon) + s->decay * p->w[k]);
    }
}

/* The sum of all gradients. */
static double sum_of(const struct op_tensor *const *gradient, uint32_t n, double scale)
{
    double sum = 0;

    for (uint32_t k = 0; k < n; k++) {
        for (uint64_t i = 0; i < op_shape_count(&gradient[k]->shape); i++)
            sum += scale * gradient[k]->f[i];
    }
    return sum;
}

static enum emu_status update_ref(struct op_call *c, const struct op_tensor *const *in,
                                  struct op_tensor *out)
{
    static update_function *const function[] = { sgd, rmsprop, lars, adamw };
    const struct op_update_method *m = op_update_method(op_string(c, "method"));
    const struct update_step s = { .rate = in[UPDATE_RATE]->f[0],
                                   .scale = in[UPDATE_SCALE]->f[0],
                                   .number = in[UPDATE_STEP]->f[0],
                                   .alpha = op_float(c, "alpha"),
                                   .beta = op_float(c, "beta"),
                                   .epsilon = op_float(c, "epsilon"),
                                   .decay = op_float(c, "decay"),
                                   .eta = op_float(c, "eta"),
                                   .nesterov = op_int(c, "nesterov") != 0 };
    uint32_t n = c->outs / (1 + m->slots);

    for (uint32_t k = 0; k < n; k++) {
        struct update_numbers p = { .w = in[UPDATE_LISTS + k]->f,
                                    .g = in[UPDATE_LISTS + n + k]->f,
                                    .to = out[k].f,
                                    .n = op_shape_count(&out[k].shape) };

        for (unsigned j = 0; j < m->slots; j++) {
            p.state[j] = in[UPDATE_LISTS + (2 + j) * n + k]->f;
            p.state_to[j] = out[(1 + j) * n + k].f;
        }
        function[m - methods](&s, &p);
    }
    if (c->outs > n * (1 + m->slots))
        out[c->outs - 1].f[0] = sum_of(in + UPDATE_LISTS + n, n, s.scale);
    return EMU_OK;
}

const struct op_family family_update = { .infer = update_infer, .ref = update_ref };
