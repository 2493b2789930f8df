/* emit.h - control code, exchange code and contents of every tile; the image.
 *
 * Code of a tile, from ss_arch_loader_base() on: the codelets of the program (equal addresses on
 * all tiles), then the functions of the program, each step in turn, exchange code in line after its
 * sync, then headers of host transfers, the stack of called codelets and the words of the stack.
 * All of it counts as code bytes.
 * Supervisor registers: $m0 .. $m5 are free for launches and codelets, $m6 .. $m9 count the four
 * outermost nested loops (deeper ones count in words of the stack), $m10 is the return address
 * (kept there by functions that call), $m11 the address of the words of the stack where there are
 * any; the stack of called codelets ends there. Codelets from elsewhere may change $m6.
 */
#ifndef PROGRAMS_EMIT_H
#define PROGRAMS_EMIT_H

#include "programs/compiler/lower/lowered.h"
#include "programs/compiler/place/place.h"
#include "programs/compiler/schedule/schedule.h"

/* What emit reads. */
struct emit_input {
    const struct lowered *lowered;
    const struct codelet_code *codelets;
    /* By index of the step; entries of steps other than STEP_EXCHANGE are empty. Bases of
     * symbolic_addr are objects, or indices into the schedule's list of objects if it has one. */
    const struct exchange_schedule *schedule;
    const struct lowered *const *peer; /* of all chips of the replica, in their order; NULL: there
                                          are no exchanges between chips */
};

/* Bytes of code of every used tile, codelets included; code_bytes has used_tiles entries. The
 * length does not depend on addresses. Costs as much as emitting. */
enum emu_status emit_measure(const struct emit_input *in, unsigned threads,
                             uint32_t *code_bytes) EMU_MUST_CHECK;

/* The image: bytes, entries, groups, streams, symbols of codelets and variables, and a map in which
 * every byte of every used tile is a range or a gap. Where several objects use a byte at different
 * times, the map names the one alive at the tile's peak step, else the first. */
enum emu_status emit_image(const struct emit_input *in, const struct placement *place,
                           unsigned threads, struct image **out) EMU_MUST_CHECK;

/* The same of the chips of a replica. Scopes of one path are one scope. */
struct emit_chip {
    struct emit_input in;
    const struct placement *place;
};
enum emu_status emit_images(const struct emit_chip *chip, unsigned chips, unsigned threads,
                            struct image **out) EMU_MUST_CHECK;

#endif
