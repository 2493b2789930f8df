/* profile_report.h - a profile for people, as one JSON object, and its large tables as CSV. */
#ifndef EMU_PROFILE_REPORT_H
#define EMU_PROFILE_REPORT_H

#include <jansson.h>

#include "emu/profile/profile_store.h"

/* One screen: what ran, where its cycles went, the slowest layers and supersteps, memory, faults.
 * Errors: EMU_BAD_FILE, EMU_NO_MEMORY. */
enum emu_status profile_report(struct profile *p, FILE *f) EMU_MUST_CHECK;
/* All layers, and what else the screen has; keys as docs/profile.md has them. */
enum emu_status profile_report_json(struct profile *p, json_t **out) EMU_MUST_CHECK;

/* What every byte of a tile is for, by address. EMU_USAGE for a tile that the program does not use.
 */
enum emu_status profile_report_tile(struct profile *p, uint32_t chip, uint32_t tile,
                                    FILE *f) EMU_MUST_CHECK;

/* What can be had as CSV, as --csv names it: of a run, then of a sweep (sweep_report.h). */
#define PROFILE_TABLES "layers|steps|tiles|points|bytes"
enum profile_csv { PROFILE_CSV_LAYERS, PROFILE_CSV_STEPS, PROFILE_CSV_TILES };
enum emu_status profile_report_csv(struct profile *p, enum profile_csv which,
                                   FILE *f) EMU_MUST_CHECK;

#endif
