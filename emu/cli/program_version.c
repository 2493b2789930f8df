/* program_version.c - the Makefile says which version this is. */
#include "emu/cli/request_profile.h"

#ifndef SUPERSTEP_VERSION
#define SUPERSTEP_VERSION "(unknown version)"
#endif

const char program_version[] = SUPERSTEP_VERSION;
