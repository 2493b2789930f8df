/* manifest_request.h - the manifest that a request is about. */
#ifndef EMU_MANIFEST_REQUEST_H
#define EMU_MANIFEST_REQUEST_H

#include "emu/cli/request.h"
#include "emu/job/manifest.h"

/* The manifest or source file q->what, or what came through a pipe, for the machine of the request.
 * *out is owned by the caller. Errors: those of ss_manifest_read(). */
enum emu_status manifest_of_request(const struct request *q, struct manifest **out) EMU_MUST_CHECK;

#endif
