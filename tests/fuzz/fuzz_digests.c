/* fuzz_digests.c - any bytes as two files of digests, cut in the middle: compared, or refused with
 * file and line. */
#include <stdint.h>
#include <string.h>

#include "emu/job/digest_diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t half = size / 2;
    struct digest_diff d;
    FILE *a, *b;

    if (size < 2)
        return 0;
    a = fmemopen((void *)(uintptr_t)data, half, "r");
    b = fmemopen((void *)(uintptr_t)(data + half), size - half, "r");
    if (a && b && digest_diff_files(a, "a", b, "b", &d) != EMU_OK)
        EMU_ASSERT(ss_error()[0] == 'a' || ss_error()[0] == 'b');
    if (a)
        fclose(a);
    if (b)
        fclose(b);
    return 0;
}
