/* run_check.h - what the checking mode of a run knows of the program: what its memory is for, which
 * vertices its tiles have, and in which field of one an address is.
 */
#ifndef EMU_RUN_CHECK_H
#define EMU_RUN_CHECK_H

#include <jansson.h>

#include "emu/job/run_image.h"
#include "emu/tile/tile_check.h"

/* Tells the tiles of a machine that has been loaded. EMU_NO_MEMORY, EMU_BAD_IMAGE. */
enum emu_status run_check_begin(struct run *r) EMU_MUST_CHECK;

/* Of a report with a site: the codelet of its vertex, "vertex", whose it is in the program, and
 * "field", where its address is: "4 bytes behind y". Whether there was memory for it. */
int run_check_put_vertex(const struct run *r, uint32_t chip, uint32_t tile,
                         const struct tile_check_report *c, json_t *o);

#endif
