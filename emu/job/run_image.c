/* run_image.c - an image, a machine and a host together, from loading to the last host sync. */
#include "emu/job/run_image.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/json_read.h"
#include "emu/job/run_check.h"
#include "emu/job/run_in_memory.h"

static size_t find_stream(const struct image *im, uint32_t id)
{
    size_t i = 0;

    while (i < image_stream_count(im) && image_stream_at(im, i)->id != id)
        i++;
    return i;
}

static enum emu_status run_open(struct run *r)
{
    const struct arch *a = ss_image_arch(r->im);
    const struct record_options record = { .exchanges = r->options.record_exchanges,
                                           .supersteps = r->options.record_limit };
    struct machine_options mo = { .threads = r->options.threads,
                                  .plain = r->options.plain,
                                  .check = r->options.check,
                                  .watch = r->options.watch,
                                  .watch_ctx = r->options.watch_ctx };

    TRY(record_new(a->tiles, &record, &r->record));
    if (r->options.digests)
        TRY(digests_new(a, r->options.digests, &r->digests));
    mo.record = r->options.unrecorded ? NULL : r->record;
    mo.digests = r->digests;
    if (r->options.engine == ENGINE_TIMING && !image_timing_obstacle(r->im))
        TRY(replay_new(a->tiles, &r->replay));
    mo.replay = r->replay;
    TRY(machine_new(a, &mo, &r->machine));
    TRY(image_load(r->im, r->machine));
    if (r->options.check)
        TRY(run_check_begin(r));
    if (!image_stream_count(r->im))
        return EMU_OK;
    r->data = emu_alloc(image_stream_count(r->im), sizeof(*r->data));
    if (!r->data)
        return FAIL(NO_MEMORY, "the streams of a run");
    TRY(host_new(a, &r->options.host, &r->host));
    host_attach(r->host, r->machine);
    return EMU_OK;
}

enum emu_status ss_run_new(const struct image *im, const struct run_options *o, struct run **out)
{
    const struct run_options plain = { .threads = 0 };
    struct run *r;
    enum emu_status s;

    *out = NULL;
    if (!im)
        return FAIL(BAD_IMAGE, "there is no image: im is NULL, as of a program that does not fit");
    r = emu_alloc(1, sizeof(*r));
    if (!r)
        return FAIL(NO_MEMORY, "a run");
    r->im = im;
    r->options = o ? *o : plain;
    s = run_open(r);
    if (s != EMU_OK) {
        ss_run_free(r);
        return s;
    }
    *out = r;
    return EMU_OK;
}

void ss_run_free(struct run *r)
{
    if (!r)
        return;
    machine_free(r->machine);
    replay_free(r->replay);
    host_free(r->host);
    record_free(r->record);
    digests_free(r->digests);
    for (size_t i = 0; r->data && i < image_stream_count(r->im); i++)
        ss_free(r->data[i]);
    ss_free(r->data);
    ss_free(r->written);
    ss_free(r->error);
    ss_free(r);
}

enum run_engine ss_run_engine(const struct run *r, const char **why)
{
    *why = r && r->options.engine == ENGINE_TIMING ? image_timing_obstacle(r->im) : NULL;
    return r && r->replay ? ENGINE_TIMING : ENGINE_VALUES;
}

int ss_run_has_values(const struct run *r)
{
    return r && !r->replay;
}

void ss_run_engine_note(const struct run *r, char text[RUN_ENGINE_TEXT])
{
    const char *why, *usual = r ? image_note(r->im, IMAGE_NOTE_USUAL) : NULL;

    *text = '\0';
    if (ss_run_engine(r, &why) == ENGINE_TIMING && usual)
        snprintf(text, RUN_ENGINE_TEXT, "takes the usual side of %s", usual);
    else if (why)
        snprintf(text, RUN_ENGINE_TEXT, "cycles depend on %s", why);
}

void ss_run_engine_text(const struct run *r, char text[RUN_ENGINE_TEXT])
{
    char note[RUN_ENGINE_TEXT];
    const char *why;

    snprintf(text, RUN_ENGINE_TEXT, "%s",
             ss_run_engine(r, &why) == ENGINE_TIMING ? "timing" : "values");
    ss_run_engine_note(r, note);
    if (*note)
        snprintf(text + strlen(text), RUN_ENGINE_TEXT - strlen(text), " (%s)", note);
}

/* ---- streams ---- */

static enum emu_status stream_of(const struct run *r, uint32_t id, const struct image_stream **out)
{
    size_t i = find_stream(r->im, id);

    if (i == image_stream_count(r->im))
        return FAIL(USAGE, "the image has no stream %u", id);
    *out = image_stream_at(r->im, i);
    return EMU_OK;
}

/* From the contents of a file, as they are now. */
static enum emu_status read_stream(struct run *r, uint32_t id, const char *path, int repeat)
{
    size_t bytes;
    char *data = NULL;
    enum emu_status s = json_read_file(path, &data, &bytes);

    if (s == EMU_OK)
        return ss_run_stream_data(r, id, (uint8_t *)data, bytes, repeat);
    ss_free(data);
    return s;
}

enum emu_status run_stream_in_memory(struct run *r, uint32_t id, const char *path, int repeat)
{
    const struct image_stream *s;

    TRY(stream_of(r, id, &s));
    return s->direction == STREAM_TO_HOST || !path ? ss_run_stream_file(r, id, NULL, repeat)
                                                   : read_stream(r, id, path, repeat);
}

enum emu_status ss_run_stream_file(struct run *r, uint32_t id, const char *path, int repeat)
{
    const struct image_stream *s;
    uint32_t depth;

    if (!r)
        return FAIL(BAD_PROGRAM, "there is no run: ss_run_new() has failed");
    TRY(stream_of(r, id, &s));
    depth = s->depth ? s->depth : 1;
    if (s->direction == STREAM_TO_HOST)
        return path ? host_stream_to_file(r->host, id, depth, path)
                    : host_stream_to_memory(r->host, id, depth);
    if (!path)
        return FAIL(USAGE, "stream %u to the tiles needs a file", id);
    return host_stream_from_file(r->host, id, depth, path, repeat);
}

enum emu_status ss_run_stream_data(struct run *r, uint32_t id, uint8_t *data, uint64_t bytes,
                                   int repeat)
{
    const struct image_stream *s;
    enum emu_status st;
    size_t i;

    if (!r) {
        ss_free(data);
        return FAIL(BAD_PROGRAM, "there is no run: ss_run_new() has failed");
    }
    i = find_stream(r->im, id);
    st = stream_of(r, id, &s);
    if (st != EMU_OK || s->direction != STREAM_TO_TILES || r->data[i]) {
        ss_free(data);
        return st != EMU_OK ? st : FAIL(USAGE, "stream %u takes no values", id);
    }
    r->data[i] = data;
    return host_stream_from_memory(r->host, id, s->depth ? s->depth : 1, data, bytes, repeat);
}

static enum emu_status manifest_values(struct run *r, const struct manifest_stream *s)
{
    const struct data_place place = { .arch = NULL };
    uint32_t bytes = manifest_data_bytes(&s->data);
    uint8_t *data = emu_alloc((size_t)bytes + 1, 1);
    enum emu_status st;

    if (!data)
        return FAIL(NO_MEMORY, "%u bytes of stream %u", bytes, s->id);
    st = manifest_data_fill(&s->data, &place, data);
    if (st != EMU_OK) {
        ss_free(data);
        return st;
    }
    return ss_run_stream_data(r, s->id, data, bytes, s->repeat);
}

typedef enum emu_status connect_file(struct run *r, uint32_t id, const char *path, int repeat);

static enum emu_status manifest_streams(struct run *r, const struct manifest *m,
                                        connect_file *connect)
{
    for (size_t i = 0; i < m->streams; i++) {
        const struct manifest_stream *s = &m->stream[i];
        char *path = NULL;
        enum emu_status st;

        if (!s->file && s->direction == STREAM_TO_TILES) {
            TRY(manifest_values(r, s));
            continue;
        }
        if (s->file) {
            path = manifest_path(m, s->file);
            if (!path)
                return FAIL(NO_MEMORY, "a path");
        }
        st = connect(r, s->id, path, s->repeat);
        ss_free(path);
        TRY(st);
    }
    return EMU_OK;
}

enum emu_status ss_run_manifest_streams(struct run *r, const struct manifest *m)
{
    if (!r)
        return FAIL(BAD_PROGRAM, "there is no run: ss_run_new() has failed");
    return manifest_streams(r, m, ss_run_stream_file);
}

enum emu_status run_manifest_streams_in_memory(struct run *r, const struct manifest *m)
{
    return manifest_streams(r, m, run_stream_in_memory);
}

/* ---- the run ---- */

int ss_run_ended(const struct run *r)
{
    return r && r->stop == MACHINE_HOST;
}

enum emu_status ss_run_execute(struct run *r)
{
    if (!r)
        return FAIL(BAD_PROGRAM, "there is no run: ss_run_new() has failed");
    r->stop = machine_run_out(r->machine, r->options.max_cycles);
    while (r->stop == MACHINE_HOST && r->runs < r->options.runs) {
        machine_release_host(r->machine);
        r->runs++;
        r->stop = machine_run_out(r->machine, r->options.max_cycles);
    }
    if (r->stop == MACHINE_DEADLOCK || r->stop == MACHINE_ERROR) {
        r->error = emu_strdup(ss_error());
        if (!r->error)
            return FAIL(NO_MEMORY, "a message");
    }
    if (ss_run_ended(r))
        TRY(machine_finish(r->machine));
    if (r->host)
        TRY(host_finish(r->host));
    return EMU_OK;
}

enum emu_status ss_run_commit(struct run *r)
{
    if (!r)
        return FAIL(BAD_PROGRAM, "there is no run: ss_run_new() has failed");
    return r->host ? host_commit(r->host) : EMU_OK;
}
