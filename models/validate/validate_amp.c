/* validate_amp.c - the figures of a matrix codelet on one tile. */
#include "models/ask/model_request.h"
#include "models/validate/validate.h"

/* What is read of the command line. */
OPTION_READ(TEXT, poplibs)

static enum emu_status fit_of(struct validation *v, enum amp_kernel kernel, struct outcome *o)
{
    struct amp_fit *fit = &v->fit[kernel];

    if (kernel == AMP_POPLIBS && !option_poplibs(v->q)) {
        snprintf(o->skipped, sizeof(o->skipped), "needs PopLibs' sources: --poplibs DIR");
        return EMU_OK;
    }
    return fit->made ? EMU_OK : amp_fit_make(kernel, option_poplibs(v->q), fit);
}

#define AMP_FIGURE(name, kernel, member)                                                           \
    enum emu_status name(struct validation *v, struct outcome *o)                                  \
    {                                                                                              \
        TRY(fit_of(v, kernel, o));                                                                 \
        o->value = v->fit[kernel].member;                                                          \
        return EMU_OK;                                                                             \
    }

AMP_FIGURE(amp_slope, AMP_OURS, slope)
AMP_FIGURE(amp_call, AMP_OURS, call)
AMP_FIGURE(amp_poplibs_slope, AMP_POPLIBS, slope)
AMP_FIGURE(amp_poplibs_call, AMP_POPLIBS, call)
AMP_FIGURE(amp_poplibs_mod0, AMP_POPLIBS, beside[0])
AMP_FIGURE(amp_poplibs_mod2, AMP_POPLIBS, beside[1])
AMP_FIGURE(amp_poplibs_mod4, AMP_POPLIBS, beside[2])
AMP_FIGURE(amp_poplibs_farthest, AMP_POPLIBS, farthest)
