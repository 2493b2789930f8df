/* status.h - error codes, and the message that comes with one. fail.h says how this tree uses them.
 */
#ifndef EMU_STATUS_H
#define EMU_STATUS_H

#include "emu/base/api.h"

SUPERSTEP_API_BEGIN

enum emu_status {
#define STATUS(name, text) EMU_##name,
#include "emu/base/status.def"
#undef STATUS
    EMU_STATUS_COUNT
};

#define EMU_MUST_CHECK        __attribute__((warn_unused_result))
#define EMU_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

const char *ss_status_name(enum emu_status s); /* "BAD_FILE" */
const char *ss_status_text(enum emu_status s); /* "a file does not say what it should" */

/* The message of the last error on this thread. Valid until the next error on it. */
const char *ss_error(void);

/* Stores the message for ss_error() and returns s. */
enum emu_status ss_fail(enum emu_status s, const char *fmt, ...) EMU_PRINTF(2, 3);

SUPERSTEP_API_END

#endif
