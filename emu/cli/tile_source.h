/* tile_source.h - a source file as a case: `superstep tile FILE.S`. */
#ifndef EMU_TILE_SOURCE_H
#define EMU_TILE_SOURCE_H

#include <stddef.h>

#include "emu/arch/arch.h"
#include "emu/base/fail.h"

/* The text of a case (docs/case_format.md) that enters a source at its first label: as a worker, or
 * as the supervisor where `.supervisor` stands last before that label. The file is named without
 * its folder, as ss_manifest_read_text() wants it under the path of the source. Of a file that
 * cannot be assembled the case says main: who builds it says what is wrong. *text is owned by the
 * caller, free it with free(). Errors: EMU_IO, EMU_NO_MEMORY. */
enum emu_status tile_source_case(const struct arch *a, const char *path, int raw,
                                 char **text) EMU_MUST_CHECK;

#endif
