/* amp_points.h - the sizes of the public benchmark of one matrix codelet call, executed, and what
 * is compared of them. */
#ifndef MODELS_AMP_POINTS_H
#define MODELS_AMP_POINTS_H

#include "emu/base/fail.h"

enum amp_kernel {
    AMP_OURS,    /* matmul_f16 */
    AMP_POPLIBS, /* the kernel that was measured, from a checkout of PopLibs */
    AMP_KERNELS
};

enum { AMP_CLASSES = 3 }; /* n mod 6 is 0, 2 or 4 */

/* All in cycles, over the 32 sizes of amp_silicon.def; the line of our kernel over the first 12. */
struct amp_fit {
    int made;
    double slope, call;         /* cycles = call + slope n, least squares */
    double beside[AMP_CLASSES]; /* mean of cycles - 24 ceil(n / 6), of n mod 6 = 0, 2, 4 */
    double farthest; /* of a size from the mean difference to silicon of those of its class */
};

/* Executes all sizes. poplibs: the checkout, for AMP_POPLIBS. Errors: those of assembling and
 * running, EMU_IO. */
enum emu_status amp_fit_make(enum amp_kernel kernel, const char *poplibs,
                             struct amp_fit *out) EMU_MUST_CHECK;

#endif
