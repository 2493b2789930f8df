/* op_window.c - sizes, strides and pads of windows from attributes. */
#include <string.h>

#include "models/operators/op_window.h"

typedef int64_t dims[OP_WINDOW_DIMS];

enum { SIZE_MAX_LOG = 24 }; /* of kernels, strides, dilations, pads: products fit in 64 bits */

/* A list of `count` numbers from `least` on; `preset` where the attribute is absent or the row has
 * none of that name. */
static enum emu_status read_list(struct op_call *c, const char *name, unsigned count, int64_t least,
                                 int64_t preset, int64_t *to)
{
    const int64_t *list = NULL;
    uint32_t n = op_knows(c, name) ? op_ints(c, name, &list) : 0;

    if (n && n != count)
        return op_refuse(c, "%s has %u numbers, expected %u", name, n, count);
    for (unsigned k = 0; k < count; k++) {
        to[k] = n ? list[k] : preset;
        if (to[k] < least || to[k] > 1 << SIZE_MAX_LOG)
            return op_refuse(c, "%s %lld is not in %lld to 2^%d", name, (long long)to[k],
                             (long long)least, SIZE_MAX_LOG);
    }
    return EMU_OK;
}

enum emu_status op_window_read(struct op_call *c, const struct op_shape *in, const uint32_t *kernel,
                               struct op_window *w)
{
    *w = (struct op_window){ .dims = in->rank - 2 };
    if (in->rank < 3)
        return op_refuse(c, "an input of %u dimensions: batch, channels and one more are needed",
                         in->rank);
    TRY(read_list(c, "kernel_shape", w->dims, 1, 1, w->kernel));
    TRY(read_list(c, "strides", w->dims, 1, 1, w->stride));
    TRY(read_list(c, "dilations", w->dims, 1, 1, w->dilation));
    for (unsigned d = 0; d < w->dims; d++) {
        w->in[d] = in->dim[2 + d];
        if (kernel && op_has(c, "kernel_shape") && w->kernel[d] != kernel[d])
            return op_refuse(c, "kernel_shape says %lld where the weights have %u",
                             (long long)w->kernel[d], kernel[d]);
        if (kernel)
            w->kernel[d] = kernel[d];
        if (!w->kernel[d])
            return op_refuse(c, "a kernel of 0");
    }
    return EMU_OK;
}

/* How pads are found. */
enum padding { GIVEN, VALID, SAME_UPPER, SAME_LOWER };

static enum emu_status read_padding(struct op_call *c, enum padding *out)
{
    static const char *const text[] = { "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER" };

    for (unsigned k = 0; k < EMU_COUNT_OF(text); k++) {
        if (op_is(c, "auto_pad", text[k])) {
            *out = (enum padding)k;
            return EMU_OK;
        }
    }
    return op_refuse(c, "auto_pad %.60s is none of NOTSET, VALID, SAME_UPPER, SAME_LOWER",
                     op_string(c, "auto_pad"));
}

/* Pads that are given beside auto_pad must be the same, or none. */
static enum emu_status check_pads(struct op_call *c, const struct op_window *w,
                                  const int64_t *given)
{
    int none = 1, same = 1;

    for (unsigned d = 0; d < w->dims; d++) {
        none &= !given[d] && !given[w->dims + d];
        same &= given[d] == w->begin[d] && given[w->dims + d] == w->end[d];
    }
    return none || same ? EMU_OK : op_refuse(c, "pads contradict auto_pad");
}

static void split_padding(struct op_window *w, unsigned d, int64_t total, int odd_at_begin)
{
    w->begin[d] = odd_at_begin ? total - total / 2 : total / 2;
    w->end[d] = total - w->begin[d];
}

enum emu_status op_window_forward(struct op_call *c, int ceil_mode, struct op_window *w)
{
    int64_t given[2 * OP_WINDOW_DIMS];
    enum padding padding;

    TRY(read_padding(c, &padding));
    TRY(read_list(c, "pads", 2 * w->dims, 0, 0, given));
    for (unsigned d = 0; d < w->dims; d++) {
        int64_t s = w->stride[d], room;

        if (padding == SAME_UPPER || padding == SAME_LOWER) {
            int64_t total = ((w->in[d] + s - 1) / s - 1) * s + op_window_reach(w, d) - w->in[d];

            split_padding(w, d, total < 0 || !w->in[d] ? 0 : total, padding == SAME_LOWER);
        } else if (padding == GIVEN) {
            w->begin[d] = given[d];
            w->end[d] = given[w->dims + d];
        }
        room = w->in[d] + w->begin[d] + w->end[d] - op_window_reach(w, d);
        if (room < 0 || !w->in[d])
            return op_refuse(c, "a window of %lld does not fit in %lld and pads of %lld and %lld",
                             (long long)op_window_reach(w, d), (long long)w->in[d],
                             (long long)w->begin[d], (long long)w->end[d]);
        w->out[d] = (ceil_mode ? room + s - 1 : room) / s + 1;
        if (ceil_mode && (w->out[d] - 1) * s >= w->in[d] + w->begin[d])
            w->out[d]--;
        if (w->out[d] > UINT32_MAX)
            return op_refuse(c, "%lld windows along a dimension", (long long)w->out[d]);
    }
    return padding == GIVEN ? EMU_OK : check_pads(c, w, given);
}

/* output_shape is a list of the dimensions behind the channels, or of all. */
static enum emu_status read_output_shape(struct op_call *c, unsigned count, int64_t *to)
{
    const int64_t *list;
    uint32_t n = op_ints(c, "output_shape", &list);

    if (n != count && n != count + 2)
        return op_refuse(c, "output_shape has %u numbers, expected %u", n, count);
    for (unsigned d = 0; d < count; d++) {
        to[d] = list[n - count + d];
        if (to[d] < 1 || to[d] > UINT32_MAX)
            return op_refuse(c, "output_shape %lld", (long long)to[d]);
    }
    return EMU_OK;
}

enum emu_status op_window_transposed(struct op_call *c, struct op_window *w)
{
    int shaped = op_has(c, "output_shape");
    int64_t given[2 * OP_WINDOW_DIMS];
    enum padding padding;
    dims more, shape = { 0 };

    TRY(read_padding(c, &padding));
    TRY(read_list(c, "pads", 2 * w->dims, 0, 0, given));
    TRY(read_list(c, "output_padding", w->dims, 0, 0, more));
    if (shaped)
        TRY(read_output_shape(c, w->dims, shape));
    for (unsigned d = 0; d < w->dims; d++) {
        int64_t s = w->stride[d], full = s * (w->in[d] - 1) + more[d] + op_window_reach(w, d);
        int same = padding == SAME_UPPER || padding == SAME_LOWER;

        if (!w->in[d])
            return op_refuse(c, "a dimension of 0");
        if (more[d] >= s && more[d] >= w->dilation[d])
            return op_refuse(c, "output_padding %lld is not below stride or dilation",
                             (long long)more[d]);
        if (shaped || same) {
            int64_t total = full - (shaped ? shape[d] : w->in[d] * s);

            if (total <= -s && -total >= w->dilation[d])
                return op_refuse(c, "output_shape %lld: windows end at %lld", (long long)shape[d],
                                 (long long)full);
            if (total < 0) /* as if output_padding were larger */
                w->end[d] = total;
            else
                split_padding(w, d, total, padding != SAME_UPPER);
        } else if (padding == GIVEN) {
            w->begin[d] = given[d];
            w->end[d] = given[w->dims + d];
        }
        w->out[d] = full - w->begin[d] - w->end[d];
        if (w->out[d] < 1 || w->out[d] > UINT32_MAX)
            return op_refuse(c, "an output of %lld", (long long)w->out[d]);
    }
    return padding == GIVEN || shaped ? EMU_OK : check_pads(c, w, given);
}

struct op_shape op_window_shape(const struct op_window *w, enum op_type type, uint32_t batch,
                                uint32_t channels)
{
    struct op_shape s = { .type = type, .rank = w->dims + 2, .dim = { batch, channels } };

    for (unsigned d = 0; d < w->dims; d++)
        s.dim[2 + d] = (uint32_t)w->out[d];
    return s;
}

uint64_t op_window_span(const struct op_window *w, const int64_t *list)
{
    uint64_t n = 1;

    for (unsigned d = 0; d < w->dims; d++)
        n *= (uint64_t)list[d];
    return n;
}
