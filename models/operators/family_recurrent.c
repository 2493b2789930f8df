/* family_recurrent.c - LSTM, GRU and RNN: each sequence of each direction by itself, step by step.
 *
 * Gates are in ONNX's order: i o f c (peepholes i o f), z r h. A sequence longer than its length is
 * 0 behind it, and runs backwards from its length on. clip bounds the arguments of activations.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "models/operators/op_function.h"
#include "models/operators/operators.h"

enum { DIRECTIONS_MAX = 2, GATES_MAX = 4, ACTIVATIONS_MAX = 3 };
enum { PARALLEL_MIN = 1 << 16, ROWS = 4 }; /* multiply-adds; rows of weights computed together */

enum cell { RNN, GRU, LSTM };
/* By cell. */
static const unsigned gates[] = { 1, 3, 4 }, activations[] = { 1, 2, 3 };
enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, P };

struct cell_activation {
    const struct op_function *of; /* NULL: a x + b, or a tanh(b x) */
    int scaled_tanh;
    double a, b;
};

struct recurrent {
    enum cell cell;
    uint32_t steps, batch, inputs, hidden, directions;
    int backwards[DIRECTIONS_MAX];
    int batch_first, linear_before_reset, input_forget;
    double clip;
    struct cell_activation act[DIRECTIONS_MAX][ACTIVATIONS_MAX];
};

/* --- activations -------------------------------------------------------------------------- */

/* Names that cells know; the last two are no operators. */
static const char *const names[] = { "Tanh",        "Sigmoid",         "Relu",
                                     "LeakyRelu",   "ThresholdedRelu", "Elu",
                                     "HardSigmoid", "Softsign",        "Softplus",
                                     "ScaledTanh",  "Affine" };

/* The preset of an operator's attribute. */
static double preset(const char *operator_name, const char *attr)
{
    struct op_attr_spec spec;

    for (unsigned k = 0; op_row_attr(op_row_find(operator_name, 0), k, &spec); k++) {
        if (!strcmp(spec.name, attr))
            return spec.preset.f;
    }
    emu_abort(__FILE__, __LINE__, attr);
}

/* Lists of numbers that activations take from, one after the other. */
struct number_list {
    const double *at;
    uint32_t left;
};

static double next_number(struct number_list *n, const char *operator_name, const char *attr)
{
    if (!attr)
        return 0;
    if (!n->left)
        return preset(operator_name, attr);
    n->left--;
    return *n->at++;
}

static enum emu_status read_activation(struct op_call *c, const char *name,
                                       struct number_list *alpha, struct number_list *beta,
                                       struct cell_activation *out)
{
    unsigned k = 0;

    while (k < EMU_COUNT_OF(names) && strcasecmp(names[k], name))
        k++;
    if (k == EMU_COUNT_OF(names))
        return op_refuse(c, "activation %.60s is not known", name);
    *out = (struct cell_activation){ .of = op_function_find(names[k]) };
    if (!out->of) {
        if (!alpha->left || !beta->left)
            return op_refuse(c, "activation %s has no alpha and beta", names[k]);
        out->scaled_tanh = !strcmp(names[k], "ScaledTanh");
        out->a = next_number(alpha, NULL, "alpha");
        out->b = next_number(beta, NULL, "beta");
        return EMU_OK;
    }
    out->a = next_number(alpha, names[k], op_function_attr(out->of, 0));
    out->b = next_number(beta, names[k], op_function_attr(out->of, 1));
    return EMU_OK;
}

/* For each direction f, then g, then h. */
static enum emu_status read_activations(struct op_call *c, struct recurrent *v)
{
    static const char *const usual[][ACTIVATIONS_MAX] = {
        [RNN] = { "Tanh" }, [GRU] = { "Sigmoid", "Tanh" }, [LSTM] = { "Sigmoid", "Tanh", "Tanh" }
    };
    unsigned each = activations[v->cell];
    struct number_list alpha, beta;
    const char *const *name;
    uint32_t n = op_texts(c, "activations", &name);

    alpha.left = op_floats(c, "activation_alpha", &alpha.at);
    beta.left = op_floats(c, "activation_beta", &beta.at);
    if (n && (n % each || n < each * v->directions)) /* RNN may name those of two directions */
        return op_refuse(c, "%u activations for %u directions", n, v->directions);
    for (unsigned k = 0; k < each * v->directions; k++)
        TRY(read_activation(c, n ? name[k] : usual[v->cell][k % each], &alpha, &beta,
                            &v->act[k / each][k % each]));
    return EMU_OK;
}

static double activate(const struct recurrent *v, const struct cell_activation *f, double x)
{
    x = x < -v->clip ? -v->clip : x > v->clip ? v->clip : x;
    if (f->of)
        return op_function_value(f->of, x, f->a, f->b);
    return f->scaled_tanh ? f->a * tanh(f->b * x) : f->a * x + f->b;
}

/* --- shapes ------------------------------------------------------------------------------- */

/* Checks that input k, if there, is [a][b][d]; without the dimensions that are 0 from the end. */
static enum emu_status expect(struct op_call *c, uint32_t k, const char *name, uint64_t a,
                              uint64_t b, uint64_t d)
{
    unsigned rank = d ? 3 : b ? 2 : 1;
    const struct op_shape *s;
    char text[OP_SHAPE_TEXT];

    if (!op_given(c, k))
        return EMU_OK;
    s = c->in[k];
    if (s->rank == rank && s->dim[0] == a && (rank < 2 || s->dim[1] == b) &&
        (rank < 3 || s->dim[2] == d))
        return EMU_OK;
    return op_refuse(c, "%s is %s, expected dimensions of %llu, %llu, %llu", name,
                     op_shape_text(s, text), (unsigned long long)a, (unsigned long long)b,
                     (unsigned long long)d);
}

static enum emu_status check_inputs(struct op_call *c, const struct recurrent *v)
{
    uint64_t rows = (uint64_t)gates[v->cell] * v->hidden, d = v->directions;
    uint64_t first = v->batch_first ? v->batch : d, second = v->batch_first ? d : v->batch;

    TRY(expect(c, W, "W", d, rows, v->inputs));
    TRY(expect(c, R, "R", d, rows, v->hidden));
    TRY(expect(c, B, "B", d, 2 * rows, 0));
    TRY(expect(c, LENGTHS, "sequence_lens", v->batch, 0, 0));
    TRY(expect(c, INITIAL_H, "initial_h", first, second, v->hidden));
    TRY(expect(c, INITIAL_C, "initial_c", first, second, v->hidden));
    return expect(c, P, "P", d, 3 * (uint64_t)v->hidden, 0);
}

static enum emu_status read_direction(struct op_call *c, struct recurrent *v)
{
    int both = op_is(c, "direction", "bidirectional"), back = op_is(c, "direction", "reverse");

    if (!both && !back && !op_is(c, "direction", "forward"))
        return op_refuse(c, "direction %.60s is none of forward, reverse, bidirectional",
                         op_string(c, "direction"));
    v->directions = both ? 2 : 1;
    v->backwards[0] = back;
    v->backwards[1] = 1;
    return EMU_OK;
}

static enum emu_status read_recurrent(struct op_call *c, struct recurrent *v)
{
    const struct op_shape *x = c->in[X], *r = c->in[R];

    *v = (struct recurrent){ .clip = op_has(c, "clip") ? op_float(c, "clip") : INFINITY };
    v->cell = op_named(c, OP_LSTM) ? LSTM : op_named(c, OP_GRU) ? GRU : RNN;
    v->batch_first = op_int(c, "layout") != 0;
    v->linear_before_reset = v->cell == GRU && op_int(c, "linear_before_reset");
    v->input_forget = v->cell == LSTM && op_int(c, "input_forget");
    if (x->rank != 3 || r->rank != 3)
        return op_refuse(c, "X has %u dimensions, R %u, expected 3", x->rank, r->rank);
    v->steps = x->dim[v->batch_first];
    v->batch = x->dim[!v->batch_first];
    v->inputs = x->dim[2];
    v->hidden = r->dim[2];
    if (!v->steps || !v->batch || !v->inputs || !v->hidden)
        return op_refuse(c, "a dimension of 0");
    if (op_has(c, "hidden_size") && op_int(c, "hidden_size") != v->hidden)
        return op_refuse(c, "hidden_size %lld, R has %u", (long long)op_int(c, "hidden_size"),
                         v->hidden);
    if (!(v->clip > 0))
        return op_refuse(c, "clip %g is not above 0", v->clip);
    TRY(read_direction(c, v));
    TRY(check_inputs(c, v));
    return read_activations(c, v);
}

static enum emu_status recurrent_infer(struct op_call *c)
{
    enum op_type type = c->in[X]->type;
    struct recurrent v;
    uint32_t d;

    TRY(read_recurrent(c, &v));
    d = v.directions;
    for (uint32_t k = 0; k < c->outs; k++) {
        if (!k && v.batch_first)
            c->out[k] = (struct op_shape){ type, 4, { v.batch, v.steps, d, v.hidden } };
        else if (!k)
            c->out[k] = (struct op_shape){ type, 4, { v.steps, d, v.batch, v.hidden } };
        else if (v.batch_first)
            c->out[k] = (struct op_shape){ type, 3, { v.batch, d, v.hidden } };
        else
            c->out[k] = (struct op_shape){ type, 3, { d, v.batch, v.hidden } };
    }
    return EMU_OK;
}

/* --- one step ----------------------------------------------------------------------------- */

/* One sequence in one direction while it runs: its weights, and its state. */
struct sequence {
    const struct recurrent *v;
    const struct cell_activation *act;
    const double *w, *r;             /* [gates][hidden][inputs], [gates][hidden][hidden] */
    const double *w_bias, *r_bias;   /* [gates][hidden]; NULL: none */
    const double *peephole;          /* [3][hidden]; NULL: none */
    double *h, *c;                   /* owned: [hidden]: the state */
    double *from_x, *from_h, *reset; /* owned: [gates][hidden] and [hidden]: of the step */
};

/* to = bias + matrix [rows][n] times x. */
static void product(const double *matrix, const double *bias, uint64_t rows, uint64_t n,
                    const double *x, double *to)
{
    int64_t blocks = (int64_t)((rows + ROWS - 1) / ROWS);

#pragma omp parallel for if (rows * n >= PARALLEL_MIN)
    for (int64_t b = 0; b < blocks; b++) {
        uint64_t first = (uint64_t)b * ROWS;
        double sum[ROWS] = { 0 };
        const double *row[ROWS];

        for (unsigned k = 0; k < ROWS; k++) /* behind the last row it again */
            row[k] = matrix + (first + k < rows ? first + k : rows - 1) * n;
        for (uint64_t i = 0; i < n; i++) {
            for (unsigned k = 0; k < ROWS; k++)
                sum[k] += row[k][i] * x[i];
        }
        for (unsigned k = 0; k < ROWS && first + k < rows; k++)
            to[first + k] = sum[k] + (bias ? bias[first + k] : 0);
    }
}

static void step_rnn(struct sequence *s)
{
    uint32_t n = s->v->hidden;

    product(s->r, s->r_bias, n, n, s->h, s->from_h);
    for (uint32_t j = 0; j < n; j++)
        s->h[j] = activate(s->v, &s->act[0], s->from_x[j] + s->from_h[j]);
}

static void step_gru(struct sequence *s)
{
    uint64_t n = s->v->hidden, at = 2 * n; /* gates z r h; at: that of h */
    double *z = s->from_x, *r = s->from_x + n, *candidate = s->from_x + at;
    int late = s->v->linear_before_reset;

    product(s->r, s->r_bias, late ? 3 * n : at, n, s->h, s->from_h);
    for (uint64_t j = 0; j < n; j++) {
        z[j] = activate(s->v, &s->act[0], z[j] + s->from_h[j]);
        r[j] = activate(s->v, &s->act[0], r[j] + s->from_h[n + j]);
        s->reset[j] = r[j] * s->h[j];
    }
    if (!late)
        product(s->r + at * n, s->r_bias ? s->r_bias + at : NULL, n, n, s->reset, s->from_h + at);
    for (uint64_t j = 0; j < n; j++) {
        double past = s->from_h[at + j] * (late ? r[j] : 1);
        double now = activate(s->v, &s->act[1], candidate[j] + past);

        s->h[j] = (1 - z[j]) * now + z[j] * s->h[j];
    }
}

static void step_lstm(struct sequence *s)
{
    const struct cell_activation *f = &s->act[0], *g = &s->act[1], *h = &s->act[2];
    const struct recurrent *v = s->v;
    uint64_t n = v->hidden;

    product(s->r, s->r_bias, 4 * n, n, s->h, s->from_h);
    for (uint64_t j = 0; j < n; j++) {
        double gate[GATES_MAX], past = s->c[j]; /* gates i o f c */

        for (unsigned k = 0; k < 4; k++)
            gate[k] = s->from_x[k * n + j] + s->from_h[k * n + j];
        for (unsigned k = 0; s->peephole && k < 3; k += 2)
            gate[k] += s->peephole[k * n + j] * past;
        gate[0] = activate(v, f, gate[0]);
        gate[2] = v->input_forget ? 1 - gate[0] : activate(v, f, gate[2]);
        s->c[j] = gate[2] * past + gate[0] * activate(v, g, gate[3]);
        if (s->peephole)
            gate[1] += s->peephole[n + j] * s->c[j];
        s->h[j] = activate(v, f, gate[1]) * activate(v, h, s->c[j]);
    }
}

/* --- sequences ---------------------------------------------------------------------------- */

static enum emu_status sequence_new(const struct recurrent *v, struct sequence *s)
{
    size_t n = v->hidden, all = n * gates[v->cell];

    *s = (struct sequence){ .v = v };
    s->h = emu_alloc(n, sizeof(*s->h));
    s->c = emu_alloc(n, sizeof(*s->c));
    s->from_x = emu_alloc(all, sizeof(*s->from_x));
    s->from_h = emu_alloc(all, sizeof(*s->from_h));
    s->reset = emu_alloc(n, sizeof(*s->reset));
    return s->h && s->c && s->from_x && s->from_h && s->reset
               ? EMU_OK
               : FAIL(NO_MEMORY, "a state of %zu numbers", n);
}

static void sequence_free(struct sequence *s)
{
    ss_free(s->h);
    ss_free(s->c);
    ss_free(s->from_x);
    ss_free(s->from_h);
    ss_free(s->reset);
}

/* The weights of direction d. */
static void set_direction(struct sequence *s, const struct op_tensor *const *in, uint32_t ins,
                          uint32_t d)
{
    const struct recurrent *v = s->v;
    size_t n = v->hidden, rows = n * gates[v->cell];

    s->act = v->act[d];
    s->w = in[W]->f + d * rows * v->inputs;
    s->r = in[R]->f + d * rows * n;
    s->w_bias = ins > B && in[B] ? in[B]->f + 2 * d * rows : NULL;
    s->r_bias = s->w_bias ? s->w_bias + rows : NULL;
    s->peephole = ins > P && in[P] ? in[P]->f + 3 * d * n : NULL;
}

/* Copies a state from or to a tensor, which may be absent: [directions][batch][hidden]. */
static void read_state(const double *from, size_t at, size_t n, double *state)
{
    for (size_t j = 0; j < n; j++)
        state[j] = from ? from[at + j] : 0;
}

static void write_state(const double *state, size_t at, size_t n, double *to)
{
    if (to)
        memcpy(to + at, state, n * sizeof(*to));
}

static const double *input(const struct op_call *c, const struct op_tensor *const *in, uint32_t k)
{
    return op_given(c, k) ? in[k]->f : NULL;
}

/* Batch item b in direction d. */
static void run(const struct op_call *c, struct sequence *s, uint32_t d, uint32_t b,
                const struct op_tensor *const *in, struct op_tensor *out)
{
    const struct recurrent *v = s->v;
    size_t n = v->hidden, dirs = v->directions;
    size_t state = (v->batch_first ? b * dirs + d : d * (size_t)v->batch + b) * n;
    int64_t length = v->steps;

    if (op_given(c, LENGTHS) && in[LENGTHS]->i[b] < length)
        length = in[LENGTHS]->i[b];
    read_state(input(c, in, INITIAL_H), state, n, s->h);
    read_state(input(c, in, INITIAL_C), state, n, s->c);
    for (int64_t k = 0; k < length; k++) {
        size_t t = (size_t)(v->backwards[d] ? length - 1 - k : k);
        size_t x = v->batch_first ? (size_t)b * v->steps + t : t * v->batch + b;
        size_t y = v->batch_first ? x * dirs + d : (t * dirs + d) * v->batch + b;

        product(s->w, s->w_bias, n * gates[v->cell], v->inputs, in[X]->f + x * v->inputs,
                s->from_x);
        if (v->cell == LSTM)
            step_lstm(s);
        else if (v->cell == GRU)
            step_gru(s);
        else
            step_rnn(s);
        write_state(s->h, y * n, n, c->outs > 0 ? out[0].f : NULL);
    }
    write_state(s->h, state, n, c->outs > 1 ? out[1].f : NULL);
    write_state(s->c, state, n, c->outs > 2 ? out[2].f : NULL);
}

static enum emu_status recurrent_ref(struct op_call *c, const struct op_tensor *const *in,
                                     struct op_tensor *out)
{
    struct recurrent v;
    struct sequence s;
    enum emu_status status;

    TRY(read_recurrent(c, &v));
    status = sequence_new(&v, &s);
    for (uint32_t d = 0; status == EMU_OK && d < v.directions; d++) {
        set_direction(&s, in, c->ins, d);
        for (uint32_t b = 0; b < v.batch; b++)
            run(c, &s, d, b, in, out);
    }
    sequence_free(&s);
    return status;
}

const struct op_family family_recurrent = { .infer = recurrent_infer, .ref = recurrent_ref };
