/* dataset_cifar.c - CIFAR's binary files: records of one label (CIFAR-100: a coarse and a fine one)
 * and the planes of a picture of 32 x 32. */
#include <string.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "models/data/dataset_formats.h"
#include "models/feed/feed_file.h"

enum { SIDE = 32, PIXELS = SIDE * SIDE, PICTURE = 3 * PIXELS, BATCHES = 5 };
static const uint64_t BYTES_MAX = UINT64_C(1) << 32;

static const struct cifar {
    const char *train, *test, *names;
    unsigned label_bytes;
    uint32_t classes;
    int batches; /* 1: the name of train has a number */
} kind[] = {
    { "data_batch_%u.bin", "test_batch.bin", "batches.meta.txt", 1, 10, 1 },
    { "train.bin", "test.bin", "fine_label_names.txt", 2, 100, 0 },
};

/* The path of file i of a part; 0: there is none. */
static int file_of(const struct cifar *k, const char *dir, enum dataset_part part, unsigned i,
                   char out[DATASET_PATH])
{
    char name[64];

    if (i && (part == DATASET_TEST || !k->batches || i >= BATCHES))
        return 0;
    if (part == DATASET_TRAIN && k->batches)
        snprintf(name, sizeof(name), "data_batch_%u.bin", i + 1);
    else
        snprintf(name, sizeof(name), "%s", part == DATASET_TRAIN ? k->train : k->test);
    return !access(dataset_path(dir, name, out), F_OK);
}

static const struct cifar *kind_of(const char *dir, enum dataset_part part)
{
    char path[DATASET_PATH];

    for (unsigned k = 0; k < EMU_COUNT_OF(kind); k++) {
        if (file_of(&kind[k], dir, part, 0, path))
            return &kind[k];
    }
    return NULL;
}

static int has(const char *dir, enum dataset_part part)
{
    return kind_of(dir, part) != NULL;
}

enum emu_status dataset_add_cifar(struct dataset *d, const uint8_t *data, size_t bytes,
                                  unsigned label_bytes, const char *name)
{
    size_t record = label_bytes + PICTURE;
    uint64_t n = bytes / record;
    uint32_t *label = emu_realloc(d->label, d->samples + n + 1, sizeof(*label));
    uint8_t *pixels;

    if (!label)
        return FAIL(NO_MEMORY, "%s", name);
    d->label = label;
    if (bytes % record)
        return FAIL(BAD_FILE, "%s: %zu bytes are no whole records of %zu", name, bytes, record);
    pixels = emu_realloc(d->data, (d->samples + n) * PICTURE + 1, 1);
    if (!pixels)
        return FAIL(NO_MEMORY, "%s", name);
    d->data = pixels;
    for (uint64_t k = 0; k < n; k++) {
        const uint8_t *at = data + k * record;

        if (at[label_bytes - 1] >= d->classes)
            return FAIL(BAD_FILE, "%s: record %llu has label %u; there are %u classes", name,
                        (unsigned long long)k, at[label_bytes - 1], d->classes);
        label[d->samples] = at[label_bytes - 1];
        memcpy(pixels + d->samples * PICTURE, at + label_bytes, PICTURE);
        d->samples++;
    }
    return EMU_OK;
}

/* The names of classes, one a line; a file with fewer lines gives none. */
static enum emu_status read_names(const struct cifar *k, const char *dir, struct dataset *d)
{
    char path[DATASET_PATH], line[256];
    FILE *f = fopen(dataset_path(dir, k->names, path), "r");
    uint32_t n = 0;

    if (!f)
        return EMU_OK;
    d->name = emu_alloc(d->classes, sizeof(*d->name));
    while (d->name && n < d->classes && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (*line)
            d->name[n++] = emu_strdup(line);
    }
    fclose(f);
    if (!d->name || (n && !d->name[n - 1]))
        return FAIL(NO_MEMORY, "names of classes");
    return n == d->classes ? EMU_OK
                           : FAIL(BAD_FILE, "%s: %u names of %u classes", path, n, d->classes);
}

static enum emu_status open_cifar(const char *dir, enum dataset_part part, struct dataset *d)
{
    const struct cifar *k = kind_of(dir, part);
    char path[DATASET_PATH];
    enum emu_status s = EMU_OK;

    d->classes = k->classes;
    d->channels = 3;
    d->width = d->height = SIDE;
    d->stride = PICTURE;
    d->planes = 1;
    for (unsigned i = 0; s == EMU_OK && file_of(k, dir, part, i, path); i++) {
        uint8_t *data;
        size_t bytes;

        s = feed_file_bytes(path, BYTES_MAX, &data, &bytes);
        if (s != EMU_OK)
            return ss_fail(s, "%s: %s", path, ss_error());
        s = dataset_add_cifar(d, data, bytes, k->label_bytes, path);
        ss_free(data);
    }
    return s == EMU_OK ? read_names(k, dir, d) : s;
}

const struct dataset_format dataset_cifar = { "CIFAR", has, open_cifar };
