/* status.h - host-side error codes and the three error channels.
 *
 *   enum emu_status  the caller or the host is wrong      return it, always checked
 *   enum fault       the emulated program is wrong        recorded in the tile (tile/fault.def)
 *   EMU_ASSERT       this emulator is wrong               abort with file:line
 */
#ifndef EMU_STATUS_H
#define EMU_STATUS_H

enum emu_status {
#define STATUS(name, text) EMU_##name,
#include "emu/base/status.def"
#undef STATUS
    EMU_STATUS_COUNT
};

#define EMU_MUST_CHECK        __attribute__((warn_unused_result))
#define EMU_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

const char *emu_status_name(enum emu_status s); /* "BAD_FILE" */
const char *emu_status_text(enum emu_status s); /* "a file does not say what it should" */

/* The message of the last FAIL on this thread: "text: why". Valid until the next FAIL on it. */
const char *emu_error(void);

/* Stores the message for emu_error() and returns s. Use it through FAIL. */
enum emu_status emu_fail(enum emu_status s, const char *fmt, ...) EMU_PRINTF(2, 3);

/* return FAIL(BAD_FILE, "%s:%d: expected a number", path, line); */
#define FAIL(code, ...) emu_fail(EMU_##code, __VA_ARGS__)

/* Forwards any status but EMU_OK to the caller. */
#define TRY(expr)                                                                                  \
    do {                                                                                           \
        enum emu_status try_status_ = (expr);                                                      \
        if (try_status_ != EMU_OK)                                                                 \
            return try_status_;                                                                    \
    } while (0)

_Noreturn void emu_abort(const char *file, int line, const char *what);

/* Cheap invariants stay on in every build mode. */
#define EMU_ASSERT(cond) ((cond) ? (void)0 : emu_abort(__FILE__, __LINE__, #cond))

#define EMU_LIKELY(x)   __builtin_expect(!!(x), 1)
#define EMU_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define EMU_COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

#endif
