/* window_pool_ref.c - maxpool_f16, avgpool_f16, add_relu_f16: meaning and cycles. */
#include "programs/library/elementwise/positions_ref.h"
#include "programs/library/pool/pool_window.h"

enum { CHANNELS = 16, POSITION_BYTES = 2 * CHANNELS };

/* A number of either state: they begin with the same fields. */
#define VALUE(call, field) ((call)->arg[maxpool__##field].value)
_Static_assert((int)maxpool__x == (int)avgpool__x && (int)maxpool__next == (int)avgpool__next,
               "the states begin alike");

/* ---- windows ---- */

/* How the windows of y lie in x: distances between positions. */
struct pool_walk {
    uint32_t rows, columns;              /* of a window */
    uint32_t to_row, to_column;          /* in a window */
    int64_t to_right, to_down, to_block; /* from window to window */
};

static struct pool_walk walk_of(const struct codelet_call *call, enum pool_loads loads)
{
    struct pool_walk k = { .rows = VALUE(call, more_h) + 1, .columns = VALUE(call, more_w) + 1 };
    uint32_t position = 2 * loads, within = loads - 1;

    k.to_column = (VALUE(call, column) + within) / position;
    k.to_row = (VALUE(call, row) + within) / position + VALUE(call, more_w) * k.to_column;
    k.to_right = VALUE(call, across) / POSITION_BYTES;
    k.to_down = (int32_t)VALUE(call, down) / POSITION_BYTES + VALUE(call, wo) * k.to_right;
    k.to_block = (int32_t)VALUE(call, next) / POSITION_BYTES + VALUE(call, ho) * k.to_down;
    return k;
}

/* Where the channel of element i of y begins its window. */
static const uint16_t *window_at(const struct codelet_call *call, const struct pool_walk *k,
                                 size_t i)
{
    size_t position = i / CHANNELS, row = position / VALUE(call, wo);
    const uint16_t *x = call->arg[maxpool__x].data;
    int64_t at = (int64_t)(row / VALUE(call, ho)) * k->to_block;

    at += (int64_t)(row % VALUE(call, ho)) * k->to_down;
    at += (int64_t)(position % VALUE(call, wo)) * k->to_right;
    return x + at * CHANNELS + i % CHANNELS;
}

static uint16_t window_max(const struct pool_walk *k, const uint16_t *x, struct fp_env *env)
{
    uint16_t most = FP_F16_SIGN | FP_F16_INF;

    for (uint32_t r = 0; r < k->rows; r++) {
        for (uint32_t c = 0; c < k->columns; c++)
            most = fp_f16_max(most, x[((size_t)r * k->to_row + c * k->to_column) * CHANNELS], env);
    }
    return most;
}

static uint32_t window_sum(const struct pool_walk *k, const uint16_t *x, struct fp_env *env)
{
    uint32_t sum = 0;

    for (uint32_t r = 0; r < k->rows; r++) {
        for (uint32_t c = 0; c < k->columns; c++) {
            uint16_t h = x[((size_t)r * k->to_row + c * k->to_column) * CHANNELS];

            sum = fp_f32_add(sum, fp_f16_to_f32(h, env), env);
        }
    }
    return sum;
}

static size_t elements(const struct codelet_call *call)
{
    return (size_t)VALUE(call, blocks) * VALUE(call, ho) * VALUE(call, wo) * CHANNELS;
}

void maxpool_f16_ref(const struct codelet_call *call)
{
    struct pool_walk k = walk_of(call, POOL_LOADS_MAX);
    uint16_t *y = call->arg[maxpool__y].data;
    struct fp_env env = { 0 };

    for (size_t i = 0; i < elements(call); i++)
        y[i] = window_max(&k, window_at(call, &k, i), &env);
}

void avgpool_f16_ref(const struct codelet_call *call)
{
    size_t field = (size_t)VALUE(call, ho) * VALUE(call, wo);
    const uint32_t *scale = call->arg[avgpool__scale].data;
    struct pool_walk k = walk_of(call, POOL_LOADS_MEAN);
    uint16_t *y = call->arg[avgpool__y].data;
    struct fp_env env = { 0 };

    for (size_t i = 0; i < elements(call); i++) {
        uint32_t sum = window_sum(&k, window_at(call, &k, i), &env);

        y[i] = fp_f16_from_f32(fp_f32_mul(scale[i / CHANNELS % field], sum, &env), 0, &env);
    }
}

/* ---- time ---- */

/* Slots of a worker: before its first position; of a position without its window, and of a row of
 * its window in both halves without the loads; when it gets to another row, and to another block.
 */
struct pool_slots {
    const struct codelet_call *call;
    uint32_t loads, start, position, window_row, row, block;
};

static uint64_t worker_pool_slots(const void *shape, unsigned w)
{
    const struct pool_slots *s = shape;
    const struct codelet_call *call = s->call;
    uint64_t ho = VALUE(call, ho), wo = VALUE(call, wo), rows;
    uint64_t n = codelet_share(call->arch, VALUE(call, blocks) * ho * wo, w);
    uint64_t loads = 2 * (uint64_t)s->loads * (VALUE(call, more_w) + 1);

    if (!n)
        return 14 + 1;
    rows = (w + (n - 1) * call->arch->workers) / wo; /* rows down to the worker's last position */
    return s->start + n * (s->position + (VALUE(call, more_h) + 1) * (loads + s->window_row)) +
           (n - 1) + rows * s->row + rows / ho * s->block + 1;
}

uint64_t maxpool_f16_cycles(const struct codelet_call *call)
{
    struct pool_slots s = { call, POOL_LOADS_MAX, 29, 11, 4, 5, 5 };

    return codelet_workers_cycles(call->arch, worker_pool_slots, &s);
}

uint64_t avgpool_f16_cycles(const struct codelet_call *call)
{
    struct pool_slots s = { call, POOL_LOADS_MEAN, 31, 28, 4, 6, 8 };

    return codelet_workers_cycles(call->arch, worker_pool_slots, &s);
}

/* ---- add_relu ---- */

void add_relu_f16_ref(const struct codelet_call *call)
{
    const uint16_t *b = call->arg[inplace__b].data;
    uint16_t *a = call->arg[inplace__a].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[inplace__n].value; i++)
        a[i] = fp_f16_max(fp_f16_add(a[i], b[i], 0, &env), 0, &env);
}

/* As BINARY with two instructions, but without the load of the result's address. */
uint64_t add_relu_cycles_at(const struct arch *a, uint32_t n, enum elementwise_place place)
{
    const struct elementwise e = { ELEMENTWISE_BINARY, 4, 2, { 0 }, 2, { 0 } };

    return elementwise_cycles_at(a, &e, n, 0, place) - a->workers;
}

uint64_t add_relu_f16_cycles(const struct codelet_call *call)
{
    uint32_t n = call->arg[inplace__n].value;
    uint64_t near = add_relu_cycles_at(call->arch, n, PLACE_NEAR);
    uint64_t far = add_relu_cycles_at(call->arch, n, PLACE_FAR);

    return near > far ? near : far;
}
