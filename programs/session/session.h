/* session.h - a machine with the image of a compiled graph: write, run, read. */
#ifndef PROGRAMS_SESSION_H
#define PROGRAMS_SESSION_H

#include "emu/base/api.h"
#include "emu/bsp/machine_superstep.h"
#include "emu/host/host_options.h"
#include "programs/compiler/compiler.h"

SUPERSTEP_API_BEGIN

struct record;
struct run;

struct session_options {
    unsigned threads; /* 0: all cores */
    int plain, check;
    int timing;            /* the timing engine: the same cycles, no values (ss_run_engine()) */
    uint64_t max_cycles;   /* of all runs together: the machine stops there; 0: none */
    int record;            /* keep the bill of every superstep (ss_session_record()) */
    int record_exchanges;  /* and who sends to whom, for profiles */
    uint64_t record_limit; /* of so many supersteps; 0: all */
    int overflow;          /* look for overflows after every superstep, for ss_session_overflow() */
    int ranges;            /* measure the results of every compute step, for ss_session_ranges() */
    FILE *digests;         /* borrowed; NULL: none */
    struct host_options host;
    void (*watch)(
        void *ctx,
        const struct machine_superstep *s); /* called for supersteps of every group; NULL allowed */
    void *watch_ctx;
    /* Of a session of an image: the program that it was compiled from, borrowed as long as the
     * session is there; asked for once, at once for ranges, else when an overflow is seen. NULL:
     * its values are not counted, and there are no ranges. */
    enum emu_status (*program)(void *ctx, const struct compiled **out);
    void *program_ctx;
};

struct session;
/* A machine with the image of c loaded, or a system of several. c is borrowed. EMU_USAGE when the
 * program did not fit. */
enum emu_status ss_session_new(const struct compiled *c, const struct session_options *o,
                               struct session **out) EMU_MUST_CHECK;
/* The same without the program: an image that was compiled earlier, borrowed. There are no
 * variables: inputs and outputs go by name (ss_session_value_write(), ss_session_value_read()),
 * streams by the number that they have in the image. */
enum emu_status ss_session_new_image(const struct image *im, const struct session_options *o,
                                     struct session **out) EMU_MUST_CHECK;
void ss_session_free(struct session *s);
/* Write or read all elements of a kept or initialised view in its order, before or after a run.
 * With the timing engine writing has no effect, and reading is EMU_USAGE. Inputs can only be
 * written, and must be before every run. */
enum emu_status ss_session_write(struct session *s, struct tensor t,
                                 const void *data) EMU_MUST_CHECK;
enum emu_status ss_session_read(struct session *s, struct tensor t, void *data) EMU_MUST_CHECK;
/* The same of a program of several chips: t is a tensor of the graph of chip `chip` modulo the
 * chips of a replica. The functions without a chip are about chip 0 of the system. EMU_USAGE for a
 * chip that the system does not have. */
enum emu_status ss_session_chip_write(struct session *s, unsigned chip, struct tensor t,
                                      const void *data) EMU_MUST_CHECK;
enum emu_status ss_session_chip_read(struct session *s, unsigned chip, struct tensor t,
                                     void *data) EMU_MUST_CHECK;
/* The same by the name of an input or output of the image (image.h): all its bytes. What is an
 * output only can be written, too: what lies there between runs. An input that holds nothing must
 * be written before the first run of an image with values. EMU_USAGE for a name that the image does
 * not have; EMU_BAD_IMAGE for another number of bytes, and for reading what is no output. */
enum emu_status ss_session_value_write(struct session *s, const char *name, const void *data,
                                       uint64_t bytes) EMU_MUST_CHECK;
enum emu_status ss_session_value_read(struct session *s, const char *name, void *data,
                                      uint64_t bytes) EMU_MUST_CHECK;
/* Makes what ss_session_write() has written since the last run inputs of the image
 * (emu/load/image.h): whole variables, under their names, with what they hold. The image file then
 * runs like this session. What several chips of the program have is called NAME@CHIP. s is a
 * session of c. EMU_BAD_IMAGE when two of them have the same name, EMU_USAGE when replicas hold
 * different ones, EMU_NO_MEMORY.
 */
enum emu_status ss_session_image_inputs(struct session *s, struct compiled *c) EMU_MUST_CHECK;
/* The number of a stream: that of the graph, and in the image; of another chip than chip 0 of the
 * system, chip * SESSION_CHIP_STREAMS more. *stream is of the first chip that has one. EMU_USAGE,
 * with the names that there are, for one that there is not. */
enum { SESSION_CHIP_STREAMS = 8192 };
enum emu_status ss_session_stream_find(const struct session *s, const char *name,
                                       uint32_t *stream) EMU_MUST_CHECK;
/* Like ss_interpreter_feed() and ss_interpreter_output(). EMU_BAD_IMAGE for a stream of which the
 * image does not say what a transfer carries: of no compiled program, or an old one. */
enum emu_status ss_session_feed(struct session *s, uint32_t stream, const void *data,
                                uint64_t transfers) EMU_MUST_CHECK;
enum emu_status ss_session_output(struct session *s, uint32_t stream, void **data,
                                  uint64_t *transfers) EMU_MUST_CHECK; /* *data: ss_free it */
/* The other end of a stream, transfer by transfer, so that a stream may be longer than memory.
 * Calls come from ss_session_run(), in the order of transfers; an error from a call ends the run
 * with that error. */
struct session_moment {
    uint64_t issued, begun, here; /* cycles: first request; first bytes, and last ones, arrived */
};
struct session_calls {
    void *ctx;
    /* Stream in: fill data with transfer n = 0, 1 .., the elements of its tensor in order; return
     * EMU_FAULT with a message when there is none. Stream out: take transfer n from data. Data is
     * borrowed for the call.
     */
    enum emu_status (*transfer)(void *ctx, uint64_t n, void *data);
    /* Transfer n is complete (stream out: transfer() comes next). NULL allowed. */
    void (*arrived)(void *ctx, uint64_t n, const struct session_moment *when);
};
/* Connects a stream to calls, instead of ss_session_feed() or ss_session_output(). Call it before
 * the first run; c is copied. */
enum emu_status ss_session_connect(struct session *s, uint32_t stream,
                                   const struct session_calls *c) EMU_MUST_CHECK;
/* Runs the program once. EMU_FAULT: the machine faulted or hangs, or came
 * to max_cycles; ss_error() says where. */
enum emu_status ss_session_run(struct session *s) EMU_MUST_CHECK;
uint64_t ss_session_cycles(const struct session *s); /* of all runs so far, and all chips */
/* Where arithmetic on finite numbers first gave a result that its type cannot hold (f16: it was
 * clipped, or became NaN; f32: infinity): the exception OFLO. */
struct session_overflow {
    uint64_t superstep; /* of sync group 0, from 0: the first at whose end it was seen */
    uint32_t tiles;     /* that had one by then; 0: no overflow */
    uint64_t values; /* numbers of f16 that the codelets of this superstep left there which are at
                      * the end of its range or no numbers; 0: the overflow was within codelets */
};
/* The first overflow of all runs so far, if session_options.overflow is set. */
struct session_overflow ss_session_overflow(const struct session *s);
/* Each of these functions about chip 0 has one for another chip of the system, with its supersteps
 * and steps; of a chip that there is not, nothing was seen. */
struct session_overflow ss_session_chip_overflow(const struct session *s, unsigned chip);
/* The numbers of f16 that a step of ss_compiled_trace() left in memory. */
struct session_range {
    uint64_t numbers, saturated; /* saturated: at the end of the range, or no numbers */
    uint16_t largest;            /* bits of the largest magnitude of those that are numbers */
};
/* Where a division by 0, an operation without a result, or one beyond the range first left NaN or
 * infinity in memory. What was none before, such as an input, raises no exception. */
struct session_not_finite {
    uint64_t superstep;     /* of sync group 0, from 0 */
    uint64_t nan, infinite; /* numbers that the codelets of this superstep left; both 0: none was
                             * seen */
};
/* Of all runs so far, if session_options.overflow is set. */
struct session_not_finite ss_session_not_finite(const struct session *s);
struct session_not_finite ss_session_chip_not_finite(const struct session *s, unsigned chip);
/* By superstep of sync group 0, of the first *supersteps of them: the tiles that had their first
 * overflow then; NULL as long as there was none. Borrowed. */
const uint32_t *ss_session_overflow_tiles(const struct session *s, size_t *supersteps);
const uint32_t *ss_session_chip_overflow_tiles(const struct session *s, unsigned chip,
                                               size_t *supersteps);
/* The superstep of a step of ss_session_ranges(). */
uint64_t ss_session_range_superstep(const struct session *s, size_t step);
uint64_t ss_session_chip_range_superstep(const struct session *s, unsigned chip, size_t step);
/* By step of ss_compiled_trace(), of all runs together; *steps: how many. NULL unless
 * session_options.ranges is set, with values. Borrowed. */
const struct session_range *ss_session_ranges(const struct session *s, size_t *steps);
const struct session_range *ss_session_chip_ranges(const struct session *s, unsigned chip,
                                                   size_t *steps);
/* What every superstep cost, for bill.h; borrowed. Empty unless session_options.record is set. */
const struct record *ss_session_record(const struct session *s);
struct run *
ss_session_run_image(struct session *s); /* borrowed; for ss_run_report() (run_file.h) */
struct graph *ss_session_graph(const struct session *s); /* the graph that was compiled; NULL of
                                                         an image alone; borrowed */

SUPERSTEP_API_END

#endif
