/* cmd_lab.h - the programs of the lab by name. */
#ifndef PROGRAMS_CMD_LAB_H
#define PROGRAMS_CMD_LAB_H

#include "emu/cli/request.h"

/* Lists them all. Returns the exit code. */
int lab_list(const struct request *q);

/* The path of the manifest of that name; 0 when there is none. */
int lab_find_manifest(const char *name, char *out, size_t bytes);

#endif
