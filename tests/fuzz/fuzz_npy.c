/* fuzz_npy.c - any bytes as a .npy file: refused, or numbers that a file of ours gives again. */
#include <stdlib.h>
#include <string.h>

#include "models/graph/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct op_tensor t, again;
    char *file = NULL;
    size_t bytes = 0;
    FILE *f;

    if (npy_read(data, size, "fuzz", &t) != EMU_OK) {
        EMU_ASSERT(!strncmp(ss_error(), "fuzz: ", 6));
        op_tensor_free(&t);
        EMU_ASSERT(alloc_live() == 0);
        return 0;
    }
    f = open_memstream(&file, &bytes);
    EMU_ASSERT(f && npy_write(&t, f) == EMU_OK && !fclose(f));
    EMU_ASSERT(npy_read(file, bytes, "again", &again) == EMU_OK);
    EMU_ASSERT(op_shape_equal(&t.shape, &again.shape) && t.shape.type == again.shape.type);
    op_tensor_free(&t);
    op_tensor_free(&again);
    free(file); /* allocated by open_memstream */
    EMU_ASSERT(alloc_live() == 0);
    return 0;
}
