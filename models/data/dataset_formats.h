/* dataset_formats.h - the formats of data sets; private to models/data.
 *
 * Each has two functions: whether a directory has a part in it, and to read that part into an empty
 * data set, which the caller frees on failure, too.
 */
#ifndef MODELS_DATASET_FORMATS_H
#define MODELS_DATASET_FORMATS_H

#include "models/data/dataset.h"

struct dataset_format {
    const char *name;
    int (*has)(const char *dir, enum dataset_part part);
    enum emu_status (*open)(const char *dir, enum dataset_part part, struct dataset *d);
};

extern const struct dataset_format dataset_idx, dataset_cifar, dataset_folder;

/* DIR/NAME. Returns out. */
enum { DATASET_PATH = 4096 };
const char *dataset_path(const char *dir, const char *name, char out[DATASET_PATH]);

/* IDX from memory, for dataset_idx and for tests. pictures, labels: names for messages. Takes
 * *picture_bytes: the data set owns them afterwards, and the pointer is NULL. */
enum emu_status dataset_read_idx(struct dataset *d, uint8_t **picture_bytes, size_t bytes,
                                 const char *pictures, const uint8_t *label_bytes,
                                 size_t label_count, const char *labels) EMU_MUST_CHECK;
/* Records of CIFAR from memory, appended. label_bytes: 1 or 2 in front of each picture, of which
 * the last is the label. */
enum emu_status dataset_add_cifar(struct dataset *d, const uint8_t *data, size_t bytes,
                                  unsigned label_bytes, const char *name) EMU_MUST_CHECK;

#endif
