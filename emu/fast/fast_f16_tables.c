/* fast_f16_tables.c - tanh and sigmoid of every f16, each computed once by the plain function.
 * Networks spend one instruction in twenty on them. */
#include <pthread.h>

#include "emu/base/fp_math.h"
#include "emu/fast/fast_f16.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct f16_tables tables; /* written by fill(), then constant */

static void fill(void)
{
    for (unsigned x = 0; x < F16_COUNT; x++) {
        struct fp_env nearest = { 0 };

        tables.tanh[x] = fp_f16_tanh((uint16_t)x, 0, &nearest);
        tables.sigm[x] = fp_f16_sigm((uint16_t)x, 0, &nearest);
    }
}

const struct f16_tables *fast_f16_tables(void)
{
    pthread_once(&once, fill);
    return &tables;
}
