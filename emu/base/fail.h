/* fail.h - the three error channels.
 *
 *   enum emu_status  the caller or the host is wrong      return it, always checked: FAIL, TRY
 *   enum fault       the emulated program is wrong        recorded in the tile (tile/fault.def)
 *   EMU_ASSERT       this emulator is wrong               abort with file:line
 */
#ifndef EMU_FAIL_H
#define EMU_FAIL_H

#include "emu/base/status.h"

/* return FAIL(BAD_FILE, "%s:%d: expected a number", path, line); */
#define FAIL(code, ...) ss_fail(EMU_##code, __VA_ARGS__)

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
