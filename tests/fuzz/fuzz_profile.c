/* fuzz_profile.c - any bytes as a profile: refused, or reported to the end, as a page, too. */
#include <stdint.h>
#include <stdio.h>

#include "emu/profile/profile_report.h"
#include "emu/profile/report_page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *f = fopen("/dev/null", "w");
    struct profile *p;
    json_t *o = NULL;

    if (f && profile_read_bytes(data, size, "x.db", &p) == EMU_OK) {
        enum emu_status s = profile_report(p, f);

        EMU_ASSERT(s == EMU_OK || s == EMU_BAD_FILE);
        s = profile_report_json(p, &o);
        EMU_ASSERT((s == EMU_OK) == (o != NULL));
        s = profile_report_tile(p, 0, f);
        EMU_ASSERT(s == EMU_OK || s == EMU_BAD_FILE || s == EMU_USAGE);
        s = report_page_write(p, NULL, f);
        EMU_ASSERT(s == EMU_OK || s == EMU_BAD_FILE);
        json_decref(o);
        profile_free(p);
    }
    if (f)
        fclose(f);
    return 0;
}
