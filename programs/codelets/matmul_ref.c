/* matmul_ref.c - matmul_f16, matmul_add_f16, conv1x1_f16: meaning and time. */
#include "programs/codelets/codelet_ref.h"

enum { IN, OUT, WEIGHTS, KB, NB, F };
enum { BLOCK = 16, STEP = 4 }; /* channels of a block; inputs of a step of the matrix unit */

/* A result of one block: four steps, each sum rounded once to f32; then to f16. */
static uint16_t block_product(const uint16_t *in, const uint16_t *row, uint16_t sum,
                              struct fp_env *env)
{
    uint32_t acc = fp_f16_to_f32(sum, env);

    for (unsigned i = 0; i < BLOCK; i += STEP)
        acc = fp_f32_add_exact_f16_products(acc, in + i, row + i, STEP, env);
    return fp_f16_from_f32(acc, 0, env);
}

/* One weight block: f positions. */
static void block_pass(const uint16_t *in, const uint16_t *weights, uint16_t *out, uint32_t f,
                       int add)
{
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < f * BLOCK; i++)
        out[i] = block_product(in + i / BLOCK * BLOCK, weights + i % BLOCK * BLOCK,
                               add ? out[i] : 0, &env);
}

static void matmul(const struct codelet_call *call, int add)
{
    uint32_t kb = call->arg[KB].value, nb = call->arg[NB].value, f = call->arg[F].value;
    const uint16_t *in = call->arg[IN].data, *weights = call->arg[WEIGHTS].data;
    uint16_t *out = call->arg[OUT].data;

    for (uint32_t n = 0; n < nb; n++) {
        for (uint32_t k = 0; k < kb; k++)
            block_pass(in + (size_t)k * f * BLOCK, weights + (n * kb + k) * BLOCK * BLOCK,
                       out + (size_t)n * f * BLOCK, f, add || k);
    }
}

void matmul_f16_ref(const struct codelet_call *call)
{
    matmul(call, 0);
}

void matmul_add_f16_ref(const struct codelet_call *call)
{
    matmul(call, 1);
}

enum { CONV_N = 3 };

void conv1x1_f16_ref(const struct codelet_call *call)
{
    block_pass(call->arg[IN].data, call->arg[WEIGHTS].data, call->arg[OUT].data,
               call->arg[CONV_N].value, 0);
}

/* docs/timing.md 5 */
uint64_t conv1x1_f16_cycles(const struct codelet_call *call)
{
    const struct arch *a = call->arch;
    uint64_t n = (call->arg[CONV_N].value + a->workers - 1) / a->workers;
    uint64_t slots = n > 1 ? 4 * n + 32 : n ? 34 : 14;

    return 2 * a->sup_branch_cycles + a->sup_result_cycles + a->sup_put_cycles + 32 +
           codelet_multi_cycles(a, slots);
}

/* ---- time: the instructions of matmul.inc, counted ----
 *
 * Exact for f from 18 on that is a multiple of the workers; else a call may be some cycles a pass
 * shorter: its slowest worker need not be the last of its round, and what the supervisor does
 * between a launch and `sync` hides behind the slowest workers. */

enum {
    LEAST = 3,   /* positions of a worker */
    CHUNK = 744, /* positions of all workers, where f is cut */
    PLACE_SLOTS = 4,
    JOIN_SLOTS = 10,  /* constants of the call */
    BEGIN_SLOTS = 10, /* one and a half positions before the repeat */
    END_SLOTS = 11,   /* last position and drain */
    ZERO_SLOTS = 6,   /* last position, zeros enter for the next outputs */
    LOADS = 32,       /* of a weight block */
};

struct product {
    const struct arch *arch;
    uint64_t kb, nb, f;
    int add;
    uint64_t chunk, of, here; /* the chunk, number of chunks, its positions */
};

static uint64_t product_small(const struct product *p)
{
    return (uint64_t)LEAST * p->arch->workers;
}

/* Most positions of a worker. */
static uint64_t most_positions(const struct product *p)
{
    if (p->f >= product_small(p))
        return (p->here + p->arch->workers - 1) / p->arch->workers;
    return p->f == 5 ? 5 : p->f % LEAST ? LEAST + 1 : LEAST;
}

static uint64_t setup_slots(const struct product *p)
{
    if (p->f < product_small(p))
        return 17 + PLACE_SLOTS + JOIN_SLOTS;
    if (p->of > 1)
        return (p->chunk ? 20 : 19) + PLACE_SLOTS + JOIN_SLOTS;
    return 11 + PLACE_SLOTS + (p->kb == 1 && p->nb == 1 ? 4 - p->add : JOIN_SLOTS);
}

/* f of 1 or 2. */
static uint64_t pair_slots(const struct product *p, uint64_t n, uint64_t k)
{
    return (n || k ? 1 : 11 + PLACE_SLOTS) + 2 + (k ? 0 : 5) + 12 + (k + 1 < p->kb ? 1 : 7);
}

/* Pass k of outputs n, three positions and more. */
static uint64_t stream_slots(const struct product *p, uint64_t n, uint64_t k)
{
    uint64_t e4 = 4 * most_positions(p), slots;
    int single = p->kb == 1 && p->nb == 1 && p->of == 1 && p->f >= product_small(p);

    if (k && k + 1 < p->kb)
        return e4 + 3;
    if (k) /* final */
        return p->add ? e4 - 3 + END_SLOTS : e4 - 2 + (n + 1 < p->nb ? ZERO_SLOTS : 1 + END_SLOTS);
    if (p->add) {
        slots = n ? 17 : setup_slots(p) + 17 - single;
        return slots + (p->kb > 1 ? 1 + e4 - 3 : e4 - 9 + END_SLOTS);
    }
    slots = n ? 9 : setup_slots(p) + (single ? 0 : 2) + BEGIN_SLOTS + (p->kb > 1);
    return slots + (p->kb > 1 ? e4 - 3 : e4 - 8 + (n + 1 < p->nb ? ZERO_SLOTS : END_SLOTS));
}

static uint64_t pass_slots(const struct product *p, uint64_t n, uint64_t k)
{
    if (p->f < LEAST)
        return pair_slots(p, n, k);
    /* The variant of the entry for workers without positions is one slot longer. */
    return stream_slots(p, n, k) + (p->f < product_small(p) && (n || k));
}

/* From the first launch of a chunk to the end of the last sync. `late`: instructions between the
 * first launch and its sync. */
static uint64_t chunk_cycles(const struct product *p, uint64_t late)
{
    const struct arch *a = p->arch;
    uint64_t hidden = a->exit_seen_cycles - 1, branch = a->sup_branch_cycles, cycles = 0;

    for (uint64_t n = 0; n < p->nb; n++) {
        for (uint64_t k = 0; k < p->kb; k++) {
            uint64_t behind = k + 1 == p->kb ? 1 : k + 2 == p->kb ? 2 : branch;

            if (!k)
                behind = n || !late ? (p->kb == 1   ? 2 + branch
                                       : p->kb == 2 ? 3 + branch
                                                    : a->sup_result_cycles + 1)
                                    : late;
            cycles += codelet_multi_cycles(a, pass_slots(p, n, k));
            cycles += behind > hidden ? behind - hidden : 0;
            cycles += k + 1 < p->kb ? LOADS + (k + 2 == p->kb) : 0;
        }
        cycles += n + 1 < p->nb ? branch + LOADS + 3 : 1;
    }
    return cycles;
}

/* From the call to the first launch. */
static uint64_t start_cycles(const struct product *p, uint64_t *late)
{
    const struct arch *a = p->arch;
    uint64_t result = a->sup_result_cycles, branch = a->sup_branch_cycles;
    uint64_t put = branch + result + 1 + a->sup_put_cycles; /* $CCCSLOAD is set */

    *late = 0;
    if (p->f < product_small(p)) {
        if (p->f < LEAST)
            return put + 3 * branch + 2 * result + 6 + LOADS + 3;
        return put + 2 * branch + 3 * result + 7 + LOADS + 3;
    }
    if (p->of > 1)
        return put + 3 * branch + result + 8 + LOADS + 3;
    *late = p->kb == 1 ? 2 + branch : p->kb == 2 ? 5 + 2 * branch : 3 + branch + result;
    return put + result + LOADS + 8;
}

static uint64_t matmul_cycles(const struct codelet_call *call, int add)
{
    const struct arch *a = call->arch;
    uint64_t result = a->sup_result_cycles, branch = a->sup_branch_cycles, cycles, late;
    struct product p = { .arch = a,
                         .kb = call->arg[KB].value,
                         .nb = call->arg[NB].value,
                         .f = call->arg[F].value,
                         .add = add };
    uint64_t put = branch + result + 1 + a->sup_put_cycles;

    if (!p.f)
        return put + result + 3 * branch;
    if (!p.nb || !p.kb)
        return p.f < product_small(&p) ? put + result + 3 * branch + (p.nb ? 2 : 1)
                                       : put + 2 * branch + (p.nb ? 3 : 2);
    p.of = p.f < CHUNK + product_small(&p) ? 1 : (p.f - product_small(&p)) / CHUNK + 1;
    cycles = start_cycles(&p, &late);
    for (p.chunk = 0; p.chunk < p.of; p.chunk++) {
        int last = p.chunk + 1 == p.of;

        p.here = last ? p.f - p.chunk * CHUNK : CHUNK;
        cycles += chunk_cycles(&p, late) + 1 + branch;
        if (!last)
            cycles += 2 * result + a->sup_put_cycles + LOADS + 3 + 2 +
                      (p.chunk + 2 == p.of ? 2 : 0) + branch;
    }
    return cycles;
}

uint64_t matmul_f16_cycles(const struct codelet_call *call)
{
    return matmul_cycles(call, 0);
}

uint64_t matmul_add_f16_cycles(const struct codelet_call *call)
{
    return matmul_cycles(call, 1);
}
