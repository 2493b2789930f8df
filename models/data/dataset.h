/* dataset.h - pictures with labels, for training: from the formats in which users have them.
 *
 *   folder  DIR/CLASS/NAME.jpg, .jpeg, .png; DIR/train and DIR/val (or test) if they are there.
 * Classes are numbered in the order of their names' bytes CIFAR   the binary version:
 * data_batch_*.bin and test_batch.bin of CIFAR-10, train.bin and test.bin of CIFAR-100, whose fine
 * labels are taken IDX     MNIST's: train-images-idx3-ubyte and train-labels-idx1-ubyte, t10k- or
 * test- for the others; also with a dot (train-images.idx3-ubyte)
 *
 * The names in the directory tell which format it is.
 */
#ifndef MODELS_DATASET_H
#define MODELS_DATASET_H

#include "models/picture/picture.h"

enum dataset_part { DATASET_TRAIN, DATASET_TEST };
enum { DATASET_CLASSES_MAX = 1 << 16 };

struct dataset {
    const char *format;     /* "IDX" */
    uint64_t samples;       /* pictures */
    uint32_t classes;       /* of the names; IDX, which has none: the largest label + 1 */
    uint32_t channels;      /* 1: grey */
    uint32_t width, height; /* of all pictures; 0: each has its own */
    uint32_t *label;        /* owned; by sample, below classes */
    char **name;            /* owned; by class; NULL: they have none */
    char **path;            /* owned; by sample: its file. NULL: it is in `data` */
    uint8_t *data;          /* owned; pixels of all samples */
    uint64_t stride, first; /* bytes from sample to sample; before the first one's pixels */
    int planes;             /* 1: [channels][height][width], 0: grey */
};

/* Opens a part of a data set. Directories are read now, picture files when they are asked for.
 *
 * out     owned by the caller, dataset_free()
 * Errors  EMU_USAGE: the directory has none of the formats, or not that part; EMU_BAD_FILE names
 * the file and what was expected, or the class that has no pictures; EMU_IO, EMU_NO_MEMORY */
enum emu_status dataset_open(const char *dir, enum dataset_part part,
                             struct dataset **out) EMU_MUST_CHECK;
void dataset_free(struct dataset *d); /* NULL allowed */
/* Whether a directory has that part. */
int dataset_has(const char *dir, enum dataset_part part);
/* What is tested with: the test part of a directory, or all of one that has no parts. */
enum dataset_part dataset_tested_part(const char *dir);

/* A sample as it is stored; grey ones have three equal channels. Any thread may call it. Errors:
 * EMU_BAD_FILE, EMU_IO (its file; the message does not name it), EMU_NO_MEMORY. Free *out with
 * picture_free. */
enum emu_status dataset_picture(const struct dataset *d, uint64_t sample,
                                struct picture *out) EMU_MUST_CHECK;
/* "7.jpg", "sample 12 of train-images-idx3-ubyte". Returns out. */
enum { DATASET_TEXT = 512 };
const char *dataset_sample_text(const struct dataset *d, uint64_t sample, char out[DATASET_TEXT]);

#endif
