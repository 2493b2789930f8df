/* cmd_lab.h - the programs of the lab by name. */
#ifndef PROGRAMS_CMD_LAB_H
#define PROGRAMS_CMD_LAB_H

#include <stddef.h>
#include <stdio.h>

#include "emu/cli/request.h"

/* Lists them all. Returns the exit code. */
int lab_list(const struct request *q);

/* The path of the manifest of that name; 0 when there is none. */
int lab_find_manifest(const char *name, char *out, size_t bytes);

/* What -D changes in the manifest at a path of the lab. */
void lab_print_parameters(const char *name, const char *path, FILE *f);

/* "; did you mean 'ring'?", or "" where no program of the lab has nearly this name. */
void lab_suggest(const char *name, char *out, size_t bytes);

#endif
