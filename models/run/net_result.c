/* net_result.c - turns the layouts of programs/library into torch's. */
#include "models/run/net_result.h"

#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "models/weights/safetensors.h"

/* Turns [c16][n][h][w][16] into [n][c][h][w]. Returns 0 if the padding after the last channel is
 * not all zero. */
static int unpack(const struct activation *x, const uint16_t *from, double *to)
{
    uint64_t plane = (uint64_t)x->h * x->w, blocks = (x->c + CHANNEL_BLOCK - 1) / CHANNEL_BLOCK;
    int clean = 1;

    for (uint64_t i = 0; i < blocks * x->n * plane * CHANNEL_BLOCK; i++) {
        uint64_t c = i / CHANNEL_BLOCK / plane / x->n * CHANNEL_BLOCK + i % CHANNEL_BLOCK;
        uint64_t at = i / CHANNEL_BLOCK % plane, n = i / CHANNEL_BLOCK / plane % x->n;

        if (c < x->c)
            to[(n * x->c + c) * plane + at] = fp_f16_value(from[i]);
        else
            clean &= !fp_f16_abs(from[i]);
    }
    return clean;
}

static enum emu_status read_activation(struct session *session, const struct activation *x,
                                       double *to, int *clean)
{
    uint64_t n =
        (uint64_t)(x->c + CHANNEL_BLOCK - 1) / CHANNEL_BLOCK * CHANNEL_BLOCK * x->n * x->h * x->w;
    uint16_t *raw = emu_alloc(n, sizeof(*raw));
    enum emu_status s;

    if (!raw)
        return FAIL(NO_MEMORY, "a result");
    s = session_read(session, x->t, raw);
    if (s == EMU_OK)
        *clean = unpack(x, raw, to);
    emu_free(raw);
    return s;
}

/* Turns the picture [n][h][w][4] into [n][3][h][w]. */
static enum emu_status read_picture(struct session *session, const struct activation *x, double *to)
{
    uint64_t plane = (uint64_t)x->h * x->w;
    uint16_t *raw = emu_alloc(x->n * plane, 4 * sizeof(*raw));
    enum emu_status s;

    if (!raw)
        return FAIL(NO_MEMORY, "the picture");
    s = session_read(session, x->t, raw);
    for (uint64_t i = 0; i < x->n * plane * 3 && s == EMU_OK; i++)
        to[i] = fp_f16_value(raw[(i / plane / 3 * plane + i % plane) * 4 + i / plane % 3]);
    emu_free(raw);
    return s;
}

static enum emu_status read_scores(const struct net_graph *ng, struct session *session, double *to)
{
    uint64_t n = (uint64_t)ng->net->batch * ng->net->classes;
    float *raw = emu_alloc(n, sizeof(*raw));
    enum emu_status s;

    if (!raw)
        return FAIL(NO_MEMORY, "the scores");
    s = session_read(session, ng->scores, raw);
    for (uint64_t i = 0; i < n && s == EMU_OK; i++)
        to[i] = raw[i];
    emu_free(raw);
    return s;
}

enum emu_status net_result_read(const struct net_graph *ng, struct session *s, uint32_t layer,
                                double *out, int *clean)
{
    *clean = 1;
    switch (ng->net->layer[layer].op) {
    case LAYER_INPUT:
        return read_picture(s, &ng->picture, out);
    case LAYER_SOFTMAX:
        return read_scores(ng, s, out);
    default:
        return read_activation(s, &ng->layer[layer].result, out, clean);
    }
}

/* ---- logits ---- */

static enum emu_status write_tensors(const struct net *n, const float *input, const float *logits,
                                     const struct output_file *out)
{
    struct safetensor t[2] = {
        { .name = "input",
          .type = SAFETENSORS_F32,
          .rank = 4,
          .shape = { n->batch, 3, n->resolution, n->resolution },
          .elements = 3ull * n->batch * n->resolution * n->resolution,
          .data = input },
        { .name = "logits",
          .type = SAFETENSORS_F32,
          .rank = 2,
          .shape = { n->batch, n->classes },
          .elements = (uint64_t)n->batch * n->classes,
          .data = logits },
    };

    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        t[i].bytes = t[i].elements * sizeof(float);
    return safetensors_write_to(t, EMU_COUNT_OF(t), out);
}

enum emu_status net_logits_write(const struct net_graph *ng, struct session *s, const float *input,
                                 const struct output_file *out)
{
    const struct net *n = ng->net;
    uint64_t count = (uint64_t)n->batch * n->classes;
    double *value = emu_alloc(count, sizeof(*value));
    float *logits = emu_alloc(count, sizeof(*logits));
    enum emu_status st = value && logits ? EMU_OK : FAIL(NO_MEMORY, "logits");
    int clean;

    if (st == EMU_OK)
        st = net_result_read(ng, s, net_classifier(n), value, &clean);
    if (st == EMU_OK) {
        for (uint64_t i = 0; i < count; i++)
            logits[i] = (float)value[i]; /* exact: they are f16 */
        st = write_tensors(n, input, logits, out);
    }
    emu_free(value);
    emu_free(logits);
    return st;
}
