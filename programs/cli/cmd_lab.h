/* cmd_lab.h - the programs of the lab by name. */
#ifndef PROGRAMS_CMD_LAB_H
#define PROGRAMS_CMD_LAB_H

#include <stddef.h>
#include <stdio.h>

#include "emu/base/nearest.h"
#include "emu/cli/request.h"

/* Lists them all. Returns the exit code. */
int lab_list(const struct request *q);

/* Prints the names of all of them, a space before each. EMU_NO_MEMORY. */
enum emu_status lab_print_names(FILE *f) EMU_MUST_CHECK;

/* The path of the manifest of that name; 0 when there is none. */
int lab_find_manifest(const char *name, char *out, size_t bytes);

/* What -D changes in the manifest at a path of the lab. */
void lab_print_parameters(const char *name, const char *path, FILE *f);

/* " did you mean 'ring'?", or "" where no program of the lab is near enough to s, which may have
 * tried other names before. */
struct nearest_text lab_hint(struct nearest *s);

#endif
