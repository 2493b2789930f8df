/* family_slice.c - parts of tensors and tensors from parts: Slice, Split, Concat, Pad,
 * ReverseSequence, Compress.
 *
 * reflect, edge and wrap repeat the whole input, even if its other end is cut off. A reflection
 * that is wider than the input is reflected again. Lengths of sequences are clamped to what is
 * there.
 */
#include <string.h>

#include "models/operators/op_families.h"
#include "models/operators/op_move.h"

/* --- Slice -------------------------------------------------------------------------------- */

/* The indices taken along each dimension of the input: first, first + step, .. */
struct slice_cut {
    int64_t first[OP_RANK_MAX], step[OP_RANK_MAX];
    uint32_t count[OP_RANK_MAX];
};

/* A bound as an index, clamped to [least, most]. */
static int64_t bound(int64_t at, uint32_t size, int64_t least, int64_t most)
{
    at += at < 0 ? size : 0;
    return at < least ? least : at > most ? most : at;
}

static void cut_axis(struct slice_cut *cut, unsigned d, uint32_t size, int64_t start, int64_t end,
                     int64_t step)
{
    const int64_t far = (int64_t)1 << 33; /* no dimension has more than one step of this size */
    int64_t n;

    step = step < -far ? -far : step > far ? far : step;
    if (step > 0) {
        start = bound(start, size, 0, size);
        n = (bound(end, size, 0, size) - start + step - 1) / step;
    } else {
        start = size ? bound(start, size, 0, (int64_t)size - 1) : -1;
        n = (bound(end, size, -1, (int64_t)size - 1) - start + step + 1) / step;
    }
    cut->first[d] = start;
    cut->step[d] = step;
    cut->count[d] = n < 0 ? 0 : (uint32_t)n;
}

static enum emu_status read_cut(struct op_call *c, struct slice_cut *cut)
{
    const struct op_shape *x = c->in[0];
    const int64_t *start, *end, *axis, *step;
    uint32_t n = op_ints(c, "starts", &start), ends = op_ints(c, "ends", &end);
    uint32_t axes = op_ints(c, "axes", &axis), steps = op_ints(c, "steps", &step), seen = 0;

    if (n != ends || n > x->rank || (axes && axes != n) || (steps && steps != n))
        return op_refuse(c, "%u starts, %u ends, %u axes and %u steps for %u dimensions", n, ends,
                         axes, steps, x->rank);
    for (unsigned d = 0; d < x->rank; d++)
        cut_axis(cut, d, x->dim[d], 0, INT64_MAX, 1);
    for (unsigned k = 0; k < n; k++) {
        unsigned d;

        TRY(op_axis(c, axes ? axis[k] : k, x->rank, &d));
        if (seen >> d & 1)
            return op_refuse(c, "axis %u is named twice", d);
        if (steps && !step[k])
            return op_refuse(c, "a step of 0 along axis %u", d);
        seen |= 1u << d;
        cut_axis(cut, d, x->dim[d], start[k], end[k], steps ? step[k] : 1);
    }
    return EMU_OK;
}

static enum emu_status infer_slice(struct op_call *c)
{
    struct slice_cut cut;

    TRY(read_cut(c, &cut));
    c->out[0] = *c->in[0];
    for (unsigned d = 0; d < c->out[0].rank; d++)
        c->out[0].dim[d] = cut.count[d];
    return EMU_OK;
}

static enum emu_status slice(struct op_call *c, const struct op_tensor *x, struct op_tensor *out)
{
    const op_bits *from = x->any;
    int64_t stride[OP_RANK_MAX], at = 0;
    struct slice_cut cut;

    TRY(read_cut(c, &cut));
    op_move_strides(&x->shape, stride);
    for (unsigned d = 0; d < x->shape.rank; d++) {
        at += cut.first[d] * stride[d];
        stride[d] *= cut.step[d];
    }
    if (op_shape_count(&out->shape))
        op_move_strided(&out->shape, from + at, stride, out->any);
    return EMU_OK;
}

/* --- Split, Concat ------------------------------------------------------------------------ */

/* Whether the parts' sizes, or how many they are, suit the outputs. */
static enum emu_status check_parts(struct op_call *c, uint32_t whole)
{
    const int64_t *part;
    uint32_t sizes = op_ints(c, "split", &part);
    int counted = op_has(c, "num_outputs");

    if (counted && op_has(c, "split"))
        return op_refuse(c, "both sizes and num_outputs are given");
    if (counted && op_int(c, "num_outputs") != c->outs)
        return op_refuse(c, "num_outputs is %lld, there are %u",
                         (long long)op_int(c, "num_outputs"), c->outs);
    if (op_has(c, "split") ? sizes != c->outs : !counted && whole % c->outs)
        return op_refuse(c, "%u in %u parts, %u sizes are given", whole, c->outs, sizes);
    return EMU_OK;
}

int64_t op_split_size(const struct op_call *c, uint32_t whole, uint32_t parts, uint32_t k)
{
    const int64_t *size = NULL;
    int64_t equal = ((int64_t)whole + parts - 1) / parts;

    if (op_ints(c, "split", &size))
        return size[k];
    return k + 1 < parts ? equal : whole - k * equal;
}

static enum emu_status infer_split(struct op_call *c)
{
    const struct op_shape *x = c->in[0];
    int64_t left;
    unsigned axis;

    TRY(op_axis(c, op_int(c, "axis"), x->rank, &axis));
    TRY(check_parts(c, x->dim[axis]));
    left = x->dim[axis];
    for (uint32_t k = 0; k < c->outs; k++) {
        int64_t size = op_split_size(c, x->dim[axis], c->outs, k);

        if (size < 0 || size > left)
            return op_refuse(c, "a part of %lld where %lld are left", (long long)size,
                             (long long)left);
        left -= size;
        c->out[k] = *x;
        c->out[k].dim[axis] = (uint32_t)size;
    }
    return left ? op_refuse(c, "%lld are left over", (long long)left) : EMU_OK;
}

static enum emu_status infer_concat(struct op_call *c)
{
    const struct op_shape *x = c->in[0];
    uint64_t size = 0;
    unsigned axis;

    TRY(op_axis(c, op_int(c, "axis"), x->rank, &axis));
    c->out[0] = *x;
    for (uint32_t k = 0; k < c->ins; k++) {
        struct op_shape s;

        if (!op_given(c, k))
            return op_refuse(c, "input %u is missing", k);
        s = *c->in[k];
        size += s.rank == x->rank ? s.dim[axis] : 0;
        if (s.rank == x->rank)
            s.dim[axis] = x->dim[axis];
        if (!op_shape_equal(&s, x))
            return op_refuse(c, "input %u has other dimensions than input 0", k);
    }
    return op_dim(c, size, &c->out[0].dim[axis]);
}

/* Copies a part's elements to where they lie in the whole, or back. offset: of the part along the
 * axis. */
static void copy_part(const struct op_tensor *part, const struct op_tensor *whole, unsigned axis,
                      uint64_t offset, int to_whole)
{
    uint64_t inner = op_shape_span(&whole->shape, axis + 1, whole->shape.rank);
    uint64_t outer = op_shape_span(&whole->shape, 0, axis);
    uint64_t width = inner * part->shape.dim[axis], row = inner * whole->shape.dim[axis];

    if (!op_shape_count(&part->shape))
        return;
    for (uint64_t k = 0; k < outer; k++) {
        op_bits *in_part = (op_bits *)part->any + k * width;
        op_bits *in_whole = (op_bits *)whole->any + k * row + offset * inner;

        memcpy(to_whole ? in_whole : in_part, to_whole ? in_part : in_whole,
               width * sizeof(*in_part));
    }
}

static enum emu_status split(struct op_call *c, const struct op_tensor *x, struct op_tensor *out)
{
    uint64_t offset = 0;
    unsigned axis;

    TRY(op_axis(c, op_int(c, "axis"), x->shape.rank, &axis));
    for (uint32_t k = 0; k < c->outs; k++) {
        copy_part(&out[k], x, axis, offset, 0);
        offset += out[k].shape.dim[axis];
    }
    return EMU_OK;
}

static enum emu_status concat(struct op_call *c, const struct op_tensor *const *in,
                              struct op_tensor *out)
{
    uint64_t offset = 0;
    unsigned axis;

    TRY(op_axis(c, op_int(c, "axis"), out->shape.rank, &axis));
    for (uint32_t k = 0; k < c->ins; k++) {
        copy_part(in[k], out, axis, offset, 1);
        offset += in[k]->shape.dim[axis];
    }
    return EMU_OK;
}

/* --- Pad ---------------------------------------------------------------------------------- */

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };

static enum emu_status read_pad_mode(struct op_call *c, enum pad_mode *out)
{
    *out = op_is(c, "mode", "reflect") ? PAD_REFLECT
           : op_is(c, "mode", "edge")  ? PAD_EDGE
           : op_is(c, "mode", "wrap")  ? PAD_WRAP
                                       : PAD_CONSTANT;
    return *out || op_is(c, "mode", "constant")
               ? EMU_OK
               : op_refuse(c, "mode %.60s is none of constant, reflect, edge, wrap",
                           op_string(c, "mode"));
}

/* What constant padding is filled with: 0 unless said. */
static enum emu_status read_padding(struct op_call *c, op_bits *out)
{
    uint32_t value = op_tensor_value(c, "value");
    const struct op_shape *s = value == OP_NONE ? NULL : &c->g->value[value].shape;
    struct op_tensor t;

    *out = 0;
    if (!s)
        return EMU_OK;
    if (s->type != c->in[0]->type || op_shape_count(s) != 1)
        return op_refuse(c, "the value is not one %s", op_type_text(c->in[0]->type));
    TRY(op_value_read(c->g, value, &t));
    memcpy(out, t.any, sizeof(*out));
    op_tensor_free(&t);
    return EMU_OK;
}

static enum emu_status infer_pad(struct op_call *c)
{
    const struct op_shape *x = c->in[0];
    const int64_t *pad;
    uint32_t n = op_ints(c, "pads", &pad);
    enum pad_mode mode;
    op_bits value;

    TRY(read_pad_mode(c, &mode));
    TRY(read_padding(c, &value));
    if (n != 2 * x->rank)
        return op_refuse(c, "%u pads for %u dimensions", n, x->rank);
    c->out[0] = *x;
    for (unsigned d = 0; d < x->rank; d++) {
        int64_t size = x->dim[d], begin = pad[d], end = pad[x->rank + d];

        if (begin < -size || end < -size || begin > UINT32_MAX || end > UINT32_MAX ||
            size + begin + end < 0 || size + begin + end > UINT32_MAX)
            return op_refuse(c, "pads %lld and %lld of %lld", (long long)begin, (long long)end,
                             (long long)size);
        if (mode != PAD_CONSTANT && !size && begin + end)
            return op_refuse(c, "dimension %u has nothing to repeat", d);
        c->out[0].dim[d] = (uint32_t)(size + begin + end);
    }
    return EMU_OK;
}

/* Index `at` of a dimension that is continued on both sides; -1: padding. */
static int64_t continued(int64_t at, int64_t size, enum pad_mode mode)
{
    int64_t period = 2 * (size - 1);

    if (at >= 0 && at < size)
        return at;
    if (mode == PAD_CONSTANT)
        return -1;
    if (mode == PAD_WRAP)
        return (at % size + size) % size;
    if (mode == PAD_EDGE || !period)
        return at < 0 ? 0 : size - 1;
    at = (at % period + period) % period;
    return at < size ? at : period - at;
}

static enum emu_status pad(struct op_call *c, const struct op_tensor *x, struct op_tensor *out)
{
    const struct op_shape *s = &out->shape;
    const int64_t *pads;
    enum emu_status status;
    struct op_picks p;
    enum pad_mode mode;
    op_bits value;

    TRY(read_pad_mode(c, &mode));
    TRY(read_padding(c, &value));
    op_ints(c, "pads", &pads);
    if (!op_shape_count(s))
        return EMU_OK;
    status = op_picks_new(s, &p);
    for (unsigned d = 0; status == EMU_OK && d < s->rank; d++) {
        for (int64_t k = 0; k < s->dim[d]; k++)
            p.index[d][k] = continued(k - pads[d], x->shape.dim[d], mode);
    }
    if (status == EMU_OK)
        op_move_picked(s, &x->shape, &p, x->any, value, out->any);
    op_picks_free(&p);
    return status;
}

/* --- ReverseSequence ---------------------------------------------------------------------- */

static enum emu_status infer_reverse(struct op_call *c)
{
    const struct op_shape *x = c->in[0], *lengths = c->in[1];
    int64_t batch = op_int(c, "batch_axis"), time = op_int(c, "time_axis");

    if (x->rank < 2 || (batch != 0 && batch != 1) || time != 1 - batch)
        return op_refuse(c, "batch and time are axes %lld and %lld of %u dimensions",
                         (long long)batch, (long long)time, x->rank);
    if (lengths->rank != 1 || lengths->dim[0] != x->dim[batch])
        return op_refuse(c, "lengths are not a list of %u numbers", x->dim[batch]);
    c->out[0] = *x;
    return EMU_OK;
}

static void reverse(const struct op_call *c, const struct op_tensor *x,
                    const struct op_tensor *lengths, struct op_tensor *out)
{
    int64_t times = x->shape.dim[op_int(c, "time_axis")];
    int64_t rows = (int64_t)x->shape.dim[0] * x->shape.dim[1], columns = x->shape.dim[1];
    uint64_t inner = op_shape_span(&x->shape, 2, x->shape.rank);
    const op_bits *from = x->any;
    op_bits *to = out->any;

    for (int64_t row = 0; inner && row < rows; row++) {
        int64_t at[2] = { row / columns, row % columns };
        int64_t *time = &at[op_int(c, "time_axis")];
        int64_t n = lengths->i[at[op_int(c, "batch_axis")]];

        n = n > times ? times : n;
        if (*time < n)
            *time = n - 1 - *time;
        memcpy(to + (uint64_t)row * inner, from + (uint64_t)(at[0] * columns + at[1]) * inner,
               inner * sizeof(*to));
    }
}

/* --- Compress ----------------------------------------------------------------------------- */

/* The input, flattened if there is no axis, and how many along the axis are kept. */
static enum emu_status read_kept(struct op_call *c, struct op_shape *x, unsigned *axis,
                                 uint32_t *kept)
{
    const int64_t *keep;
    uint32_t n = op_ints(c, "condition", &keep);

    *x = *c->in[0];
    if (!op_has(c, "axis")) {
        uint64_t count = op_shape_count(x);

        *x = (struct op_shape){ .type = x->type, .rank = 1 };
        TRY(op_dim(c, count, &x->dim[0]));
    }
    TRY(op_axis(c, op_has(c, "axis") ? op_int(c, "axis") : 0, x->rank, axis));
    *kept = 0;
    for (uint32_t k = 0; k < n; k++) {
        *kept += keep[k] != 0;
        if (keep[k] && k >= x->dim[*axis])
            return op_refuse(c, "condition %u holds, the dimension has %u", k, x->dim[*axis]);
    }
    return EMU_OK;
}

static enum emu_status infer_compress(struct op_call *c)
{
    uint32_t kept;
    unsigned axis;

    TRY(read_kept(c, &c->out[0], &axis, &kept));
    c->out[0].dim[axis] = kept;
    return EMU_OK;
}

static enum emu_status compress(struct op_call *c, const struct op_tensor *x, struct op_tensor *out)
{
    const int64_t *keep;
    uint32_t n = op_ints(c, "condition", &keep), kept;
    uint64_t inner, outer;
    struct op_shape s;
    const op_bits *from = x->any;
    op_bits *to = out->any;
    unsigned axis;

    TRY(read_kept(c, &s, &axis, &kept));
    inner = op_shape_span(&s, axis + 1, s.rank);
    outer = op_shape_count(&out->shape) ? op_shape_span(&s, 0, axis) : 0;
    n = n < s.dim[axis] ? n : s.dim[axis];
    for (uint64_t o = 0; o < outer; o++) {
        for (uint32_t k = 0; k < n; k++) {
            if (!keep[k])
                continue;
            memcpy(to, from + (o * s.dim[axis] + k) * inner, inner * sizeof(*to));
            to += inner;
        }
    }
    return EMU_OK;
}

/* --- the family --------------------------------------------------------------------------- */

static enum emu_status slice_infer(struct op_call *c)
{
    return op_named(c, OP_Slice)             ? infer_slice(c)
           : op_named(c, OP_Split)           ? infer_split(c)
           : op_named(c, OP_Concat)          ? infer_concat(c)
           : op_named(c, OP_Pad)             ? infer_pad(c)
           : op_named(c, OP_ReverseSequence) ? infer_reverse(c)
                                             : infer_compress(c);
}

static enum emu_status slice_ref(struct op_call *c, const struct op_tensor *const *in,
                                 struct op_tensor *out)
{
    if (op_named(c, OP_Slice))
        return slice(c, in[0], &out[0]);
    if (op_named(c, OP_Split))
        return split(c, in[0], out);
    if (op_named(c, OP_Concat))
        return concat(c, in, &out[0]);
    if (op_named(c, OP_Pad))
        return pad(c, in[0], &out[0]);
    if (op_named(c, OP_Compress))
        return compress(c, in[0], &out[0]);
    reverse(c, in[0], in[1], &out[0]);
    return EMU_OK;
}

const struct op_family family_slice = { .infer = slice_infer,
                                        .ref = slice_ref,
                                        .gradient = gradient_slice_node };

/* --- older versions ----------------------------------------------------------------------- */

/* Before 11, Pad's pads and value were attributes; in version 1, pads were called paddings. */
enum emu_status upgrade_pad(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    const struct op_attr pads = op_request_attr(r, r->version < 2 ? "paddings" : "pads");
    const struct op_attr value = op_request_attr(r, "value");
    struct op_shape list = { .type = OP_TYPE_I64, .rank = 1, .dim = { pads.count } };
    struct op_shape one = { .type = g->value[r->in[0]].shape.type };
    struct op_request now = *r;
    uint32_t in[3] = { r->in[0] };

    if (op_type_kind(one.type) != OP_KIND_FLOAT)
        return op_node_refuse(g, r, out, "input 0 is %s, expected a float", op_type_text(one.type));
    TRY(op_constant_new(g, &list, pads.ints, &in[1]));
    TRY(op_constant_new(g, &one, &value.f, &in[2]));
    now.version = 0;
    now.in = in;
    now.ins = EMU_COUNT_OF(in);
    now.attrs = 0;
    for (uint32_t k = 0; k < r->attrs && !now.attrs; k++) {
        now.attr = &r->attr[k];
        now.attrs = !strcmp(now.attr->name, "mode");
    }
    return op_node(g, &now, out);
}

/* --- the form of nodes -------------------------------------------------------------------- */

/* The axes that a list of `count` numbers is for: all, or those of a constant. NULL: all is well,
 * else what is wrong. */
static const char *find_axes(const int64_t *axis, uint32_t axes, uint32_t count, unsigned rank,
                             unsigned to[OP_RANK_MAX])
{
    uint32_t seen = 0;

    if (count != (axis ? axes : rank) || count > rank)
        return "there are more numbers than axes, or fewer";
    for (uint32_t k = 0; k < count; k++) {
        int64_t d = axis ? axis[k] + (axis[k] < 0 ? rank : 0) : k;

        if (d < 0 || d >= rank || seen >> d & 1)
            return "an axis is no dimension, or named twice";
        seen |= 1u << d;
        to[k] = (unsigned)d;
    }
    return NULL;
}

/* From 18 on, Pad's pads may be those of some axes (input 3). */
enum emu_status upgrade_pad_axes(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    unsigned rank = g->value[r->in[0]].shape.rank, axis[OP_RANK_MAX];
    struct op_shape list = { .type = OP_TYPE_I64, .rank = 1, .dim = { 2 * rank } };
    uint32_t in[3] = { r->in[0], r->in[1], r->ins > 2 ? r->in[2] : OP_NONE };
    int64_t all[2 * OP_RANK_MAX] = { 0 };
    struct op_tensor pads = { .any = NULL }, axes = { .any = NULL };
    struct op_request now = *r;
    const char *why = NULL;
    enum emu_status s;

    now.version = 0;
    now.in = in;
    now.ins = EMU_COUNT_OF(in);
    if (r->ins < 4 || r->in[3] == OP_NONE)
        return op_node(g, &now, out);
    s = op_value_read(g, r->in[1], &pads);
    if (s == EMU_OK)
        s = op_value_read(g, r->in[3], &axes);
    if (s == EMU_OK) {
        uint32_t n = (uint32_t)op_shape_count(&axes.shape);

        why = op_shape_count(&pads.shape) != 2 * (uint64_t)n ? "pads are not two for each axis"
                                                             : find_axes(axes.i, n, n, rank, axis);
        for (uint32_t k = 0; !why && k < n; k++) {
            all[axis[k]] = pads.i[k];
            all[rank + axis[k]] = pads.i[n + k];
        }
        s = op_constant_new(g, &list, all, &in[1]);
    }
    op_tensor_free(&pads);
    op_tensor_free(&axes);
    TRY(s);
    return why ? op_node_refuse(g, r, out, "%s", why) : op_node(g, &now, out);
}

/* Elements are cut or added on both sides; of an odd number, one more at the end. */
static void center(struct op_shape *x, unsigned d, int64_t size, int64_t *pads)
{
    int64_t more = size - x->dim[d];

    pads[d] = more / 2;
    pads[x->rank + d] = more - pads[d];
}

/* CenterCropPad is a Pad, whose pads may be negative. */
enum emu_status upgrade_center_crop_pad(struct op_graph *g, const struct op_request *r,
                                        uint32_t *out)
{
    struct op_shape x = g->value[r->in[0]].shape;
    struct op_shape list = { .type = OP_TYPE_I64, .rank = 1, .dim = { 2 * x.rank } };
    const struct op_attr axes = op_request_attr(r, "axes");
    int64_t pads[2 * OP_RANK_MAX] = { 0 };
    uint32_t in[2] = { r->in[0] }, n;
    unsigned axis[OP_RANK_MAX];
    struct op_request now = *r;
    struct op_tensor size;
    const char *why;

    TRY(op_value_read(g, r->in[1], &size));
    n = (uint32_t)op_shape_count(&size.shape);
    why = find_axes(axes.kind == OP_ATTR_NONE ? NULL : axes.ints, axes.count, n, x.rank, axis);
    for (uint32_t k = 0; !why && k < n; k++) {
        if (size.i[k] < 0 || size.i[k] > UINT32_MAX)
            why = "a size is negative, or too large";
        else
            center(&x, axis[k], size.i[k], pads);
    }
    op_tensor_free(&size);
    if (why)
        return op_node_refuse(g, r, out, "%s", why);
    TRY(op_constant_new(g, &list, pads, &in[1]));
    now.op = op_name(OP_Pad);
    now.version = 0;
    now.in = in;
    now.ins = EMU_COUNT_OF(in);
    now.attrs = 0;
    return op_node(g, &now, out);
}
