/* program_ports.h - variables and streams of a program by name: numbers from .npy files before a
 * run, and to files and the answer after it.
 */
#ifndef PROGRAMS_PROGRAM_PORTS_H
#define PROGRAMS_PROGRAM_PORTS_H

#include "emu/cli/request.h"
#include "emu/emu.h"
#include "programs/compiler/graph_file.h"
#include "programs/session/session.h"

/* The graphs of the chips of a replica, in their order. A port is called NAME; of a system of
 * several chips NAME@CHIP, with the chip of the system. NAME alone is that of the only chip of the
 * program that has it; --input writes it in all replicas. */
struct program_graphs {
    struct graph **g; /* owned: ss_graphs_free() */
    unsigned chips;
};

/* The files of --save, opened before the work; free with port_files_close, also after an error. */
struct port_files {
    struct output_file **save; /* owned: by option_save(q); NULL: in its place, or not wanted */
    size_t saves;
    const struct program_graphs *g; /* borrowed: port_files_check() */
};
enum emu_status port_files_open(const struct request *q, struct port_files *f) EMU_MUST_CHECK;
void port_files_close(struct port_files *f);
/* Whether all names of --save are those of variables and streams of g that the host may read; g is
 * borrowed until port_files_close(). */
enum emu_status port_files_check(const struct request *q, const struct program_graphs *g,
                                 struct port_files *f) EMU_MUST_CHECK;
/* After a run. EMU_USAGE names a variable that is not there, with those that are; EMU_IO. */
enum emu_status port_files_write(const struct request *q, struct session *s,
                                 struct port_files *f) EMU_MUST_CHECK;

/* What --input gives to a session; zero it before use, free it after the run. */
struct port_inputs {
    void **fed; /* owned list: what streams are fed with, by q->input; NULL: nothing */
    size_t count;
};
/* Before a run: writes and feeds what --input names; inputs that it does not name become 0. Errors:
 * EMU_USAGE (no such variable; a stream without numbers, if the session is to run), EMU_BAD_FILE
 * (another shape, a number that the type does not hold). */
enum emu_status port_inputs_write(const struct request *q, struct session *s,
                                  const struct program_graphs *g,
                                  struct port_inputs *in) EMU_MUST_CHECK;
void port_inputs_free(struct port_inputs *in);

/* After a run: the first numbers of all that the host may read, into the answer. */
enum emu_status ports_answer(const struct request *q, struct session *s,
                             const struct program_graphs *g, json_t *answer) EMU_MUST_CHECK;

#endif
