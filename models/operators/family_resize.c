/* family_resize.c - Resize: for each dimension by itself a list says which inputs, with which
 * weights, make each output. Older versions and Upsample become the same.
 *
 * A dimension that keeps its size is left alone, whatever the coordinates say, unless they crop.
 * Sizes that follow from scales are computed in f32, in which scales are given: 0.7 of 10 is 7.
 */
#include <math.h>
#include <string.h>

#include "models/operators/op_families.h"
#include "models/operators/op_move.h"
#include "models/operators/op_resize.h"

enum { TAPS_MAX = 4 };

/* One of the words that an attribute can be. */
static enum emu_status read_word(struct op_call *c, const char *name, const char *const *word,
                                 unsigned words, int *out)
{
    for (*out = 0; *out < (int)words; ++*out) {
        if (op_is(c, name, word[*out]))
            return EMU_OK;
    }
    return op_refuse(c, "%s %.60s is not built", name, op_string(c, name));
}

enum mode { NEAREST, LINEAR, CUBIC };
enum nearest_rounding { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL };
enum coordinates {
    HALF_PIXEL,
    HALF_PIXEL_OR_0,
    ALIGN_CORNERS,
    ASYMMETRIC,
    HALF_PIXEL_UP,
    HALF_PIXEL_CENTERED,
    CROP
};
enum policy { STRETCH, NOT_LARGER, NOT_SMALLER };

static const char *const modes[] = { "nearest", "linear", "cubic" };
static const char *const roundings[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
                                         "ceil" };
static const char *const coordinate_modes[] = { "half_pixel",           "pytorch_half_pixel",
                                                "align_corners",        "asymmetric",
                                                "tf_half_pixel_for_nn", "half_pixel_symmetric",
                                                "tf_crop_and_resize" };
static const char *const policies[] = { "stretch", "not_larger", "not_smaller" };

struct resize {
    int mode, rounding, coordinates; /* enum mode, rounding, coordinates */
    int policy;                      /* enum policy */
    int exclude_outside;
    double a; /* of cubic */
    double extrapolation;
    struct op_shape in, out;
    unsigned axes, axis[OP_RANK_MAX]; /* that sizes, scales and regions are given for */
    double scale[OP_RANK_MAX];
    double begin[OP_RANK_MAX], end[OP_RANK_MAX]; /* the region of CROP; 1: the last element */
};

/* --- shapes ------------------------------------------------------------------------------- */

/* Those of the attribute, or all. */
static enum emu_status read_axes(struct op_call *c, struct resize *z)
{
    const int64_t *axis;
    uint32_t n = op_ints(c, "axes", &axis), seen;

    TRY(op_axes(c, "axes", z->in.rank, &seen)); /* none comes twice */
    z->axes = n ? n : z->in.rank;
    for (unsigned k = 0; k < z->axes; k++)
        TRY(op_axis(c, n ? axis[k] : k, z->in.rank, &z->axis[k]));
    return EMU_OK;
}

static enum emu_status read_region(struct op_call *c, struct resize *z)
{
    const double *roi;
    uint32_t n = op_floats(c, "roi", &roi);

    for (unsigned d = 0; d < z->in.rank; d++) {
        z->begin[d] = 0;
        z->end[d] = 1;
    }
    if (z->coordinates != CROP)
        return EMU_OK;
    if (n != 2 * z->axes)
        return op_refuse(c, "roi has %u numbers for %u dimensions", n, z->axes);
    for (unsigned k = 0; k < z->axes; k++) {
        z->begin[z->axis[k]] = roi[k];
        z->end[z->axis[k]] = roi[z->axes + k];
        if (!isfinite(roi[k]) || !isfinite(roi[z->axes + k]))
            return op_refuse(c, "roi %g to %g", roi[k], roi[z->axes + k]);
    }
    return EMU_OK;
}

/* The size of each dimension if the sizes are limits: all have the scale of the dimension that is
 * limited most.
 */
static double policy_scale(const struct resize *z, const int64_t *size)
{
    double scale = z->policy == NOT_LARGER ? INFINITY : 0;

    for (unsigned k = 0; k < z->axes; k++) {
        double of = (double)size[k] / z->in.dim[z->axis[k]];

        scale = z->policy == NOT_LARGER ? fmin(scale, of) : fmax(scale, of);
    }
    return scale;
}

/* The result's sizes, and scales that follow if they are not given. */
static enum emu_status read_sizes(struct op_call *c, struct resize *z)
{
    const double *scale;
    const int64_t *size;
    uint32_t scales = op_floats(c, "scales", &scale), sizes = op_ints(c, "sizes", &size);
    double all = 1;

    if ((scales != 0) == (sizes != 0))
        return op_refuse(c, "either scales or sizes must be given");
    if (scales + sizes != z->axes)
        return op_refuse(c, "%u sizes or scales for %u dimensions", scales + sizes, z->axes);
    if (sizes && z->policy != STRETCH)
        all = policy_scale(z, size);
    for (unsigned d = 0; d < z->in.rank; d++)
        z->scale[d] = 1;
    for (unsigned k = 0; k < z->axes; k++) {
        unsigned d = z->axis[k];
        float in = (float)z->in.dim[d], part = (float)(z->end[d] - z->begin[d]);
        double out = scales                 ? floorf(in * part * (float)scale[k])
                     : z->policy != STRETCH ? floor(all * z->in.dim[d] + 0.5)
                                            : (double)size[k];

        if (scales && !(scale[k] > 0 && isfinite(scale[k])))
            return op_refuse(c, "a scale of %g", scale[k]);
        if (!(out >= 0 && out <= UINT32_MAX) || (out > 0 && !z->in.dim[d]))
            return op_refuse(c, "dimension %u of %u becomes %g", d, z->in.dim[d], out);
        z->out.dim[d] = (uint32_t)out;
        z->scale[d] = scales                 ? scale[k]
                      : z->policy != STRETCH ? all
                      : z->in.dim[d]         ? out / z->in.dim[d]
                                             : 1;
    }
    return EMU_OK;
}

/* A filter that is stretched where a dimension shrinks. */
static enum emu_status check_antialias(struct op_call *c, const struct resize *z)
{
    for (unsigned d = 0; op_int(c, "antialias") && z->mode != NEAREST && d < z->in.rank; d++) {
        if (z->scale[d] < 1)
            return op_refuse(c, "antialias is not built where a dimension shrinks: export it with "
                                "antialias=False");
    }
    return EMU_OK;
}

static enum emu_status read_resize(struct op_call *c, struct resize *z)
{
    enum op_type type = c->in[0]->type;

    *z = (struct resize){ .in = *c->in[0], .out = *c->in[0] };
    z->exclude_outside = op_int(c, "exclude_outside") != 0;
    z->a = op_float(c, "cubic_coeff_a");
    z->extrapolation = op_float(c, "extrapolation_value");
    TRY(read_word(c, "mode", modes, EMU_COUNT_OF(modes), &z->mode));
    TRY(read_word(c, "nearest_mode", roundings, EMU_COUNT_OF(roundings), &z->rounding));
    TRY(read_word(c, "coordinate_transformation_mode", coordinate_modes,
                  EMU_COUNT_OF(coordinate_modes), &z->coordinates));
    TRY(read_word(c, "keep_aspect_ratio_policy", policies, EMU_COUNT_OF(policies), &z->policy));
    if (z->mode != NEAREST && op_type_kind(type) != OP_KIND_FLOAT)
        return op_refuse(c, "mode %s of %s is not built", modes[z->mode], op_type_text(type));
    TRY(read_axes(c, z));
    TRY(read_region(c, z));
    TRY(read_sizes(c, z));
    return check_antialias(c, z);
}

static enum emu_status resize_infer(struct op_call *c)
{
    struct resize z;

    TRY(read_resize(c, &z));
    c->out[0] = z.out;
    return EMU_OK;
}

/* --- one dimension ------------------------------------------------------------------------ */

static int stays(const struct resize *z, unsigned d)
{
    return z->in.dim[d] == z->out.dim[d] && z->scale[d] == 1 && z->coordinates != CROP;
}

/* Where output x of dimension d lies in the input. */
static double place(const struct resize *z, unsigned d, double x)
{
    double last = (double)z->in.dim[d] - 1, out_last = (double)z->out.dim[d] - 1;

    switch ((enum coordinates)z->coordinates) {
    case HALF_PIXEL:
        return (x + 0.5) / z->scale[d] - 0.5;
    case HALF_PIXEL_OR_0:
        return out_last > 0 ? (x + 0.5) / z->scale[d] - 0.5 : 0;
    case ALIGN_CORNERS:
        return out_last > 0 ? x * last / out_last : 0;
    case ASYMMETRIC:
        return x / z->scale[d];
    case HALF_PIXEL_UP:
        return (x + 0.5) / z->scale[d];
    case HALF_PIXEL_CENTERED: /* as if the part that is cut off the last output were cut off on both
                                 sides */
        return (last + 1) / 2 * (1 - (out_last + 1) / (z->scale[d] * (last + 1))) +
               (x + 0.5) / z->scale[d] - 0.5;
    default:
        if (out_last > 0)
            return z->begin[d] * last + x * (z->end[d] - z->begin[d]) * last / out_last;
        return 0.5 * (z->begin[d] + z->end[d]) * last;
    }
}

static double rounded(enum nearest_rounding how, double x)
{
    switch (how) {
    case PREFER_FLOOR:
        return ceil(x - 0.5);
    case PREFER_CEIL:
        return floor(x + 0.5);
    case FLOOR:
        return floor(x);
    default:
        return ceil(x);
    }
}

/* The inputs of one output. */
struct taps {
    unsigned count; /* 0: the output lies outside and is extrapolated */
    int64_t at[TAPS_MAX];
    double weight[TAPS_MAX];
};

/* Keys' cubic for a distance. */
static double cubic(double a, double distance)
{
    double x = fabs(distance);

    return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

/* Inputs outside have weight 0, and the weights of the others grow so that the sum stays. */
static void exclude_outside(struct taps *t, double last)
{
    double sum = 0;

    for (unsigned k = 0; k < t->count; k++) {
        if (t->at[k] < 0 || (double)t->at[k] > last)
            t->weight[k] = 0;
        sum += t->weight[k];
    }
    for (unsigned k = 0; k < t->count && sum != 0; k++)
        t->weight[k] /= sum;
}

static struct taps taps_of(const struct resize *z, unsigned d, uint32_t x)
{
    double last = (double)z->in.dim[d] - 1, at = place(z, d, x), base;
    struct taps t = { .count = z->mode == NEAREST ? 1 : z->mode == LINEAR ? 2 : 4 };

    if (z->coordinates == CROP && (at < 0 || at > last))
        return (struct taps){ .count = 0 };
    at = fmin(fmax(at, -1), last + 1);
    base = z->mode == NEAREST ? rounded((enum nearest_rounding)z->rounding, at)
                              : floor(at) - (z->mode == CUBIC);
    for (unsigned k = 0; k < t.count; k++) {
        double distance = at - (base + k);

        t.at[k] = (int64_t)base + k;
        t.weight[k] = z->mode == NEAREST  ? 1
                      : z->mode == LINEAR ? 1 - fabs(distance)
                                          : cubic(z->a, distance);
    }
    if (z->exclude_outside)
        exclude_outside(&t, last);
    for (unsigned k = 0; k < t.count; k++)
        t.at[k] = t.at[k] < 0 ? 0 : t.at[k] > (int64_t)last ? (int64_t)last : t.at[k];
    return t;
}

int op_resize_keeps(struct op_call *c, unsigned d)
{
    struct resize z;

    return read_resize(c, &z) == EMU_OK && stays(&z, d);
}

enum emu_status op_resize_weights(struct op_call *c, unsigned d, struct op_tensor *out)
{
    struct op_shape s = { .type = c->in[0]->type, .rank = 2 };
    struct resize z;

    TRY(read_resize(c, &z));
    s.dim[0] = z.in.dim[d];
    s.dim[1] = z.out.dim[d];
    TRY(op_tensor_new(&s, out));
    for (uint32_t k = 0; k < s.dim[1]; k++) {
        const struct taps t = taps_of(&z, d, k);

        for (unsigned tap = 0; tap < t.count; tap++)
            out->f[(uint64_t)t.at[tap] * s.dim[1] + k] += t.weight[tap];
    }
    return EMU_OK;
}

/* Whether outputs lie between two inputs each. */
static int is_mixture(const struct resize *z, unsigned d)
{
    int mixes = z->mode == LINEAR && z->coordinates != CROP;

    for (uint32_t k = 0; k < z->out.dim[d] && mixes; k++) {
        const struct taps t = taps_of(z, d, k);

        mixes = fabs(t.weight[0] + t.weight[1] - 1) < 1e-9;
    }
    return mixes;
}

enum emu_status op_resize_neighbours(struct op_call *c, unsigned d, struct op_tensor index[2],
                                     struct op_tensor *part, int *found)
{
    struct op_shape list = { .type = OP_TYPE_I64, .rank = 1 }, parts = list;
    enum emu_status s;
    struct resize z;

    TRY(read_resize(c, &z));
    *found = is_mixture(&z, d);
    if (!*found)
        return EMU_OK;
    list.dim[0] = parts.dim[0] = z.out.dim[d];
    parts.type = z.in.type;
    index[0].any = index[1].any = part->any = NULL;
    s = op_tensor_new(&list, &index[0]);
    if (s == EMU_OK)
        s = op_tensor_new(&list, &index[1]);
    if (s == EMU_OK)
        s = op_tensor_new(&parts, part);
    for (uint32_t k = 0; k < z.out.dim[d] && s == EMU_OK; k++) {
        const struct taps t = taps_of(&z, d, k);

        index[0].i[k] = t.at[0];
        index[1].i[k] = t.at[1];
        part->f[k] = t.weight[1];
    }
    if (s != EMU_OK) {
        op_tensor_free(&index[0]);
        op_tensor_free(&index[1]);
        op_tensor_free(part);
    }
    return s;
}

/* --- numbers ------------------------------------------------------------------------------ */

/* Moves elements, which may be of any kind. */
static enum emu_status resize_nearest(const struct resize *z, const struct op_tensor *x,
                                      struct op_tensor *out)
{
    struct op_picks p;
    enum emu_status status = op_picks_new(&z->out, &p);
    op_bits rest = (op_bits)op_whole(z->extrapolation);

    if (op_type_kind(z->in.type) == OP_KIND_FLOAT)
        memcpy(&rest, &z->extrapolation, sizeof(rest));
    for (unsigned d = 0; status == EMU_OK && d < z->out.rank; d++) {
        for (uint32_t k = 0; k < z->out.dim[d]; k++) {
            struct taps t = { .count = 1, .at = { k } };

            if (!stays(z, d))
                t = taps_of(z, d, k);
            p.index[d][k] = t.count ? t.at[0] : -1;
        }
    }
    if (status == EMU_OK)
        op_move_picked(&z->out, &z->in, &p, x->any, rest, out->any);
    op_picks_free(&p);
    return status;
}

/* n outputs, each of `inner` numbers side by side. */
static void weigh(const struct resize *z, const struct taps *t, uint32_t n, uint64_t inner,
                  const double *from, double *to)
{
    for (uint32_t k = 0; k < n; k++, t++) {
        for (uint64_t i = 0; i < inner; i++, to++) {
            *to = t->count ? 0 : z->extrapolation;
            for (unsigned tap = 0; tap < t->count; tap++)
                *to += t->weight[tap] * from[(uint64_t)t->at[tap] * inner + i];
        }
    }
}

/* Dimension d of x (which is freed) in its new size. */
static enum emu_status resize_dim(const struct resize *z, unsigned d, struct op_tensor *x)
{
    struct op_shape s = x->shape;
    uint64_t outer = op_shape_span(&s, 0, d), inner = op_shape_span(&s, d + 1, s.rank);
    struct taps *taps = emu_alloc(z->out.dim[d], sizeof(*taps));
    struct op_tensor out = { .any = NULL };
    enum emu_status status = taps ? EMU_OK : FAIL(NO_MEMORY, "weights of a resize");

    s.dim[d] = z->out.dim[d];
    if (status == EMU_OK)
        status = op_tensor_new(&s, &out);
    for (uint32_t k = 0; taps && k < s.dim[d]; k++)
        taps[k] = taps_of(z, d, k);
    for (uint64_t o = 0; status == EMU_OK && o < outer; o++)
        weigh(z, taps, s.dim[d], inner, x->f + o * z->in.dim[d] * inner,
              out.f + o * s.dim[d] * inner);
    op_tensor_free(x);
    *x = out;
    ss_free(taps);
    return status;
}

/* Dimension after dimension, those that shrink first: nothing is larger than input or result. */
static enum emu_status resize_weighted(const struct resize *z, const struct op_tensor *x,
                                       struct op_tensor *out)
{
    struct op_tensor t;
    enum emu_status status;

    TRY(op_tensor_new(&z->in, &t));
    memcpy(t.f, x->f, op_shape_count(&z->in) * sizeof(*t.f));
    status = EMU_OK;
    for (int grows = 0; grows < 2; grows++) {
        for (unsigned d = 0; status == EMU_OK && d < z->in.rank; d++) {
            if (!stays(z, d) && (z->out.dim[d] > z->in.dim[d]) == grows)
                status = resize_dim(z, d, &t);
        }
    }
    if (status == EMU_OK)
        memcpy(out->f, t.f, op_shape_count(&z->out) * sizeof(*t.f));
    op_tensor_free(&t);
    return status;
}

static enum emu_status resize_ref(struct op_call *c, const struct op_tensor *const *in,
                                  struct op_tensor *out)
{
    struct resize z;

    TRY(read_resize(c, &z));
    if (!op_shape_count(&z.out))
        return EMU_OK;
    return z.mode == NEAREST ? resize_nearest(&z, in[0], &out[0])
                             : resize_weighted(&z, in[0], &out[0]);
}

const struct op_family family_resize = { .infer = resize_infer, .ref = resize_ref };

/* --- older versions ----------------------------------------------------------------------- */

/* The mode of an older version. */
static const char *mode_of(const struct op_request *r)
{
    const char *mode = "nearest";

    for (uint32_t k = 0; k < r->attrs; k++) {
        if (!strcmp(r->attr[k].name, "mode"))
            mode = r->attr[k].attr.s;
    }
    return strcmp(mode, "bilinear") ? mode : "linear"; /* so called in Upsample 1 */
}

/* An asymmetric Resize of r's first input by scales (a value). */
static enum emu_status make_resize(struct op_graph *g, const struct op_request *r, uint32_t scales,
                                   const char *nearest, uint32_t *out)
{
    const uint32_t in[] = { r->in[0], OP_NONE, scales };
    const struct op_named_attr attr[] = {
        { "coordinate_transformation_mode", { .kind = OP_ATTR_STRING, .s = "asymmetric" } },
        { "nearest_mode", { .kind = OP_ATTR_STRING, .s = nearest } },
        { "mode", { .kind = OP_ATTR_STRING, .s = mode_of(r) } }
    };
    struct op_request now = *r;

    now.op = op_name(OP_Resize);
    now.version = 0;
    now.in = in;
    now.ins = EMU_COUNT_OF(in);
    now.attr = attr;
    now.attrs = EMU_COUNT_OF(attr);
    return op_node(g, &now, out);
}

/* Resize of version 10 took the next input where it shrinks, the previous one where it grows. */
enum emu_status upgrade_resize_10(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    int shrinks = 0, grows = 0;
    struct op_tensor t;

    TRY(op_value_read(g, r->in[1], &t));
    for (uint64_t k = 0; k < op_shape_count(&t.shape); k++) {
        shrinks |= t.f[k] < 1;
        grows |= t.f[k] > 1;
    }
    op_tensor_free(&t);
    if (shrinks && grows && !strcmp(mode_of(r), "nearest"))
        return op_node_refuse(g, r, out, "growing and shrinking at once is not built");
    return make_resize(g, r, r->in[1], shrinks ? "ceil" : "floor", out);
}

enum emu_status upgrade_upsample_9(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    return make_resize(g, r, r->in[1], "floor", out);
}

enum emu_status upgrade_upsample_7(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    const struct op_attr scales = op_request_attr(r, "scales");
    const struct op_shape list = { .type = OP_TYPE_F32, .rank = 1, .dim = { scales.count } };
    uint32_t value;

    TRY(op_constant_new(g, &list, scales.floats, &value));
    return make_resize(g, r, value, "floor", out);
}

enum emu_status upgrade_upsample_1(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    const double scales[] = { 1, 1, op_request_attr(r, "height_scale").f,
                              op_request_attr(r, "width_scale").f };
    const struct op_shape list = { .type = OP_TYPE_F32, .rank = 1, .dim = { 4 } };
    uint32_t value;

    TRY(op_constant_new(g, &list, scales, &value));
    return make_resize(g, r, value, "floor", out);
}
