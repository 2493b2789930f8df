/* matmul_ref.c - matmul_f16, matmul_add_f16, matmul_f16_f32, matmul_add_f16_f32, matmul_f32,
 * conv1x1_f16, conv_window_f16, conv_window_f16_f32: meaning and cycles. */
#include "emu/arch/arch_numbers.h"
#include "programs/library/kernel/codelet_ref.h"

enum { BLOCK = 16, STEP = 4 }; /* inputs of a block, and of a step of the matrix unit */
enum { UNITS_F16 = 16, UNITS_F32 = 8 };
enum { BLOCK_F32 = 8 }; /* inputs and outputs of a block that is all f32 */

/* A result of one block of inputs: four steps, in each of which the sum is rounded once to f32. */
static uint32_t block_product(const uint16_t *in, const uint16_t *row, uint32_t sum,
                              struct fp_env *env)
{
    for (unsigned i = 0; i < BLOCK; i += STEP)
        sum = fp_f32_add_exact_f16_products(sum, in + i, row + i, STEP, env);
    return sum;
}

/* Multiplies by one block of weights: f positions, 16 results in f16 each. */
static void block_pass(const uint16_t *in, const uint16_t *weights, uint16_t *out, uint32_t f,
                       int add)
{
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < f * UNITS_F16; i++) {
        uint32_t sum = add ? fp_f16_to_f32(out[i], &env) : 0;

        sum = block_product(in + i / UNITS_F16 * BLOCK, weights + i % UNITS_F16 * BLOCK, sum, &env);
        out[i] = fp_f16_from_f32(sum, 0, &env);
    }
}

/* The same with 8 results in f32 each. */
static void block_pass_f32(const uint16_t *in, const uint16_t *weights, uint32_t *out, uint32_t f,
                           int add)
{
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < f * UNITS_F32; i++)
        out[i] = block_product(in + i / UNITS_F32 * BLOCK, weights + i % UNITS_F32 * BLOCK,
                               add ? out[i] : 0, &env);
}

static void matmul(const struct codelet_call *call, unsigned units, int add)
{
    uint32_t kb = call->arg[matmul__kb].value, nb = call->arg[matmul__nb].value,
             f = call->arg[matmul__f].value;
    const uint16_t *in = call->arg[matmul__in].data, *weights = call->arg[matmul__weights].data;

    for (size_t n = 0; n < nb; n++) {
        for (size_t k = 0; k < kb; k++) {
            const uint16_t *block = weights + (n * kb + k) * units * BLOCK, *x = in + k * f * BLOCK;

            if (units == UNITS_F16)
                block_pass(x, block, (uint16_t *)call->arg[matmul__out].data + n * f * units, f,
                           add || k);
            else
                block_pass_f32(x, block, (uint32_t *)call->arg[matmul__out].data + n * f * units, f,
                               add || k);
        }
    }
}

void matmul_f16_ref(const struct codelet_call *call)
{
    matmul(call, UNITS_F16, 0);
}

void matmul_add_f16_ref(const struct codelet_call *call)
{
    matmul(call, UNITS_F16, 1);
}

void matmul_f16_f32_ref(const struct codelet_call *call)
{
    matmul(call, UNITS_F32, 0);
}

void matmul_add_f16_f32_ref(const struct codelet_call *call)
{
    matmul(call, UNITS_F32, 1);
}

void matmul_f32_ref(const struct codelet_call *call)
{
    uint32_t kb = call->arg[matmul__kb].value, nb = call->arg[matmul__nb].value,
             f = call->arg[matmul__f].value;
    const uint32_t *in = call->arg[matmul__in].data, *weights = call->arg[matmul__weights].data;
    uint32_t *out = call->arg[matmul__out].data;
    struct fp_env env = { 0 };

    for (size_t i = 0; i < (size_t)nb * f * BLOCK_F32; i++) {
        size_t n = i / BLOCK_F32 / f, at = i / BLOCK_F32 % f;
        uint32_t sum = 0;

        for (size_t k = 0; k < (size_t)kb * BLOCK_F32; k++) {
            size_t block = k / BLOCK_F32, lane = k % BLOCK_F32;

            sum = fp_f32_fma(
                in[(block * f + at) * BLOCK_F32 + lane],
                weights[((n * kb + block) * BLOCK_F32 + i % BLOCK_F32) * BLOCK_F32 + lane], sum,
                &env);
        }
        if (kb)
            out[i] = sum;
    }
}

void conv1x1_f16_ref(const struct codelet_call *call)
{
    block_pass(call->arg[conv1x1__in].data, call->arg[conv1x1__weights].data,
               call->arg[conv1x1__out].data, call->arg[conv1x1__n].value, 0);
}

/* docs/timing.md 5 */
uint64_t conv1x1_f16_cycles(const struct codelet_call *call)
{
    const struct arch *a = call->arch;
    uint64_t n = (call->arg[conv1x1__n].value + a->workers - 1) / a->workers;
    uint64_t slots = n > 1 ? 4 * n + 32 : n ? 34 : 14;

    return 2 * arch_sup_branch_cycles(a) + arch_sup_result_cycles(a) + arch_sup_put_cycles(a) + 32 +
           codelet_multi_cycles(a, slots);
}

/* ---- cycles: the instructions of matmul.inc, counted ----
 *
 * Exact if f is at least 18 and a multiple of the number of workers. Else a pass may take some
 * cycles less, because its slowest worker need not be the last of its round, and because the
 * supervisor may work between a launch and `sync` while the slowest workers still run. */

enum {
    LEAST = 3,   /* positions of a worker */
    MOST = 128,  /* positions of a worker */
    CHUNK = 125, /* most positions of a worker in a chunk, if f is cut */
    PLACE_SLOTS = 4,
    JOIN_SLOTS = 10, /* loads of the call's constants; 8 with windows */
};

/* Loads of the weight block for 16 or 8 units. */
enum { LOADS_16 = 32, LOADS_8 = 16 };

struct product_call {
    const struct arch *arch;
    uint64_t kb, nb, f;
    int add, window;
    uint64_t step; /* slots of a step: f32 takes two */
    uint64_t loads;
    uint64_t chunk, of, here; /* the chunk's number, the number of chunks, its positions */
};

static uint64_t product_small(const struct product_call *p)
{
    return (uint64_t)LEAST * p->arch->workers;
}

/* The most positions that a worker has. */
static uint64_t most_positions(const struct product_call *p)
{
    if (p->f >= product_small(p))
        return (p->here + p->arch->workers - 1) / p->arch->workers;
    return p->f % LEAST ? LEAST + 1 : LEAST;
}

static int product_single(const struct product_call *p)
{
    return p->kb == 1 && p->nb == 1 && p->of == 1;
}

static uint64_t setup_slots(const struct product_call *p)
{
    int few = p->f < product_small(p);
    uint64_t join = JOIN_SLOTS - (p->window ? 2 : 0);

    if (product_single(p))
        return (few ? 15 : 12) + PLACE_SLOTS + 3 - p->add;
    if (p->of > 1)
        return (p->chunk ? 20 : 19) + PLACE_SLOTS + join;
    return (few ? 16 : 11) + PLACE_SLOTS + join;
}

/* Slots of a worker if there are no more positions than workers. */
static uint64_t one_slots(const struct product_call *p, uint64_t n, uint64_t k)
{
    return (n || k ? 1 : 11 + PLACE_SLOTS) + 2 + (k ? 0 : 5) + 12 * p->step +
           (k + 1 < p->kb ? 1 : 7 + p->window);
}

/* Slots of pass k of output block n, for workers with three or more positions. */
static uint64_t stream_slots(const struct product_call *p, uint64_t n, uint64_t k)
{
    uint64_t e4 = 4 * most_positions(p), step = p->step, slots;
    /* the last position, while zeros enter for the next outputs; the last position and the drain */
    uint64_t zero = 4 * step + 2 + (p->window ? 3 : 0), end = 8 * step + 3;
    int single = product_single(p);

    if (k && k + 1 < p->kb)
        return step * e4 + 3 + p->window;
    if (k) /* final */
        return p->add ? e4 - 3 + end : step * (e4 - 4) + 2 + (n + 1 < p->nb ? zero : 1 + end);
    if (p->add) {
        slots = n ? 17 : setup_slots(p) + 17 - single;
        return slots + (p->kb > 1 ? 1 + e4 - 3 : e4 - 9 + end);
    }
    /* one and a half positions before the repeat */
    slots = 6 * step + (n ? 3 : setup_slots(p) + (single ? 0 : 2) + 4 + (p->kb > 1));
    return slots + (p->kb > 1 ? step * (e4 - 6) + 3 + p->window
                              : step * (e4 - 10) + 2 + (n + 1 < p->nb ? zero : end));
}

static uint64_t pass_slots(const struct product_call *p, uint64_t n, uint64_t k)
{
    if (p->f <= p->arch->workers)
        return one_slots(p, n, k);
    /* The entry for workers without positions is one slot longer. */
    return stream_slots(p, n, k) + (p->f < product_small(p) && (n || k));
}

/* Cycles from the first launch of a chunk to the end of its last sync. late: instructions between
 * the first launch and its sync. */
static uint64_t chunk_cycles(const struct product_call *p, uint64_t late)
{
    const struct arch *a = p->arch;
    uint64_t hidden = arch_exit_seen_cycles(a) - 1, branch = arch_sup_branch_cycles(a), cycles = 0;

    for (uint64_t n = 0; n < p->nb; n++) {
        for (uint64_t k = 0; k < p->kb; k++) {
            uint64_t after = k + 1 == p->kb ? 1 : k + 2 == p->kb ? 2 : branch;

            if (!k)
                after = n || !late ? (p->kb == 1   ? 2 + branch
                                      : p->kb == 2 ? 3 + branch
                                                   : arch_sup_result_cycles(a) + 1)
                                   : late;
            cycles += codelet_multi_cycles(a, pass_slots(p, n, k));
            cycles += after > hidden ? after - hidden : 0;
            cycles += k + 1 < p->kb ? p->loads + (k + 2 == p->kb) : 0;
        }
        cycles += n + 1 < p->nb ? branch + p->loads + 3 : 1;
    }
    return cycles;
}

/* Cycles from the call to the first launch. */
static uint64_t start_cycles(const struct product_call *p, uint64_t *late)
{
    const struct arch *a = p->arch;
    uint64_t result = arch_sup_result_cycles(a), branch = arch_sup_branch_cycles(a);
    uint64_t put = branch + result + 1 + arch_sup_put_cycles(a); /* $CCCSLOAD is set */

    *late = 0;
    if (p->f <= p->arch->workers)
        return put + 3 * branch + result + 4 + p->loads + 3;
    if (p->f < product_small(p))
        return put + 2 * branch + 2 * result + 6 + p->loads + 3;
    if (p->of > 1)
        return put + 3 * branch + result + 8 + p->loads + 3;
    *late = p->kb == 1 ? 2 + branch : p->kb == 2 ? 5 + 2 * branch : 3 + branch + result;
    /* With few loads the supervisor waits for two results. */
    return put + result + p->loads + 8 + (p->loads < 32 ? 2 : 0);
}

/* p: what is not a field of the call. */
static uint64_t matmul_cycles(const struct codelet_call *call, struct product_call p)
{
    const struct arch *a = call->arch;
    uint64_t result = arch_sup_result_cycles(a), branch = arch_sup_branch_cycles(a), cycles, late;
    uint64_t chunk, most;
    uint64_t put = branch + result + 1 + arch_sup_put_cycles(a);

    p.arch = a;
    p.kb = call->arg[matmul__kb].value;
    p.nb = call->arg[matmul__nb].value;
    p.f = call->arg[matmul__f].value;
    if (!p.nb || !p.kb)
        return put + (p.f < product_small(&p) ? branch : 1) + (p.nb ? 2 : 1) + 2 * branch;
    if (!p.f)
        return put + 4 * branch + result;
    chunk = (uint64_t)CHUNK * a->workers;
    most = (uint64_t)MOST * a->workers;
    p.of = p.f <= most ? 1 : (p.f - most - 1) / chunk + 2;
    cycles = start_cycles(&p, &late);
    for (p.chunk = 0; p.chunk < p.of; p.chunk++) {
        int last = p.chunk + 1 == p.of;

        p.here = last ? p.f - p.chunk * chunk : chunk;
        cycles += chunk_cycles(&p, late) + 1 + branch;
        if (!last)
            cycles += 2 * result + arch_sup_put_cycles(a) + p.loads + 3 + 2 +
                      (p.chunk + 2 == p.of ? 2 : 0) + branch;
    }
    return cycles;
}

uint64_t matmul_f16_cycles(const struct codelet_call *call)
{
    return matmul_cycles(call, (struct product_call){ .step = 1, .loads = LOADS_16 });
}

uint64_t matmul_add_f16_cycles(const struct codelet_call *call)
{
    return matmul_cycles(call, (struct product_call){ .step = 1, .loads = LOADS_16, .add = 1 });
}

uint64_t matmul_f16_f32_cycles(const struct codelet_call *call)
{
    return matmul_cycles(call, (struct product_call){ .step = 1, .loads = LOADS_8 });
}

uint64_t matmul_add_f16_f32_cycles(const struct codelet_call *call)
{
    return matmul_cycles(call, (struct product_call){ .step = 1, .loads = LOADS_8, .add = 1 });
}

uint64_t matmul_f32_cycles(const struct codelet_call *call)
{
    return matmul_cycles(call, (struct product_call){ .step = 2, .loads = LOADS_8 });
}

/* ---- windows ---- */

_Static_assert((int)conv_window__kb == matmul__kb && (int)conv_window__nb == matmul__nb &&
                   (int)conv_window__f == matmul__f,
               "matmul_cycles() takes calls of conv_window, too");

enum { RESULT_BYTES = 32 }; /* of a position: 16 f16 or 8 f32 */

static void conv_window(const struct codelet_call *call, unsigned units)
{
    uint32_t kb = call->arg[conv_window__kb].value, nb = call->arg[conv_window__nb].value,
             f = call->arg[conv_window__f].value;
    const uint8_t *in = call->arg[conv_window__in].data;
    const uint16_t *weights = call->arg[conv_window__weights].data;
    const int32_t *step = call->arg[conv_window__steps].data;
    uint8_t *out = call->arg[conv_window__out].data;

    for (size_t i = 0; i < (size_t)nb * kb; i++) {
        const uint16_t *block = weights + i * units * BLOCK;
        void *here = out + i / kb * f * RESULT_BYTES;

        if (units == UNITS_F16)
            block_pass((const uint16_t *)in, block, here, f, i % kb > 0);
        else
            block_pass_f32((const uint16_t *)in, block, here, f, i % kb > 0);
        if (i + 1 < (size_t)nb * kb)
            in += step[i % kb];
    }
}

void conv_window_f16_ref(const struct codelet_call *call)
{
    conv_window(call, UNITS_F16);
}

void conv_window_f16_f32_ref(const struct codelet_call *call)
{
    conv_window(call, UNITS_F32);
}

uint64_t conv_window_f16_cycles(const struct codelet_call *call)
{
    return matmul_cycles(call, (struct product_call){ .step = 1, .loads = LOADS_16, .window = 1 });
}

uint64_t conv_window_f16_f32_cycles(const struct codelet_call *call)
{
    return matmul_cycles(call, (struct product_call){ .step = 1, .loads = LOADS_8, .window = 1 });
}
