/* emit_traffic.h - who sends to whom in the exchanges of a placed program, for its image. */
#ifndef PROGRAMS_EMIT_TRAFFIC_H
#define PROGRAMS_EMIT_TRAFFIC_H

#include "programs/compiler/emit/emit.h"

/* Adds what the tiles send each other in every exchange of the program to its image, as the fabric
 * will find it when it resolves them: a message is a run of words that lie one after the other at
 * both ends, so this depends on addresses. base: exchanges of other chips, which are numbered
 * before. EMU_NO_MEMORY. Costs some hundredths of a compilation;
 * tests/compiler/test_timing_engine.c compares with what is exchanged. */
enum emu_status emit_traffic(const struct emit_input *in, uint32_t base, unsigned threads,
                             struct image *im) EMU_MUST_CHECK;

#endif
