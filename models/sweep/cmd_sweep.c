/* cmd_sweep.c - `superstep sweep`. */
#include "models/sweep/cmd_sweep.h"

#include <stdio.h>

#include "emu/base/output_file.h"
#include "emu/cli/commands.h"
#include "emu/cli/interrupt.h"
#include "emu/job/run_file.h"
#include "emu/profile/sweep_page.h"
#include "emu/profile/sweep_report.h"
#include "models/ask/model_request.h"
#include "models/sweep/sweep_mpi.h"
#include "models/sweep/sweep_pool.h"

/* What is read of the command line. */
OPTION_READ(NUMBER, threads)
OPTION_READ(WORD, engine)
OPTION_READ(FLAG, check)
OPTION_READ(FLAG, quiet)
OPTION_READ(FLAG, json)
OPTION_READ(TEXT, html)
OPTION_READ(TEXT, output)
OPTION_READ(LIST, vary)
OPTION_READ(TEXT, points)

static enum emu_status print_json(struct profile *p)
{
    json_t *o;

    TRY(sweep_report_json(p, &o));
    ss_run_print_json(o, stdout);
    json_decref(o);
    return EMU_OK;
}

/* The last screen, and the page. */
static enum emu_status print_answer(const struct request *q, struct profile *p,
                                    struct output_file *page)
{
    if (page)
        TRY(sweep_page_write(p, output_stream(page)));
    return option_json(q) ? print_json(p) : sweep_report(p, stdout);
}

static enum emu_status run_file(const struct request *q, struct sweep_file *f, int *code)
{
    uint32_t given_up;

    if (f->dones && !option_quiet(q))
        fprintf(stderr, "superstep sweep: %u of %u points are done already\n", f->dones,
                f->sweep->axes.points);
    TRY(sweep_pool_run(f, &given_up));
    *code = given_up ? EXIT_PARTIAL : EXIT_RAN;
    if (given_up)
        fprintf(stderr,
                "superstep sweep: %u points are left, whose processes died or had no memory or "
                "file; the "
                "same command tries them again\n",
                given_up);
    return EMU_OK;
}

static enum emu_status manage(const struct request *q, const struct sweep *s,
                              struct output_file **page, int *code)
{
    struct sweep_file f;
    enum emu_status st = sweep_file_open(s, &f);

    interrupt_catch("superstep sweep: interrupted; the same command goes on from here\n");
    if (st == EMU_OK)
        st = run_file(q, &f, code);
    if (st == EMU_OK)
        st = output_finish(page, print_answer(q, f.store, *page));
    sweep_file_close(&f);
    return st;
}

/* Every rank reads the command line; the first one has the file. */
static enum emu_status sweep_all(const struct request *q, struct output_file **page, int *code)
{
    struct sweep s;
    enum emu_status st = sweep_new(q, &s);

    if (st == EMU_OK && sweep_mpi_rank()) {
        st = sweep_mpi_relay(&s, option_threads(q) ? (unsigned)option_threads(q) : 1);
        *code = st == EMU_OK ? EXIT_RAN : EXIT_BAD;
    } else if (st == EMU_OK) {
        st = manage(q, &s, page, code);
    }
    sweep_free(&s);
    return st;
}

static enum emu_status answer(const struct request *q, int *code)
{
    struct output_file *page = NULL;
    enum emu_status st;

    if (!option_output(q))
        return FAIL(USAGE, "a sweep is kept in a database: -o FILE.db");
    if (!option_vary(q)->count && !option_points(q))
        return FAIL(USAGE, "nothing is varied: --vary NAME=V1,V2,.. or --points FILE.csv");
    if (option_check(q) && option_engine(q))
        return FAIL(USAGE, "--check needs values, and a sweep has them with --engine values only");
    if (sweep_mpi_asked())
        TRY(sweep_mpi_begin());
    if (!sweep_mpi_rank()) {
        TRY(output_not_input(option_html(q), option_output(q)));
        TRY(output_not_input(option_output(q), option_points(q)));
        TRY(output_open(option_html(q), &page));
    }
    st = sweep_all(q, &page, code);
    output_discard(page);
    return st;
}

int cmd_sweep(const struct request *q)
{
    struct request timing = *q;
    int code = EXIT_BAD;

    if (!request_has(q, OPTION_engine))
        timing.value[OPTION_WORD_engine].word = 1;
    if (answer(&timing, &code) != EMU_OK && !sweep_mpi_rank())
        request_failed(q, NULL);
    sweep_mpi_end();
    return code;
}
