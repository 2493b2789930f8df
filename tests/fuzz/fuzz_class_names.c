/* fuzz_class_names.c - any bytes as names of classes: refused with the file in the message, or each
 * line is a name that can be shown. */
#include <stdint.h>
#include <string.h>

#include "emu/base/name_text.h"
#include "models/answer/class_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A first byte says how many classes the network has. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t classes = size ? data[0] : 0;
    struct class_names c;
    enum emu_status s =
        class_names_take(size ? data + 1 : data, size ? size - 1 : 0, "fuzz", classes, &c);

    if (s != EMU_OK) {
        EMU_ASSERT(s == EMU_BAD_FILE && !c.text && !c.name && strstr(ss_error(), "fuzz"));
        return 0;
    }
    EMU_ASSERT(c.count == classes);
    for (uint32_t k = 0; k < c.count; k++) {
        const char *name = class_name(&c, k);

        EMU_ASSERT(*name && name_is_utf8(name) && !strpbrk(name, "\r\n"));
        EMU_ASSERT(name >= c.text && name + strlen(name) < c.text + size);
    }
    EMU_ASSERT(!*class_name(&c, c.count) && !*class_name(NULL, 0));
    class_names_free(&c);
    return 0;
}
