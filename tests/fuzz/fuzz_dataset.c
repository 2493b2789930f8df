/* fuzz_dataset.c - any bytes as the files of a data set: refused with a message, or every picture
 * and label of it is there. */
#include <stdint.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/data/dataset_formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at_all(struct dataset *d, enum emu_status s)
{
    struct picture p;

    if (s != EMU_OK) {
        EMU_ASSERT(!strncmp(ss_error(), "fuzz", 4) || strstr(ss_error(), "memory"));
    }
    for (uint64_t k = 0; s == EMU_OK && k < d->samples; k++) {
        EMU_ASSERT(d->label[k] < d->classes);
        EMU_ASSERT(dataset_picture(d, k, &p) == EMU_OK);
        picture_free(&p);
    }
    dataset_free(d);
}

/* The first two bytes say how many of the others are labels of IDX. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dataset *d;
    uint8_t *pictures;
    size_t labels;
    enum emu_status s;

    if (size < 2)
        return 0;
    labels = ((size_t)data[0] << 8 | data[1]) % (size - 1);
    data += 2;
    size -= 2;
    labels = labels < size ? labels : size;
    d = emu_alloc(1, sizeof(*d));
    pictures = emu_alloc(size - labels + 1, 1);
    EMU_ASSERT(d && pictures);
    memcpy(pictures, data + labels, size - labels);
    s = dataset_read_idx(d, &pictures, size - labels, "fuzz", data, labels, "fuzz");
    ss_free(pictures);
    look_at_all(d, s);
    d = emu_alloc(1, sizeof(*d));
    EMU_ASSERT(d);
    *d = (struct dataset){
        .classes = 100, .channels = 3, .width = 32, .height = 32, .stride = 3072, .planes = 1
    };
    look_at_all(d, dataset_add_cifar(d, data, size, 1 + labels % 2, "fuzz"));
    EMU_ASSERT(alloc_live() == 0);
    return 0;
}
