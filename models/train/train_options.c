/* train_options.c - what changes the results of a training, in words. */
#include "models/train/train_options.h"
#include "models/ask/model_request.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What is read of the command line. */
OPTION_READ(WORD, partials)
OPTION_READ(REAL, average)

/* One more line. */
EMU_PRINTF(2, 3) static void add(char *out, const char *fmt, ...)
{
    size_t n = strlen(out);
    va_list args;

    va_start(args, fmt);
    vsnprintf(out + n, TRAINING_OPTIONS - n, fmt, args);
    va_end(args);
}

static void add_real(char *out, const char *name, double v)
{
    add(out, "%s=%.15g\n", name, v);
}

static void add_schedule(const struct train_schedule *s, char *out)
{
    static const char *const kind[] = { [SCHEDULE_COSINE] = "cosine",
                                        [SCHEDULE_CONSTANT] = "constant",
                                        [SCHEDULE_STEP] = "step",
                                        [SCHEDULE_EXPONENTIAL] = "exponential",
                                        [SCHEDULE_POLYNOMIAL] = "polynomial" };

    add_real(out, "--rate", s->rate);
    add(out, "--schedule=%s\n", kind[s->kind]);
    add_real(out, "--warmup", (double)s->warmup);
    add_real(out, "--rate-steps", (double)s->every);
    add_real(out, "--rate-factor", s->factor);
}

static void add_optimiser(const struct train_optimiser *o, char *out)
{
    add(out, "--optimiser=%s\n", o->method);
    add_real(out, "--momentum", o->alpha);
    add_real(out, "--decay", o->decay);
    add_real(out, "--dropout", o->drop.dropout);
    add_real(out, "--drop-connect", o->drop.drop_connect);
}

char *training_options(const struct training *t, char out[TRAINING_OPTIONS])
{
    char pictures[PICTURES_TEXT];

    out[0] = '\0';
    add(out, "the network=%.512s\n", t->q->what);
    add_real(out, "--classes", t->source.shape.classes);
    add_real(out, "pictures of --data", t->data ? (double)t->data->samples : 0);
    add(out, "what is done to pictures=%s\n", train_pictures_text(&t->prepared, 0, pictures));
    add_real(out, "--batch", t->source.shape.batch);
    add_real(out, "--seed", (double)t->at.seed);
    add_real(out, "--accumulate", t->accumulate);
    add_optimiser(&t->optimiser, out);
    add_schedule(&t->schedule, out);
    add_real(out, "--loss-scale", t->loss_scale);
    add(out, "a dynamic --loss-scale=%s\n", t->dynamic_scale ? "on" : "off");
    add_real(out, "--smoothing", t->smoothing);
    add_real(out, "--average", option_average(t->q));
    add(out, "--format=%s\n", train_format_text(t->q));
    add(out, "--partials=%s\n", option_partials(t->q) ? "f32" : "f16");
    add_real(out, "--io-tiles", t->link.io_tiles); /* which tile has which parameter follows */
    return out;
}
