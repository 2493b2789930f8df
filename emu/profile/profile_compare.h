/* profile_compare.h - what differs between two profiles. */
#ifndef EMU_PROFILE_COMPARE_H
#define EMU_PROFILE_COMPARE_H

#include <jansson.h>

#include "emu/profile/profile_store.h"

/* b becomes part of a (profile_attach()), and may be freed afterwards. Differences are b less a.
 * Errors: EMU_BAD_FILE, EMU_NO_MEMORY. */
enum emu_status profile_compare(struct profile *a, const struct profile *b, FILE *f) EMU_MUST_CHECK;
/* *out: a new object; docs/profile.md has its keys. */
enum emu_status profile_compare_json(struct profile *a, const struct profile *b,
                                     json_t **out) EMU_MUST_CHECK;

#endif
