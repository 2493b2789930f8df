/* random_ref.c - rounding and masks by draws of seeded generators: meaning and cycles. */
#include "emu/base/prng_draw.h"
#include "programs/library/kernel/codelet_ref.h"
#include "programs/library/ops_random.h"

void round_f32_f16_ref(const struct codelet_call *call)
{
    enum { LANES = 4 };
    const uint32_t *x = call->arg[drawn__x].data, *seed = call->arg[drawn__seed].data;
    uint16_t *y = call->arg[drawn__y].data;
    uint32_t n = call->arg[drawn__n].value, workers = call->arch->workers;
    struct fp_env env = { .stochastic = 1 };

    for (uint32_t w = 0; w < workers; w++) {
        struct prng p;

        prng_begin(&p, seed, seed[RANDOM_SEED_WORDS + w], call->arg[drawn__operation].value);
        for (uint32_t v = w; v < n / LANES; v += workers) {
            env.random = prng_next(&p);
            for (uint32_t i = 0; i < LANES; i++)
                y[LANES * v + i] = fp_f16_from_f32(x[LANES * v + i], i, &env);
        }
    }
}

void mask_f16_ref(const struct codelet_call *call)
{
    uint16_t *y = call->arg[mask__y].data, factor = (uint16_t)call->arg[mask__factor].value;

    for (uint32_t b = 0; b < call->arg[mask__n].value / RANDOM_BLOCK; b++) {
        uint8_t kept[RANDOM_BLOCK];
        struct prng p;

        prng_begin(&p, call->arg[mask__seed].data, call->arg[mask__first].value + b,
                   call->arg[mask__operation].value);
        prng_mask(&p, call->arg[mask__keep].value, kept);
        for (uint32_t i = 0; i < RANDOM_BLOCK; i++)
            y[RANDOM_BLOCK * b + i] = kept[i] ? factor : 0;
    }
}

/* ---- cycles ---- */

struct drawn_shape {
    const struct arch *arch;
    uint32_t parts; /* vectors or blocks */
};

enum { GENERATOR = 4 + 1 + 15, EXIT = 1 };

static uint64_t round_slots(const void *shape, unsigned w)
{
    enum { HEAD = 14, BEFORE = 4 + GENERATOR + 4 + 3 + 1, EACH = 3 };
    const struct drawn_shape *s = shape;
    uint64_t vectors = codelet_share(s->arch, s->parts, w);

    return HEAD + EXIT + (vectors ? BEFORE + EACH * (vectors - 1) : 0);
}

uint64_t round_f32_f16_cycles(const struct codelet_call *call)
{
    const struct drawn_shape s = { call->arch, call->arg[drawn__n].value / 4 };

    return codelet_workers_cycles(call->arch, round_slots, &s);
}

static uint64_t mask_slots(const void *shape, unsigned w)
{
    enum { HEAD = 14, BEFORE = 7, EACH = 4 + GENERATOR + 1 + 1 + 15 + 3 };
    const struct drawn_shape *s = shape;
    uint64_t blocks = codelet_share(s->arch, s->parts, w);

    return HEAD + EXIT + (blocks ? BEFORE + EACH * blocks : 0);
}

uint64_t mask_f16_cycles(const struct codelet_call *call)
{
    const struct drawn_shape s = { call->arch, call->arg[mask__n].value / RANDOM_BLOCK };

    return codelet_workers_cycles(call->arch, mask_slots, &s);
}
