/* case_run.h - one codelet on one tile: a case made ready to run, that is assembled, laid out and
 * loaded into a tile; then run, compared, printed.
 *
 *   case_build      assembles, lays memory out, fills the tile           case_build.c, case_place.c
 *   case_execute    runs it                                              case_run.c
 *   case_compare    lists what differs from the expectations             case_compare.c
 *   case_print_text what `superstep tile` prints                         case_text.c
 *   case_print      the JSON object that it prints with --json           case_print.c
 *
 * One struct case_run serves many runs: case_load() puts the tile back to the state before the
 * first instruction.
 */
#ifndef EMU_CASE_RUN_H
#define EMU_CASE_RUN_H

#include "emu/arch/arch.h"
#include "emu/asm/asm.h"
#include "emu/bsp/barrel.h"
#include "emu/job/case_place.h"
#include "emu/job/manifest.h"
#include "emu/tile/tile.h"

enum case_status { CASE_PASS, CASE_FAIL, CASE_FAULT, CASE_TIMEOUT, CASE_CHECK };

struct case_options {
    int plain;      /* only the plain reference functions */
    int check;      /* checking mode of the tile */
    FILE *trace;    /* every issued instruction or bundle, or NULL */
    FILE *messages; /* diagnostics of the assembler, or NULL */
};

struct case_run {
    const struct manifest *m;      /* borrowed: a case */
    struct manifest_program *p;    /* its program; the addresses of memories are set */
    const struct arch *arch;       /* its machine */
    struct case_options options;   /* what it points to is borrowed */
    struct asm_unit *unit;         /* owned */
    const struct asm_image *image; /* borrowed from unit */

    struct case_layout layout;
    uint32_t entry, state_at, stub_at;
    uint32_t stack_low, stack_high;                 /* supervisor */
    uint32_t scratch_at[TILE_WORKERS], stack_below; /* bytes of stack below each of these */

    enum case_as as;    /* as in the case; may be changed before case_load */
    uint32_t launch_pc; /* the stub's run, runall or call */
    uint32_t stop_pc;   /* end of the stub */

    uint8_t *mem; /* owned */
    int tile_ready;
    struct tile tile;
    struct code_cache *cache; /* owned */
    struct barrel barrel;

    /* results of case_execute */
    enum barrel_stop stop;
    uint64_t cycles; /* from the issue of run, runall or call; see docs/case_format.md */
};

/* Assembles a case and lays it out for its machine.
 *
 * out    owned by the caller, NULL on failure; free with case_run_free. m must outlive it.
 * Errors EMU_BAD_ASM, EMU_BAD_FILE (m is no case, something does not fit, an unknown symbol),
 * EMU_IO, EMU_NO_MEMORY */
enum emu_status case_build(struct manifest *m, const struct case_options *options,
                           struct case_run **out) EMU_MUST_CHECK;
void case_run_free(struct case_run *r); /* NULL allowed */

/* Fills the tile: code, stub, memories, vertex state, registers. Every register that the case does
 * not set is 0. Errors EMU_BAD_FILE (unknown symbol), EMU_NO_MEMORY. */
enum emu_status case_load(struct case_run *r) EMU_MUST_CHECK;

/* Runs the loaded tile to the end of the stub, a fault or the limit of cycles. */
void case_execute(struct case_run *r);

/* Instructions executed by a worker, by the supervisor (LANE_SUPER), or by all (-1); those of the
 * stub do not count. */
uint64_t case_instructions(const struct case_run *r, int lane);

/* Address of a memory of the case, else of a symbol of the code. 0 if there is none of that name.
 */
int case_symbol(const struct case_run *r, const char *name, size_t len, uint32_t *address);

/* A register by file and number as in struct case_register; lane is a worker or LANE_SUPER. */
uint32_t case_register_get(struct case_run *r, unsigned lane, char file, unsigned number);
void case_register_put(struct case_run *r, unsigned lane, char file, unsigned number, uint32_t v);

/* Values with their addresses filled in; what names them. out has room for manifest_data_bytes().
 * Errors: of program_fill_values(). */
enum emu_status case_values(const struct case_run *r, const struct manifest_data *d,
                            const char *what, uint8_t *out) EMU_MUST_CHECK;

/* Compares with the expectations. differences receives a new JSON array (empty when there are
 * none), owned by the caller. At most CASE_MAX_DIFFERENCES entries are listed, *total counts all.
 */
enum { CASE_MAX_DIFFERENCES = 100 };
enum emu_status case_compare(struct case_run *r, json_t **differences,
                             uint64_t *total) EMU_MUST_CHECK;

/* Outcome of a run with that many differences. */
enum case_status case_verdict(const struct case_run *r, uint64_t differences);

/* Prints the answer as one JSON object. Errors EMU_NO_MEMORY, EMU_IO. */
/* What a loaded tile holds before it runs. Owned by the caller: case_before_free(). EMU_NO_MEMORY.
 */
struct case_before;
enum emu_status case_before_new(struct case_run *r, struct case_before **out) EMU_MUST_CHECK;
void case_before_free(struct case_before *b); /* NULL allowed */

/* For people: how the run ended, the registers and the memory that it changed, f32 beside bits.
 * EMU_IO.
 */
enum emu_status case_print_text(struct case_run *r, const struct case_before *before,
                                const json_t *differences, uint64_t total, FILE *f) EMU_MUST_CHECK;
enum emu_status case_print(struct case_run *r, const json_t *differences, uint64_t total,
                           FILE *f) EMU_MUST_CHECK;

const char *case_status_name(enum case_status s); /* "pass" */
/* What the fault says, of a worker that has left its code also where; a new reference. */
json_t *case_fault_detail(const struct case_run *r);

/* "w3", "s" for a lane. */
const char *case_lane_name(unsigned lane);

#endif
