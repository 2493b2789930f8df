/* exec_lanes.h - the plain functions that lanes.def names, one type per rule. Private to emu/exec.
 */
#ifndef EMU_EXEC_LANES_H
#define EMU_EXEC_LANES_H

#include "emu/base/fp_math.h"
#include "emu/exec/exec_access.h"
#include "emu/exec/exec_int.h"

typedef uint32_t bits1_fn(uint32_t a);
typedef uint32_t bits2_fn(uint32_t a, uint32_t b);
typedef uint32_t f32_1_fn(uint32_t a, struct fp_env *env);
typedef uint32_t f32_2_fn(uint32_t a, uint32_t b, struct fp_env *env);
typedef uint32_t f32_clamps_fn(uint32_t a, uint32_t min, uint32_t max, struct fp_env *env);
typedef uint16_t f16_1_fn(uint16_t a, unsigned lane, struct fp_env *env);
typedef uint16_t f16_rounds_fn(uint16_t a, uint16_t b, unsigned lane, struct fp_env *env);
typedef uint16_t f16_picks_fn(uint16_t a, uint16_t b, struct fp_env *env);
typedef uint16_t f16_clamps_fn(uint16_t a, uint16_t min, uint16_t max, struct fp_env *env);

/* One access of an instruction at an address: loads into D or stores from S. */
typedef enum fault access_fn(struct tile *t, unsigned lane, const struct insn *in, uint32_t addr);

#define LANE(operation, rule, plain, vector)    rule##_fn plain;
#define PLAIN(operation, rule, plain)           rule##_fn plain;
#define ACCESS(operation, bytes, plain, vector) access_fn plain;
#include "emu/exec/lanes.def"
#undef LANE
#undef PLAIN
#undef ACCESS

#endif
