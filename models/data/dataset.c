/* dataset.c - finds the format of a directory, and hands out samples. */
#include "models/data/dataset.h"

#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/data/dataset_formats.h"
#include "models/feed/feed_file.h"
#include "models/picture/picture_decode.h"

enum { PIXELS_MAX = 1 << 26 };

static const struct dataset_format *const format[] = { &dataset_idx, &dataset_cifar,
                                                       &dataset_folder };

const char *dataset_path(const char *dir, const char *name, char out[DATASET_PATH])
{
    snprintf(out, DATASET_PATH, "%s/%s", dir, name);
    return out;
}

static const struct dataset_format *format_of(const char *dir, enum dataset_part part)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(format); k++) {
        if (format[k]->has(dir, part))
            return format[k];
    }
    return NULL;
}

int dataset_has(const char *dir, enum dataset_part part)
{
    return format_of(dir, part) != NULL;
}

static enum emu_status check(const struct dataset *d, const char *dir)
{
    if (!d->samples)
        return FAIL(BAD_FILE, "%s: no pictures", dir);
    if (d->classes < 2)
        return FAIL(BAD_FILE, "%s: pictures of one class only; expected two or more", dir);
    return EMU_OK;
}

enum emu_status dataset_open(const char *dir, enum dataset_part part, struct dataset **out)
{
    const struct dataset_format *f = format_of(dir, part);
    struct dataset *d;
    enum emu_status s;

    *out = NULL;
    if (!f)
        return FAIL(USAGE,
                    "%s has no pictures to %s: neither folders of classes, nor CIFAR's binary "
                    "files, nor IDX files",
                    dir, part == DATASET_TRAIN ? "train with" : "test with");
    d = emu_alloc(1, sizeof(*d));
    if (!d)
        return FAIL(NO_MEMORY, "a data set");
    d->format = f->name;
    s = f->open(dir, part, d);
    if (s == EMU_OK)
        s = check(d, dir);
    if (s != EMU_OK) {
        dataset_free(d);
        return s;
    }
    *out = d;
    return EMU_OK;
}

void dataset_free(struct dataset *d)
{
    if (!d)
        return;
    for (uint32_t k = 0; d->name && k < d->classes; k++)
        ss_free(d->name[k]);
    for (uint64_t k = 0; d->path && k < d->samples; k++)
        ss_free(d->path[k]);
    ss_free(d->name);
    ss_free(d->path);
    ss_free(d->label);
    ss_free(d->data);
    ss_free(d);
}

enum emu_status dataset_picture(const struct dataset *d, uint64_t sample, struct picture *out)
{
    uint64_t pixels = (uint64_t)d->width * d->height;
    const uint8_t *from;

    memset(out, 0, sizeof(*out));
    if (d->path)
        return feed_file_decode(d->path[sample], PIXELS_MAX, out);
    TRY(picture_allocate(out, d->width, d->height, PIXELS_MAX));
    from = d->data + sample * d->stride + d->first;
    for (uint64_t k = 0; k < pixels; k++) {
        for (unsigned c = 0; c < 3; c++)
            out->rgb[3 * k + c] = from[d->planes ? c * pixels + k : k];
    }
    return EMU_OK;
}

const char *dataset_sample_text(const struct dataset *d, uint64_t sample, char out[DATASET_TEXT])
{
    if (d->path)
        snprintf(out, DATASET_TEXT, "%s", d->path[sample]);
    else
        snprintf(out, DATASET_TEXT, "picture %" PRIu64, sample);
    return out;
}

enum dataset_part dataset_tested_part(const char *dir)
{
    return dataset_has(dir, DATASET_TEST) || !dataset_has(dir, DATASET_TRAIN) ? DATASET_TEST
                                                                              : DATASET_TRAIN;
}
