/* batches.c - draws the order of samples, reads them on all threads, fills tensors. */
#include "models/data/batches.h"

#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/random.h"

enum { BADS_NAMED = 20, WHY_TEXT = 256 };

enum emu_status batches_new(struct dataset *d, const struct batch_options *o, struct batches *out)
{
    memset(out, 0, sizeof(*out));
    if (d->classes > o->classes)
        return FAIL(USAGE, "the data has %u classes, the network %u", d->classes, o->classes);
    if (d->samples > UINT32_MAX)
        return FAIL(USAGE, "%" PRIu64 " pictures; at most 2^32", d->samples);
    out->data = d;
    out->o = *o;
    out->order = emu_alloc(d->samples + 1, sizeof(*out->order));
    out->bad = emu_alloc(d->samples + 1, sizeof(*out->bad));
    if (!out->order || !out->bad) {
        batches_free(out);
        return FAIL(NO_MEMORY, "an order of %" PRIu64 " pictures", d->samples);
    }
    batches_begin(out, 0, 0);
    return EMU_OK;
}

void batches_free(struct batches *b)
{
    ss_free(b->order);
    ss_free(b->bad);
    memset(b, 0, sizeof(*b));
}

void batches_begin(struct batches *b, uint64_t epoch, uint64_t skip)
{
    uint64_t state = hash_mix(b->o.seed + epoch * HASH_STEP);
    uint32_t n = (uint32_t)b->data->samples;

    b->epoch = epoch;
    b->next = skip;
    for (uint32_t k = 0; k < n; k++)
        b->order[k] = k;
    for (uint32_t k = n; b->o.shuffle && k > 1; k--) {
        uint32_t j = random_below(&state, k), t = b->order[j];

        b->order[j] = b->order[k - 1];
        b->order[k - 1] = t;
    }
}

/* ---- one sample ---- */

/* A drawn piece of a picture, or what the recipe makes of it, moved and mirrored. */
static enum emu_status picture_of(const struct batches *b, uint32_t sample, struct picture *out)
{
    const struct picture_recipe *r = &b->o.recipe;
    uint64_t seed = hash_mix(b->o.seed + b->epoch) + sample;
    enum augment augment = b->o.shuffle ? b->o.augment : AUGMENT_NONE;
    struct picture whole, cut;
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    TRY(dataset_picture(b->data, sample, &whole));
    if (augment == AUGMENT_CROP || augment == AUGMENT_NONE) {
        s = augment == AUGMENT_CROP
                ? augment_picture(&whole, augment, seed, r->width, r->height, out)
                : picture_crop(&whole, r, out);
        picture_free(&whole);
        return s;
    }
    s = picture_crop(&whole, r, &cut);
    picture_free(&whole);
    TRY(s);
    s = augment_picture(&cut, augment, seed, r->width, r->height, out);
    picture_free(&cut);
    return s;
}

/* Numbers of a picture, [planes][height][width]. */
static void fill(const struct picture_recipe *r, const struct picture *p, double *to)
{
    size_t pixels = (size_t)p->width * p->height;

    for (unsigned c = 0; c < r->planes; c++) {
        for (size_t k = 0; k < pixels; k++)
            to[c * pixels + k] = (double)picture_number(r, c, p->rgb + 3 * k);
    }
}

static enum emu_status read_sample(const struct batches *b, uint32_t sample, double *to)
{
    struct picture p;

    TRY(picture_of(b, sample, &p));
    fill(&b->o.recipe, &p, to);
    picture_free(&p);
    return EMU_OK;
}

/* ---- a batch ---- */

/* The next samples in order that are not known to be bad. Returns their number. */
static uint32_t choose(struct batches *b, uint32_t *sample, uint32_t most)
{
    uint32_t n = 0;

    for (; n < most && b->next < b->data->samples; b->next++) {
        if (!b->bad[b->order[b->next]])
            sample[n++] = b->order[b->next];
    }
    return n;
}

static void set_bad(struct batches *b, uint32_t sample, const char *why)
{
    char text[DATASET_TEXT];

    b->bad[sample] = 1;
    if (b->bads++ < BADS_NAMED)
        fprintf(stderr, "superstep: left out: %s: %s\n", dataset_sample_text(b->data, sample, text),
                why);
}

/* Reads samples [from, n) into their places; those that cannot be read leave the list. Returns how
 * many are left, or UINT32_MAX when memory is short. */
static uint32_t read_samples(struct batches *b, uint32_t *sample, uint32_t from, uint32_t n,
                             double *to, size_t size)
{
    char(*why)[WHY_TEXT] = emu_alloc(n + 1, sizeof(*why));
    uint32_t kept = from;

    if (!why)
        return UINT32_MAX;
#pragma omp parallel for schedule(dynamic)
    for (uint32_t k = from; k < n; k++) {
        if (read_sample(b, sample[k], to + k * size) != EMU_OK)
            snprintf(why[k], sizeof(why[k]), "%s", ss_error());
    }
    for (uint32_t k = from; k < n; k++) {
        if (why[k][0]) {
            set_bad(b, sample[k], why[k]);
            continue;
        }
        if (kept != k) {
            sample[kept] = sample[k];
            memcpy(to + kept * size, to + k * size, size * sizeof(*to));
        }
        kept++;
    }
    ss_free(why);
    return kept;
}

void label_targets(uint32_t label, uint32_t classes, double smoothing, double *to)
{
    for (uint32_t c = 0; c < classes; c++)
        to[c] = smoothing / classes + (c == label ? 1 - smoothing : 0);
}

static void set_targets(const struct batches *b, const uint32_t *sample, struct op_tensor *targets,
                        uint32_t *labels)
{
    uint32_t classes = b->o.classes;

    for (uint32_t k = 0; k < b->o.batch; k++) {
        uint32_t label = b->data->label[sample[k]];

        label_targets(label, classes, b->o.smoothing, targets->f + (size_t)k * classes);
        if (labels)
            labels[k] = label;
    }
}

static enum emu_status fill_batch(struct batches *b, uint32_t *sample, struct op_tensor *data,
                                  uint32_t *count)
{
    const struct picture_recipe *r = &b->o.recipe;
    size_t size = (size_t)r->planes * r->height * r->width;
    uint32_t n = 0, more;

    while (n < b->o.batch && (more = choose(b, sample + n, b->o.batch - n))) {
        n = read_samples(b, sample, n, n + more, data->f, size);
        if (n == UINT32_MAX)
            return FAIL(NO_MEMORY, "a batch");
    }
    *count = b->o.shuffle && n < b->o.batch ? 0 : n;
    for (; n && n < b->o.batch; n++) {
        sample[n] = sample[0];
        memcpy(data->f + n * size, data->f, size * sizeof(*data->f));
    }
    if (b->bads == b->data->samples)
        return FAIL(BAD_FILE, "none of %" PRIu64 " pictures can be read", b->data->samples);
    return EMU_OK;
}

enum emu_status batches_next(struct batches *b, struct op_tensor *data, struct op_tensor *targets,
                             uint32_t *labels, uint32_t *count)
{
    uint32_t *sample = emu_alloc(b->o.batch + 1, sizeof(*sample));
    enum emu_status s;

    if (!sample)
        return FAIL(NO_MEMORY, "a batch");
    s = fill_batch(b, sample, data, count);
    if (s == EMU_OK && *count)
        set_targets(b, sample, targets, labels);
    ss_free(sample);
    return s;
}
