/* vertex_forms.h - the forms of calls as text, for images (docs/image.md): which codelet runs, how
 * long the state is, and of each field its word, its use and its length.
 *
 *   CODELET 3 x:0:r:384 y:1:w:384
 *   CODELET 3 src:0:r:17x4 dst:1:w:17x4
 */
#ifndef PROGRAMS_VERTEX_FORMS_H
#define PROGRAMS_VERTEX_FORMS_H

#include "programs/compiler/lower/lowered.h"

/* The image's string of each form of a program, in *out; free it with ss_free. Errors:
 * EMU_NO_MEMORY, EMU_BAD_IMAGE. */
enum emu_status vertex_forms(const struct lowered *l, struct image *im,
                             uint32_t **out) EMU_MUST_CHECK;

#endif
