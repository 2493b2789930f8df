/* fuzz_profile.c - any bytes as a profile or a sweep: refused, or reported to the end; a profile as
 * a page, too. */
#include <stdint.h>
#include <stdio.h>

#include "emu/profile/profile_report.h"
#include "emu/profile/report_page.h"
#include "emu/profile/sweep_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *f = fopen("/dev/null", "w");
    struct profile *p;
    json_t *o = NULL;

    if (f && profile_read_bytes(data, size, "x.db", &p) == EMU_OK) {
        int sweep = profile_is_sweep(p);
        enum emu_status s = (sweep ? sweep_report : profile_report)(p, f);

        EMU_ASSERT(s == EMU_OK || s == EMU_BAD_FILE);
        s = (sweep ? sweep_report_json : profile_report_json)(p, &o);
        EMU_ASSERT((s == EMU_OK) == (o != NULL));
        s = sweep ? sweep_report_csv(p, SWEEP_CSV_POINTS, f) : profile_report_tile(p, 0, f);
        EMU_ASSERT(s == EMU_OK || s == EMU_BAD_FILE || s == EMU_USAGE);
        s = sweep ? EMU_OK : report_page_write(p, NULL, f);
        EMU_ASSERT(s == EMU_OK || s == EMU_BAD_FILE);
        json_decref(o);
        profile_free(p);
    }
    if (f)
        fclose(f);
    return 0;
}
