/* fuzz_results.c - any bytes as a file of results to go on with: refused, or what is kept of it is
 * found again; the first byte chooses the format.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "models/feed/results_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum results_format format = size && data[0] & 1 ? RESULTS_CSV : RESULTS_JSONL;
    struct text_line name = { 0 }, again_name = { 0 };
    struct results_found found, again;
    int fd = memfd_create("results", 0);

    EMU_ASSERT(fd >= 0 && (size < 2 || write(fd, data + 1, size - 1) == (ssize_t)size - 1));
    if (results_scan(fd, "fuzz", format, 0, &name, &found) == EMU_OK) {
        EMU_ASSERT(found.bytes < size || !found.bytes);
        EMU_ASSERT(!ftruncate(fd, (off_t)found.bytes));
        EMU_ASSERT(results_scan(fd, "fuzz", format, 0, &again_name, &again) == EMU_OK);
        EMU_ASSERT(again.bytes == found.bytes && again.results == found.results);
        if (found.results) {
            EMU_ASSERT(again.last_index == found.last_index && text_equal(&again_name, &name));
        }
    } else {
        EMU_ASSERT(!strncmp(ss_error(), "fuzz: ", 6));
    }
    text_free(&name);
    text_free(&again_name);
    close(fd);
    EMU_ASSERT(alloc_live() == 0);
    return 0;
}
