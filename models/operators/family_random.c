/* family_random.c - DropoutMask: 1 / keep with probability keep, else 0.
 *
 * Depends on a seed, two words, and the operation's number only; so the host knows the mask of a
 * chip. The probability is rounded to multiples of 2^-16.
 */
#include <math.h>

#include "emu/base/prng_draw.h"
#include "models/operators/op_families.h"
#include "models/operators/op_random.h"

uint32_t op_mask_keep(double keep)
{
    return (uint32_t)lrint(keep * 65536);
}

static enum emu_status random_infer(struct op_call *c)
{
    double keep = op_float(c, "keep");
    const int64_t *dim;
    uint32_t rank = op_ints(c, "shape", &dim);

    if (op_shape_count(c->in[0]) != 2)
        return op_refuse(c, "the seed has %llu elements, expected 2",
                         (unsigned long long)op_shape_count(c->in[0]));
    if (!(keep > 0 && keep <= 1))
        return op_refuse(c, "keep is %g, expected a number above 0 and at most 1", keep);
    if (rank > OP_RANK_MAX)
        return op_refuse(c, "%u dimensions", rank);
    c->out[0] = (struct op_shape){ .type = OP_TYPE_F32, .rank = rank };
    for (uint32_t k = 0; k < rank; k++) {
        if (dim[k] < 1 || dim[k] > INT32_MAX)
            return op_refuse(c, "dimension %lld", (long long)dim[k]);
        c->out[0].dim[k] = (uint32_t)dim[k];
    }
    return EMU_OK;
}

static enum emu_status random_ref(struct op_call *c, const struct op_tensor *const *in,
                                  struct op_tensor *out)
{
    const uint32_t seed[2] = { (uint32_t)in[0]->i[0], (uint32_t)in[0]->i[1] };
    uint32_t operation = (uint32_t)op_int(c, "operation") ^ OP_MASK_OPERATION;
    double keep = op_float(c, "keep");
    uint8_t kept[PRNG_MASK_LANES];

    for (uint64_t k = 0; k < op_shape_count(&out->shape); k++) {
        if (k % PRNG_MASK_LANES == 0) {
            struct prng p;

            prng_begin(&p, seed, (uint32_t)(k / PRNG_MASK_LANES), operation);
            prng_mask(&p, op_mask_keep(keep), kept);
        }
        out->f[k] = kept[k % PRNG_MASK_LANES] ? 1 / keep : 0;
    }
    return EMU_OK;
}

const struct op_family family_random = { .infer = random_infer,
                                         .ref = random_ref,
                                         .gradient = gradient_zero_node };
