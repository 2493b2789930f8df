/* fuzz_profile.c - any bytes as a profile or a sweep: refused, or reported to the end; a profile as
 * a page, as a timeline and compared with itself, too. */
#include <stdint.h>
#include <stdio.h>

#include "emu/profile/profile_compare.h"
#include "emu/profile/profile_report.h"
#include "emu/profile/report_page.h"
#include "emu/profile/sweep_page.h"
#include "emu/profile/sweep_report.h"
#include "emu/profile/trace_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_readable(enum emu_status s)
{
    EMU_ASSERT(s == EMU_OK || s == EMU_BAD_FILE || s == EMU_USAGE);
}

static void look_at_sweep(struct profile *p, FILE *f)
{
    json_t *o = NULL;
    enum emu_status s = sweep_report_json(p, &o);

    EMU_ASSERT((s == EMU_OK) == (o != NULL));
    json_decref(o);
    expect_readable(sweep_report(p, f));
    expect_readable(sweep_report_csv(p, SWEEP_CSV_POINTS, f));
    expect_readable(sweep_report_csv(p, SWEEP_CSV_BYTES, f));
    expect_readable(sweep_page_write(p, f));
}

static void look_at_profile(struct profile *p, FILE *f)
{
    static const uint32_t tile[] = { 0, 3 };
    json_t *o = NULL;
    enum emu_status s = profile_report_json(p, &o);

    EMU_ASSERT((s == EMU_OK) == (o != NULL));
    json_decref(o);
    expect_readable(profile_report(p, f));
    expect_readable(profile_report_tile(p, 0, 0, f));
    for (enum profile_csv k = PROFILE_CSV_LAYERS; k <= PROFILE_CSV_TILES; k++)
        expect_readable(profile_report_csv(p, k, f));
    expect_readable(report_page_write(p, NULL, f));
    expect_readable(trace_events_write(p, tile, EMU_COUNT_OF(tile), f));
    if (profile_choose_chip(p, 1) == EMU_OK)
        expect_readable(profile_report(p, f));
    expect_readable(profile_choose_chip(p, PROFILE_ALL_CHIPS));
}

static void compare_with_itself(struct profile *p, const uint8_t *data, size_t size, FILE *f)
{
    struct profile *b;

    if (profile_read_bytes(data, size, "b.db", &b) != EMU_OK)
        return;
    expect_readable(profile_compare(p, b, f));
    profile_free(b);
    if (profile_read_bytes(data, size, "b.db", &b) != EMU_OK)
        return;
    expect_readable(report_page_write(p, b, f));
    profile_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *f = fopen("/dev/null", "w");
    struct profile *p;

    if (f && profile_read_bytes(data, size, "x.db", &p) == EMU_OK) {
        if (profile_is_sweep(p)) {
            look_at_sweep(p, f);
        } else {
            look_at_profile(p, f);
            compare_with_itself(p, data, size, f);
        }
        profile_free(p);
    }
    if (f)
        fclose(f);
    return 0;
}
