/* program_request.h - what a request means for compiling and running, the same for programs and
 * networks; and what it means for named programs.
 */
#ifndef PROGRAMS_PROGRAM_REQUEST_H
#define PROGRAMS_PROGRAM_REQUEST_H

#include "emu/base/nearest.h"
#include "emu/cli/commands.h"
#include "emu/cli/request_profile.h"
#include "emu/emu.h"
#include "programs/cli/program_options.h"
#include "programs/programs.h"

/* The options of the compiler: --exchange, --threads, --quiet; and those of a session: --threads,
 * --check, --plain. */
enum { PROFILE_SUPERSTEPS = 5000 }; /* that a profile of many runs keeps */
struct compile_options compile_options_of(const struct request *q);
struct session_options session_options_of(const struct request *q);

/* What the memory of the tiles is for: JSON with --json, everything with --report or when the
 * program fits, else one screen about what is missing. EMU_NO_MEMORY. */
enum emu_status program_print_memory(const struct request *q, const struct compiled *c,
                                     FILE *f) EMU_MUST_CHECK;
/* The answer for a program that does not fit: that, after a word on stderr about each file that is
 * not written. *code: the exit code, which --allow-oom changes. */
enum emu_status program_out_of_memory(const struct request *q, const struct compiled *c, FILE *f,
                                      int *code) EMU_MUST_CHECK;
/* And the profile of it. add: more rows, as in struct profile_extras; NULL: none. */
enum emu_status program_profile_unfit(const struct request *q, const struct compiled *c,
                                      enum emu_status (*add)(void *ctx, struct profile *p),
                                      void *ctx, struct profile_files *f) EMU_MUST_CHECK;
/* Says on stderr which files are not written, because only a program that fits has them. */
void program_note_unwritten(const struct request *q);

/* Adds the rows of a compiled program: its steps in order, its variables and their lifetimes. Only
 * EMU_NO_MEMORY: what is not known is left out. */
enum emu_status program_profile_rows(struct profile *p, const struct compiled *c) EMU_MUST_CHECK;
/* The same rows as bytes, and back, into an empty profile before anything else. *data: ss_free it.
 * EMU_NO_MEMORY; EMU_BAD_FILE: the bytes are none. */
enum emu_status program_profile_pack(const struct compiled *c, void **data,
                                     size_t *bytes) EMU_MUST_CHECK;
enum emu_status program_profile_unpack(struct profile *p, const void *data,
                                       size_t bytes) EMU_MUST_CHECK;
/* What overflowed in a run, superstep by superstep. layer: as in struct profile_chip. */
enum emu_status program_profile_overflows(struct profile *p, const struct session *s,
                                          const uint32_t *layer, size_t layers) EMU_MUST_CHECK;
/* Writes the profile of a named program's run: request_profile(). */
enum emu_status program_profile(const struct request *q, const struct compiled *c,
                                struct session *s, struct profile_files *f) EMU_MUST_CHECK;

/* `superstep step` of a compiled program in a session with its inputs: the names of its supersteps
 * are those of the steps that compute in them, or that exchange. Errors: step_session(). */
enum emu_status program_step(const struct request *q, const struct compiled *c, struct session *s,
                             int *code) EMU_MUST_CHECK;

/* The program of a name; NULL if none of the tables has it. A NULL ends the list of tables. */
const struct named_program *program_find(const char *name,
                                         const struct named_program *const *const *tables);
/* Tries the names of all of them. */
void program_nearest(struct nearest *s, const struct named_program *const *const *tables);

/* For struct command, of the program q->known. */
int program_is_parameter(const struct request *q, const char *name, size_t length);
void program_print_parameters(const struct request *q, FILE *f);

/* The values of the parameters, with those that -D sets. value: [PROGRAM_MAX_PARAMS]. EMU_USAGE
 * names the one that is wrong. */
enum emu_status program_values(const struct request *q, uint64_t *value) EMU_MUST_CHECK;

/* A value of parameter k as users write it: a number or a word. */
enum { PROGRAM_VALUE_TEXT = 64 };
void program_value_text(const struct named_program *n, unsigned k, uint64_t value,
                        char text[PROGRAM_VALUE_TEXT]);

/* Runs or compiles q->known. Returns the exit code. */
int program_run(const struct request *q);

#endif
