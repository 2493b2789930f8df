/* exec.h - what each instruction means: one plain function per row of insn.def. Each INSN row has a
 * function of its own, grouped by family in exec_*.c; the functions of LANES rows are instantiated
 * in exec_lanes.c from the operations that lanes.def names.
 *
 * These functions are the reference. emu/fast computes the same for all workers at once and is
 * tested against them. A row whose function does not exist does not link. exec_rows.h declares
 * them; who only executes takes them from the table.
 */
#ifndef EMU_EXEC_H
#define EMU_EXEC_H

#include "emu/base/fp.h"
#include "emu/isa/isa.h"
#include "emu/tile/tile.h"

/* Executes one instruction in a lane (worker 0..5, or LANE_SUPER).
 *
 * Before the call, t->pc[lane] is its address and t->npc[lane] the address after it (in a bundle:
 * after the bundle); a branch overwrites npc. The two halves of a bundle are executed so that both
 * see the registers as they were before it; see exec_bundle(). An instruction reads all its
 * operands before it writes any, and writes nothing when it faults. It knows nothing of time.
 * Returns FAULT_NONE or what tile_fault() recorded. */
typedef enum fault exec_fn(struct tile *t, unsigned lane, const struct insn *in);

extern exec_fn *const exec_table[]; /* by operation */

/* Executes a bundle: both halves read before either writes. Both are attempted; when one faults the
 * other still completes. */
enum fault exec_bundle(struct tile *t, unsigned lane, const struct insn *main,
                       const struct insn *aux);

/* Floating-point environment of one instruction of a worker. fp_env_begin() reads $FP_CTL and, when
 * draws_f16 and ESR are set, advances the PRNG once. fp_env_end() records the exceptions in
 * $FP_STS, or raises FAULT_FP when one of them is enabled: the instruction must then write nothing.
 */
struct fp_env fp_env_begin(struct tile *t, unsigned lane, int draws_f16);
enum fault fp_env_end(struct tile *t, unsigned lane, const struct fp_env *env);

/* exec_check.c: the same in the checking mode (emu/tile/tile_check.h), with the second half or
 * NULL. Reports what depends on bytes that nothing has written. */
enum fault exec_checked(struct tile *t, unsigned lane, const struct insn *main,
                        const struct insn *aux);

#endif
