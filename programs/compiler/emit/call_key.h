/* call_key.h - the timing key of a call: what its time depends on, as a number.
 *
 * Hashed are the linked code of all codelets and the entry of this one, the words of its vertex
 * state, and the contents of tables and work lists that these point to. Of an edge counts where it
 * lies: for a codelet of TIME_PLACE its address, for one of TIME_FIXED the address modulo 16 and
 * the region. Calls with equal keys use equal issue slots on all workers.
 */
#ifndef PROGRAMS_CALL_KEY_H
#define PROGRAMS_CALL_KEY_H

#include "programs/compiler/emit/code_buffer.h"
#include "programs/compiler/emit/emit_index.h"

/* The part that all keys of a program share. */
uint64_t call_key_base(const struct codelet_code *codelets);
/* The key of a call (index in lowered.call), after placement; never 0 unless its time depends on
 * data. */
uint64_t call_key(const struct emit_index *p, uint64_t base, uint32_t call);

/* The first step whose control flow or time depends on data, as a sentence; "" when there is none.
 */
enum { CALL_KEY_TEXT = 512 };
void call_key_depends(const struct lowered *l, char text[CALL_KEY_TEXT]);
/* The first branch whose usual side the timing engine takes, as a sentence; "" when there is none.
 */
void call_key_usual(const struct lowered *l, char text[CALL_KEY_TEXT]);

#endif
