/* dataset_idx.c - MNIST's files: big-endian words (magic number, sizes), then bytes. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "models/data/dataset_formats.h"
#include "models/feed/feed_file.h"

enum { PICTURES_MAGIC = 0x803, LABELS_MAGIC = 0x801, PICTURES_HEADER = 16, LABELS_HEADER = 8 };
static const uint64_t BYTES_MAX = UINT64_C(1) << 33;

/* The first of the names that are in use; 0: none is there. */
static int find(const char *dir, enum dataset_part part, const char *what, char out[DATASET_PATH])
{
    static const char *const prefix[][2] = { { "train", "train" }, { "t10k", "test" } };
    static const char separator[] = { '-', '.' };

    for (unsigned k = 0; k < 4; k++) {
        char name[64];

        snprintf(name, sizeof(name), "%s-%.6s%c%s", prefix[part][k / 2], what, separator[k % 2],
                 what + 7);
        if (!access(dataset_path(dir, name, out), F_OK))
            return 1;
    }
    return 0;
}
static const char pictures_name[] = "images-idx3-ubyte", labels_name[] = "labels-idx1-ubyte";

static int has(const char *dir, enum dataset_part part)
{
    char path[DATASET_PATH];

    return find(dir, part, pictures_name, path);
}

static uint32_t word(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static enum emu_status read_labels(struct dataset *d, const uint8_t *data, size_t bytes,
                                   const char *name)
{
    if (bytes < LABELS_HEADER || word(data) != LABELS_MAGIC)
        return FAIL(BAD_FILE, "%s: not a list of labels: it does not begin with 00 00 08 01", name);
    if (word(data + 4) != d->samples)
        return FAIL(BAD_FILE, "%s: %u labels of %" PRIu64 " pictures", name, word(data + 4),
                    d->samples);
    if (bytes - LABELS_HEADER != d->samples)
        return FAIL(BAD_FILE, "%s: %zu bytes behind the header, expected %" PRIu64, name,
                    bytes - LABELS_HEADER, d->samples);
    d->label = emu_alloc(d->samples + 1, sizeof(*d->label));
    if (!d->label)
        return FAIL(NO_MEMORY, "labels");
    for (uint64_t k = 0; k < d->samples; k++) {
        d->label[k] = data[LABELS_HEADER + k];
        if (d->label[k] >= d->classes)
            d->classes = d->label[k] + 1;
    }
    return EMU_OK;
}

enum emu_status dataset_read_idx(struct dataset *d, uint8_t **picture_bytes, size_t bytes,
                                 const char *pictures, const uint8_t *label_bytes,
                                 size_t label_count, const char *labels)
{
    const uint8_t *data = *picture_bytes;

    if (bytes < PICTURES_HEADER || word(data) != PICTURES_MAGIC)
        return FAIL(BAD_FILE, "%s: not a list of pictures: it does not begin with 00 00 08 03",
                    pictures);
    d->height = word(data + 8);
    d->width = word(data + 12);
    if (!d->height || !d->width || d->height > PICTURE_SIDE_MAX || d->width > PICTURE_SIDE_MAX)
        return FAIL(BAD_FILE, "%s: pictures of %u x %u", pictures, d->width, d->height);
    d->stride = (uint64_t)d->width * d->height;
    if ((bytes - PICTURES_HEADER) % d->stride ||
        (bytes - PICTURES_HEADER) / d->stride != word(data + 4))
        return FAIL(BAD_FILE, "%s: %zu bytes behind the header, expected %u pictures of %u x %u",
                    pictures, bytes - PICTURES_HEADER, word(data + 4), d->width, d->height);
    d->samples = word(data + 4);
    d->channels = 1;
    d->first = PICTURES_HEADER;
    d->data = *picture_bytes;
    *picture_bytes = NULL;
    return read_labels(d, label_bytes, label_count, labels);
}

static enum emu_status open_idx(const char *dir, enum dataset_part part, struct dataset *d)
{
    char pictures[DATASET_PATH], labels[DATASET_PATH];
    uint8_t *data = NULL, *label = NULL;
    size_t bytes = 0, label_count = 0;
    const char *failed = pictures;
    enum emu_status s;

    find(dir, part, pictures_name, pictures);
    if (!find(dir, part, labels_name, labels))
        return FAIL(BAD_FILE, "%s: there are no labels beside it", pictures);
    s = feed_file_bytes(pictures, BYTES_MAX, &data, &bytes);
    if (s == EMU_OK) {
        failed = labels;
        s = feed_file_bytes(labels, BYTES_MAX, &label, &label_count);
    }
    if (s != EMU_OK)
        s = ss_fail(s, "%s: %s", failed, ss_error());
    else
        s = dataset_read_idx(d, &data, bytes, pictures, label, label_count, labels);
    ss_free(data);
    ss_free(label);
    return s;
}

const struct dataset_format dataset_idx = { "IDX", has, open_idx };
