/* codelet_sources.h - what codelet_code.c takes from kept sources; public is codelet_table.h. */
#ifndef PROGRAMS_CODELET_SOURCES_H
#define PROGRAMS_CODELET_SOURCES_H

#include "programs/compiler/base/arena.h"
#include "programs/library/kernel/codelet_table.h"

/* The text of a codelet, whose file is `path`, after the preprocessor; borrowed from s. Errors: as
 * asm_unit_preprocess(). */
enum emu_status codelet_sources_text(struct codelet_sources *s, const struct arch *arch,
                                     unsigned codelet, const char *path, const char **text,
                                     size_t *bytes) EMU_MUST_CHECK;

#endif
