/* control.h - the code of one tile: functions, loops, launches, exchanges, requests to the host. */
#ifndef PROGRAMS_CONTROL_H
#define PROGRAMS_CONTROL_H

#include "programs/compiler/emit/code_buffer.h"
#include "programs/compiler/emit/emit_index.h"

/* Whether objects have addresses yet. While they have none, words that hold an address are
 * undefined, but the number of words is the same. */
enum control_mode { CONTROL_MEASURE, CONTROL_FINAL };

/* Writes the code of a tile (index in used_tile), headers of host transfers and words of the stack
 * included. code_buffer_link() fills in the addresses of labels later. The entry is word 0. out
 * must be empty; free it with code_buffer_free. Errors: EMU_BAD_PROGRAM, EMU_BAD_EXCHANGE for
 * addresses and counts that do not fit an instruction, EMU_NO_MEMORY. */
enum emu_status control_emit(const struct emit_index *p, uint32_t tile, enum control_mode mode,
                             struct code_buffer *out) EMU_MUST_CHECK;

/* The zone of the sync by which programs end. */
uint32_t control_host_zone(const struct arch *a);

#endif
