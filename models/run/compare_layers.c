/* compare_layers.c - every layer of a run against the reference.
 *
 * * Fused layers are compared as one. A result that a later layer has overwritten in place (scaled
 * or normalised) can no longer be read: layers that took it get the reference's numbers instead,
 * and their bounds include the bounds of those numbers. */
#include "models/run/compare_layers.h"

#include <math.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/run_image.h"
#include "models/run/layer_error.h"
#include "models/run/net_result.h"

enum { F16_MAX = 65504 };

struct comparer {
    const struct net_graph *ng;
    struct session *s;
    struct layer_bounds bounds;
    struct layer_value
        *value;            /* owned; by first layer of those fused; freed after its last reader */
    uint32_t *last_reader; /* owned; by the same */
    uint32_t begin, end;   /* layers */
    struct layer_comparison *sum; /* borrowed */
};

static uint32_t into(const struct comparer *c, uint32_t layer)
{
    return c->ng->layer[layer].into;
}

static uint64_t elements(const struct comparer *c, uint32_t layer)
{
    return layer_elements(&c->ng->net->layer[layer]) * c->ng->net->batch;
}

/* Whether a later layer has overwritten the result of this one. */
static int is_overwritten(const struct comparer *c, uint32_t first)
{
    const struct layer_graph *at = c->ng->layer;

    for (uint32_t i = first + 1; i < c->ng->net->layers; i++)
        if (at[i].into == i && at[i].has_result && at[first].has_result &&
            at[i].result.t.view == at[first].result.t.view)
            return 1;
    return 0;
}

/* ---- comparison ---- */

struct difference {
    double largest, error, bound,
        worst; /* largest value; of the worst number: error, bound, ratio */
    double square_error, square;
    uint64_t at; /* the worst */
    int lost;    /* the reference itself is not finite, because its inputs were not */
};

static struct difference differ(const struct layer_value *want, const double *got, uint64_t n)
{
    struct difference d = { 0 };

    for (uint64_t i = 0; i < n; i++) {
        double error = fabs(got[i] - want->v[i]), ratio = error / want->e[i];

        d.lost |= !isfinite(want->v[i]);
        if (error == 0)
            ratio = 0;
        if (!(ratio <= d.worst)) { /* NaN, too */
            d.worst = isnan(ratio) ? INFINITY : ratio;
            d.error = error;
            d.bound = want->e[i];
            d.at = i;
        }
        d.largest = fmax(d.largest, fabs(want->v[i]));
        d.square_error += error * error;
        d.square += want->v[i] * want->v[i];
    }
    return d;
}

/* What is wrong with a result; empty: nothing. */
static const char *verdict_of(const struct difference *d, int clean)
{
    if (!clean)
        return "PADDING CHANNELS NOT ZERO";
    if (d->worst <= 1)
        return "";
    return d->largest > F16_MAX ? "BROKEN: beyond the range of f16" : "BROKEN";
}

static double rms_error(const struct difference *d)
{
    return d->square > 0 ? sqrt(d->square_error / d->square) : 0;
}

/* ---- rows ---- */

/* JSON has neither infinity nor NaN. */
static json_t *real_json(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

/* Takes row, which may be NULL. */
static enum emu_status add_json(struct comparer *c, json_t *row)
{
    return json_array_append_new(c->sum->rows, row) ? FAIL(NO_MEMORY, "the answer") : EMU_OK;
}

/* A layer that is not compared, and why. */
static enum emu_status add_uncompared(struct comparer *c, uint32_t layer, const char *why)
{
    const char *name = c->ng->net->layer[layer].name;

    if (c->sum->rows)
        return add_json(c, json_pack("{s:s, s:b, s:s}", "name", name, "compared", 0, "note", why));
    fprintf(c->sum->f, "%-20s %s\n", name, why);
    return EMU_OK;
}

static enum emu_status add_compared(struct comparer *c, const char *name, const char *op,
                                    const struct difference *d, const char *verdict)
{
    if (c->sum->rows)
        return add_json(c, json_pack("{s:s, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:s}", "name", name,
                                     "compared", 1, "op", op, "largest", real_json(d->largest),
                                     "error", real_json(d->error), "bound", real_json(d->bound),
                                     "ratio", real_json(d->worst), "rms_error",
                                     real_json(rms_error(d)), "note", verdict));
    fprintf(c->sum->f, "%-20s %-20s %10.4g %10.3g %10.3g %7.3f %10.3g%s%s\n", name, op, d->largest,
            d->error, d->bound, d->worst, rms_error(d), *verdict ? "  " : "", verdict);
    return EMU_OK;
}

/* Counts a result and adds its row. */
static enum emu_status add_difference(struct comparer *c, uint32_t first, uint32_t last,
                                      const struct difference *d, int clean)
{
    const struct net *n = c->ng->net;
    const struct layer *l = &n->layer[last];
    uint64_t plane = (uint64_t)l->out_h * l->out_w, at = d->at;
    const char *verdict = verdict_of(d, clean);
    char op[64] = "";

    if (d->lost)
        return add_uncompared(c, first, "not compared: its inputs are not finite");
    for (uint32_t i = first; i <= last && strlen(op) < 40; i++)
        snprintf(op + strlen(op), sizeof(op) - strlen(op), "%s%s", i > first ? "+" : "",
                 layer_op_name(n->layer[i].op));
    TRY(add_compared(c, n->layer[first].name, op, d, verdict));
    c->sum->compared++;
    if (!*verdict || c->sum->broken++)
        return EMU_OK;
    snprintf(c->sum->first, sizeof(c->sum->first),
             "%s, picture %u, channel %u, row %u, column %u: error %.3g, bound %.3g%s",
             n->layer[first].name, (uint32_t)(at / plane / l->out_c),
             (uint32_t)(at / plane % l->out_c), (uint32_t)(at % plane / l->out_w),
             (uint32_t)(at % l->out_w), d->error, d->bound, clean ? "" : ", padding not zero");
    return EMU_OK;
}

/* ---- layers ---- */

/* Keeps the inputs of later layers: got, or the reference's numbers if got was overwritten. */
static void keep(struct comparer *c, uint32_t first, struct layer_value *want, double *got)
{
    if (got) {
        layer_value_free(want);
        c->value[first] = (struct layer_value){ .v = got };
    } else {
        c->value[first] = *want;
    }
}

/* Computes layers first .. last, each from the one before and from kept values. */
static enum emu_status calculate(struct comparer *c, uint32_t first, uint32_t last,
                                 struct layer_value *out)
{
    for (uint32_t i = first; i <= last; i++) {
        const struct layer *l = &c->ng->net->layer[i];
        struct layer_value in[2] = { { 0 } }, next = { 0 };
        enum emu_status s;

        for (int k = 0; k < 2; k++) {
            if (l->input[k] != LAYER_NONE)
                in[k] = i > first && l->input[k] == i - 1 ? *out : c->value[into(c, l->input[k])];
            EMU_ASSERT(l->input[k] == LAYER_NONE || in[k].v);
        }
        s = layer_value(&c->bounds, i, in, &next);
        layer_value_free(out);
        *out = next;
        TRY(s);
    }
    layer_value_round(out, elements(c, last));
    return EMU_OK;
}

/* Reads a result from the machine; *got is NULL if it was overwritten. */
static enum emu_status read_kept(struct comparer *c, uint32_t first, uint32_t last, double **got,
                                 int *clean)
{
    *got = NULL;
    *clean = 1;
    if (is_overwritten(c, first))
        return EMU_OK;
    *got = emu_alloc(elements(c, last), sizeof(**got));
    return *got ? net_result_read(c->ng, c->s, first, *got, clean)
                : FAIL(NO_MEMORY, "a result of %s", c->ng->net->layer[first].name);
}

static enum emu_status compare_one(struct comparer *c, uint32_t first, uint32_t last)
{
    const struct layer *l = &c->ng->net->layer[first];
    struct layer_value want = { 0 };
    double *got;
    int clean;
    enum emu_status s = read_kept(c, first, last, &got, &clean);

    if (c->ng->net->layer[last].op == LAYER_SIGMOID)
        clean = 1; /* sigmoid(0) is not 0, but is only multiplied by zeros */
    if (s == EMU_OK && l->op != LAYER_INPUT && last >= c->begin && first < c->end)
        s = calculate(c, first, last, &want);
    if (s != EMU_OK) {
        emu_free(got);
        layer_value_free(&want);
        return s;
    }
    if (got && want.v) {
        struct difference d = differ(&want, got, elements(c, last));

        s = add_difference(c, first, last, &d, clean);
    } else if (want.v) {
        s = add_uncompared(c, first, "compared with the layer that works on its result in place");
    }
    keep(c, first, &want, got);
    return s;
}

static void drop_read(struct comparer *c, uint32_t last)
{
    for (uint32_t i = 0; i <= last; i++)
        if (c->value[i].v && c->last_reader[i] <= last)
            layer_value_free(&c->value[i]);
}

static enum emu_status compare_all(struct comparer *c)
{
    const struct net *n = c->ng->net;

    for (uint32_t i = c->begin; i < c->end; i++)
        for (int k = 0; k < 2; k++)
            if (n->layer[i].input[k] != LAYER_NONE)
                c->last_reader[into(c, n->layer[i].input[k])] = i;
    for (uint32_t first = 0, last; first < n->layers; first = last + 1) {
        for (last = first; last + 1 < n->layers && into(c, last + 1) == first;)
            last++;
        if (c->ng->layer[first].kept)
            TRY(compare_one(c, first, last));
        drop_read(c, last);
    }
    return EMU_OK;
}

void compare_layers_begin(const struct layer_comparison *sum)
{
    if (sum->rows)
        return;
    fprintf(sum->f,
            "Layers against the f64 reference, fed with the machine's inputs\n"
            "%-20s %-20s %10s %10s %10s %7s %10s\n",
            "layer", "op", "largest", "error", "bound", "ratio", "rms error");
}

static enum emu_status print_json(const struct layer_comparison *sum)
{
    json_t *o =
        json_pack("{s:I, s:I, s:s, s:O}", "compared", (json_int_t)sum->compared, "beyond_bound",
                  (json_int_t)sum->broken, "first_beyond", sum->first, "layers", sum->rows);

    if (!o)
        return FAIL(NO_MEMORY, "the answer");
    run_print_json(o, sum->f);
    json_decref(o);
    return EMU_OK;
}

enum emu_status compare_layers_end(const struct layer_comparison *sum)
{
    if (sum->rows) {
        TRY(print_json(sum));
    } else {
        fprintf(sum->f,
                "%u results compared, %u beyond their bound. error, bound: of the number with the "
                "largest ratio;\nrms error: of all numbers, relative to the layer's own.\n",
                sum->compared, sum->broken);
    }
    return sum->broken ? FAIL(FAULT, "%s", sum->first) : EMU_OK;
}

enum emu_status compare_layers(const struct net_graph *ng, const struct weights *w,
                               struct session *s, uint32_t begin, uint32_t end,
                               struct layer_comparison *sum)
{
    struct comparer c = { .ng = ng, .s = s, .begin = begin, .end = end, .sum = sum };
    enum emu_status st = layer_bounds_init(&c.bounds, ng->net, w);

    c.value = emu_alloc(ng->net->layers, sizeof(*c.value));
    c.last_reader = emu_alloc(ng->net->layers, sizeof(*c.last_reader));
    if (st == EMU_OK && (!c.value || !c.last_reader))
        st = FAIL(NO_MEMORY, "%u layers", ng->net->layers);
    if (st == EMU_OK)
        st = compare_all(&c);
    for (uint32_t i = 0; c.value && i < ng->net->layers; i++)
        layer_value_free(&c.value[i]);
    emu_free(c.value);
    emu_free(c.last_reader);
    layer_bounds_free(&c.bounds);
    return st;
}
