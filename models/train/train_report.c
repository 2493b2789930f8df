/* train_report.c - the output of a training: lines of progress, one line for each epoch, the
 * answer. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu/base/json_text.h"
#include "emu/base/output_file.h"
#include "emu/cli/commands.h"
#include "emu/job/run_image.h"
#include "models/answer/model_report.h"
#include "models/ask/model_request.h"
#include "models/train/training.h"
#include "programs/cli/program_request.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(FLAG, quiet)
OPTION_READ(FLAG, json)
OPTION_READ(FLAG, report)

static double per_step(const struct training *t)
{
    return t->steps_run ? t->host_seconds / (double)t->steps_run : 0;
}

static double cycles_of_step(const struct training *t)
{
    return t->steps_run ? (double)ss_session_cycles(t->chip.system.session) / (double)t->steps_run
                        : 0;
}

/* Pictures a second of the chip. */
static double chip_rate(const struct training *t)
{
    double cycles = cycles_of_step(t);

    return cycles > 0
               ? (double)t->chip.batches * t->source.shape.batch * 1e6 * t->arch.clock_mhz / cycles
               : 0;
}

/* ---- while it runs ---- */

/* At most one line a second, and at a terminal only one that is written again and again. */
void training_tell_step(const struct training *t)
{
    static time_t last;
    const struct train_row *r = &t->log.row[t->log.rows - 1];
    uint64_t all = t->schedule.steps < t->steps_max ? t->schedule.steps : t->steps_max;
    uint64_t left = all > t->at.steps ? all - t->at.steps : 0;

    if (option_quiet(t->q) || time(NULL) == last)
        return;
    last = time(NULL);
    fprintf(stderr,
            "%sstep %" PRIu64 " of %" PRIu64 "  epoch %.0f  loss %.4f  accuracy %.1f %%  rate %.4g"
            "  %s cycles  %.2f s a step, %.0f s to go%s",
            isatty(STDERR_FILENO) ? "\r\033[K" : "", t->at.steps, all, r->epoch, r->loss,
            100 * r->accuracy, r->rate, count_text((uint64_t)r->cycles).at, per_step(t),
            per_step(t) * (double)left, isatty(STDERR_FILENO) ? "" : "\n");
}

void training_tell_epoch(const struct training *t, double epoch)
{
    struct train_row r = train_log_epoch(&t->log, epoch, 0);
    struct train_row test = train_log_epoch(&t->log, epoch, 1);

    if (option_quiet(t->q))
        return;
    fprintf(stderr, "%sepoch %.0f of %" PRIu64 ": loss %.4f, accuracy %.2f %%",
            isatty(STDERR_FILENO) ? "\r\033[K" : "", epoch, t->epochs, r.loss, 100 * r.accuracy);
    if (test.pictures > 0)
        fprintf(stderr, "; test: loss %.4f, accuracy %.2f %%", test.loss, 100 * test.accuracy);
    fputc('\n', stderr);
}

/* ---- files ---- */

static void write_curve(const struct training *t, struct output_file *out)
{
    const char *path = output_path(out);
    char title[512];

    if (!strcmp(strrchr(path, '.'), ".csv")) {
        train_log_csv(&t->log, output_stream(out));
        return;
    }
    snprintf(title, sizeof(title), "%.80s: %" PRIu64 " steps of %u pictures on %s", t->q->what,
             t->at.steps, t->source.shape.batch, ss_arch_title(&t->arch).at);
    train_log_svg(&t->log, title, output_stream(out));
}

static void finish(struct training *t, struct output_file **out, enum emu_status s)
{
    if (output_finish(out, s) == EMU_OK)
        return;
    fprintf(stderr, "superstep train: %s\n", ss_error());
    t->code = EXIT_PARTIAL;
}

void training_write_files(struct training *t)
{
    if (t->parameters)
        finish(t, &t->parameters, train_parameters_write(&t->chip, &t->average, t->parameters));
    if (t->gradients)
        finish(t, &t->gradients, train_gradients_write(&t->chip, t->gradients));
    for (unsigned k = 0; k < TRAINING_CURVES; k++) {
        if (!t->curve[k])
            continue;
        write_curve(t, t->curve[k]);
        finish(t, &t->curve[k], EMU_OK);
    }
}

/* ---- the answer ---- */

static void print_epochs(const struct training *t, FILE *f)
{
    enum { SHOWN = 12 };
    double first = t->epochs > SHOWN ? (double)t->epochs - SHOWN + 1 : 1;

    if (!t->log.rows)
        return;
    fprintf(f, "\n  epoch        loss  accuracy   test loss  accuracy        rate\n");
    for (double e = first; e <= (double)t->epochs; e++) {
        struct train_row r = train_log_epoch(&t->log, e, 0);
        struct train_row test = train_log_epoch(&t->log, e, 1);

        if (r.pictures <= 0)
            continue;
        fprintf(f, "  %5.0f  %10.4f  %6.2f %%", e, r.loss, 100 * r.accuracy);
        if (test.pictures > 0)
            fprintf(f, "  %10.4f  %6.2f %%", test.loss, 100 * test.accuracy);
        else
            fprintf(f, "  %10s  %8s", "-", "-");
        fprintf(f, "  %10.4g\n", r.rate);
    }
}

static uint64_t number(const json_t *o, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(o, key));
}

static void print_memory(const struct training *t, FILE *f)
{
    json_t *o = memory_facts_json(&t->chip.system.memory);
    uint64_t most = number(o, "max_tile_bytes");

    fprintf(f,
            "memory      the fullest tile has %s of %s bytes (%.1f %%) in use, and needs %s to "
            "fit\n",
            count_text(most).at, count_text(t->arch.mem_bytes).at,
            100.0 * (double)most / t->arch.mem_bytes, count_text(number(o, "need_bytes")).at);
    json_decref(o);
}

static void print_passes(const struct training *t, FILE *f)
{
    const struct train_bill *b = &t->bill;

    if (!b->cycles)
        return;
    fprintf(f, "\n  pass                       cycles  of all    exchange     compute  supersteps"
               "  bytes, fullest tile\n");
    for (unsigned k = 0; k < PASSES; k++) {
        const struct pass_bill *p = &b->pass[k];

        if (p->supersteps)
            fprintf(f, "  %-19s %13s  %4.1f %%  %10s  %10s  %10s  %19s\n",
                    train_pass_name((enum train_pass)k), count_text(p->cycles).at,
                    100.0 * (double)p->cycles / (double)b->cycles, count_text(p->exchange).at,
                    count_text(p->compute).at, count_text(p->supersteps).at,
                    count_text(p->max_tile_bytes).at);
    }
    fprintf(f, "  %-19s %13s\n", t->steps_run > 1 ? "the first step" : "step",
            count_text(b->cycles).at);
}

static json_t *passes_json(const struct training *t)
{
    json_t *all = json_array();

    for (unsigned k = 0; all && k < PASSES && t->bill.cycles; k++) {
        const struct pass_bill *p = &t->bill.pass[k];

        if (json_array_append_new(
                all, json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "pass",
                               train_pass_name((enum train_pass)k), "cycles", (json_int_t)p->cycles,
                               "exchange", (json_int_t)p->exchange, "compute",
                               (json_int_t)p->compute, "supersteps", (json_int_t)p->supersteps,
                               "max_tile_bytes", (json_int_t)p->max_tile_bytes))) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

/* The pictures, and what is done to them. */
static void print_data(const struct training *t, FILE *f)
{
    char text[PICTURES_TEXT];

    if (!t->data)
        return;
    fprintf(f, "data        %s: %s pictures, %s to test with\n", t->data->format,
            count_text(t->data->samples).at,
            t->test_data ? count_text(t->test_data->samples).at : "none");
    fprintf(f, "training    %s\n", train_pictures_text(&t->prepared, 0, text));
    if (t->test_data)
        fprintf(f, "testing     %s\n", train_pictures_text(&t->prepared, 1, text));
}

static void print_text(const struct training *t, FILE *f)
{
    const struct train_shape *s = &t->source.shape;
    char link[LINK_TEXT], engine[RUN_ENGINE_TEXT], digest[SYSTEM_DIGEST_TEXT];

    fprintf(f, "network     %s, %u classes, batches of %u, %s\n", t->q->what, s->classes, s->batch,
            train_format_text(t->q));
    if (t->accumulate > 1)
        fprintf(f, "accumulated %u of these batches a step, in a loop on the chip\n",
                t->accumulate);
    fprintf(f, "machine     %s, %s tiles at %u MHz\n", ss_arch_title(&t->arch).at,
            count_text(t->arch.tiles).at, t->arch.clock_mhz);
    fprintf(f, "optimiser   %s, rate %g, momentum %g, decay %g, loss scale %g%s\n",
            t->optimiser.method, t->schedule.rate, t->optimiser.alpha, t->optimiser.decay,
            t->chip.loss_scale.now, t->dynamic_scale ? " now" : "");
    if (t->chip.skipped)
        fprintf(f, "skipped     %" PRIu64 " steps: gradients beyond f16, or no numbers\n",
                t->chip.skipped);
    print_data(t, f);
    fprintf(f, "link        %s\n", train_link_text(&t->link, link));
    if (t->source.precision.nodes)
        fprintf(f,
                "precision   %u nodes of the network, and their gradients, are in f32: f16 would "
                "get them wrong\n",
                t->source.precision.nodes);
    print_memory(t, f);
    ss_run_engine_text(system_machine(&t->chip.system), engine);
    fprintf(f, "engine      %s\n", engine);
    system_digest_text(&t->chip.system, digest);
    fprintf(f, "digest      %s\n", digest);
    if (t->steps_run)
        fprintf(f, "a step      %s cycles, %.3f ms: %.0f pictures/s; host: %.3f s\n",
                count_text((uint64_t)cycles_of_step(t)).at,
                cycles_of_step(t) / (1e3 * t->arch.clock_mhz), chip_rate(t), per_step(t));
    print_passes(t, f);
    print_epochs(t, f);
    if (t->batches.bads + t->test_batches.bads)
        fprintf(f, "\nleft out    %" PRIu64 " pictures that cannot be read\n",
                t->batches.bads + t->test_batches.bads);
    if (t->log.rows)
        fprintf(f, "\n%" PRIu64 " of %" PRIu64 " steps done%s\n", t->at.steps, t->schedule.steps,
                t->at.steps < t->schedule.steps ? "; the training is not at its end" : "");
}

static json_t *epoch_json(const struct training *t, double e, int test)
{
    struct train_row r = train_log_epoch(&t->log, e, test);

    return r.pictures > 0 ? json_pack("{s:f, s:f, s:i}", "loss", r.loss, "accuracy", r.accuracy,
                                      "pictures", (int)r.pictures)
                          : json_null();
}

static json_t *pictures_json(const struct training *t)
{
    char training[PICTURES_TEXT], testing[PICTURES_TEXT];

    return t->data
               ? json_pack("{s:s, s:s, s:s}", "augment", train_augment_name(t->prepared.augment),
                           "training", train_pictures_text(&t->prepared, 0, training), "testing",
                           train_pictures_text(&t->prepared, 1, testing))
               : json_null();
}

static enum emu_status print_json(const struct training *t, FILE *f)
{
    json_t *epochs = json_array();
    char engine[RUN_ENGINE_TEXT], digest[SYSTEM_DIGEST_TEXT];
    json_t *o = json_pack(
        "{s:o, s:s, s:i, s:i, s:s, s:s, s:f, s:f, s:I, s:I, s:I, s:f, s:f, s:f}", "network",
        json_text(t->q->what), "machine", t->arch.name, "batch", (int)t->source.shape.batch,
        "classes", (int)t->source.shape.classes, "format", train_format_text(t->q), "optimiser",
        t->optimiser.method, "rate", t->schedule.rate, "loss_scale", t->chip.loss_scale.now,
        "skipped", (json_int_t)t->chip.skipped, "steps", (json_int_t)t->at.steps, "steps_of_all",
        (json_int_t)t->schedule.steps, "cycles_per_step", cycles_of_step(t), "pictures_per_second",
        chip_rate(t), "host_seconds_per_step", per_step(t));
    int bad = !o || !epochs;

    ss_run_engine_text(system_machine(&t->chip.system), engine);
    system_digest_text(&t->chip.system, digest);
    for (double e = 1; !bad && e <= (double)t->epochs; e++) {
        if (train_log_epoch(&t->log, e, 0).pictures > 0)
            bad = json_array_append_new(epochs, json_pack("{s:i, s:o, s:o}", "epoch", (int)e,
                                                          "train", epoch_json(t, e, 0), "test",
                                                          epoch_json(t, e, 1)));
    }
    bad = bad || json_object_set(o, "epochs", epochs) ||
          json_object_set_new(o, "passes", passes_json(t)) ||
          json_object_set_new(o, "machine_changes", ss_arch_changes(&t->arch)) ||
          json_object_set_new(o, "engine", json_string(engine)) ||
          json_object_set_new(o, "digest", json_string(digest)) ||
          json_object_set_new(o, "prepared", pictures_json(t)) ||
          json_object_set_new(o, "f32_nodes", json_integer(t->source.precision.nodes)) ||
          json_object_set_new(o, "clamped_constants", model_clamped_json(&t->source.precision)) ||
          json_object_set_new(o, "accumulate", json_integer(t->accumulate)) ||
          json_object_set_new(o, "io_tiles", json_integer(t->link.io_tiles)) ||
          json_object_set_new(o, "input_type", json_string(ss_elem_name(t->link.pixels.elem))) ||
          json_object_set_new(o, "memory", memory_facts_json(&t->chip.system.memory));
    if (!bad)
        ss_run_print_json(o, f);
    json_decref(epochs);
    json_decref(o);
    return bad ? FAIL(NO_MEMORY, "the answer") : EMU_OK;
}

enum emu_status training_report(struct training *t, FILE *f)
{
    if (t->steps_run && !t->chip.skipped)
        train_bill_of(&t->passes, ss_session_record(t->chip.system.session), &t->bill);
    if (isatty(STDERR_FILENO) && !option_quiet(t->q))
        fputs("\r\033[K", stderr);
    if (option_json(t->q))
        return print_json(t, f);
    if (option_report(t->q))
        memory_facts_print(&t->chip.system.memory, f);
    print_text(t, f);
    return EMU_OK;
}
