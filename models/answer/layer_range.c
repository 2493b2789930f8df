/* layer_range.c - adds up the ranges of steps by the rows that are billed for them. */
#include "models/answer/layer_range.h"

#include <math.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"

/* A magnitude of f16, which is a number. */
static double magnitude(uint16_t bits)
{
    struct fp_env env = { 0 };
    uint32_t word = fp_f16_to_f32(bits, &env);
    float f;

    memcpy(&f, &word, sizeof(f));
    return (double)f;
}

enum emu_status layer_ranges_new(const struct layer_cycles *k, const struct session *s,
                                 struct layer_range **out)
{
    const struct session_range *step;
    size_t steps;

    *out = NULL;
    step = ss_session_ranges(s, &steps);
    if (!step)
        return EMU_OK;
    EMU_ASSERT(steps == k->steps);
    *out = emu_alloc(k->rows, sizeof(**out));
    if (!*out)
        return FAIL(NO_MEMORY, "ranges of %u layers", k->rows);
    for (size_t i = 0; i < steps; i++) {
        struct layer_range *to = &(*out)[k->step[i].row];

        to->numbers += step[i].numbers;
        to->saturated += step[i].saturated;
        to->largest = fmax(to->largest, magnitude(step[i].largest));
    }
    return EMU_OK;
}
