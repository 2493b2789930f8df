/* run_image.c - an image, a system and its hosts together, from loading to the last host sync. */
#include "emu/job/run_image.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/json_read.h"
#include "emu/job/run_check.h"
#include "emu/job/run_in_memory.h"

/* ---- opening ---- */

static enum emu_status chip_open(struct run *r, uint32_t number, struct machine_options *mo)
{
    const struct arch *a = ss_image_arch(r->im);
    const struct record_options record = { .exchanges = r->options.record_exchanges,
                                           .supersteps = r->options.record_limit,
                                           .stage = run_stage(r, number) };
    struct run_chip *c = &r->chip[number];

    *mo = (struct machine_options){ .threads = r->options.threads,
                                    .plain = r->options.plain,
                                    .check = r->options.check,
                                    .watch = r->options.watch,
                                    .watch_ctx = r->options.watch_ctx };
    TRY(record_new(a->tiles, &record, &c->record));
    if (r->options.digests)
        TRY(digests_new_chip(a, number, r->options.digests, &c->digests));
    if (r->options.engine == ENGINE_TIMING && !image_timing_obstacle(r->im))
        TRY(replay_new(a->tiles, &c->replay));
    mo->record = r->options.unrecorded ? NULL : c->record;
    mo->digests = c->digests;
    mo->replay = c->replay;
    return EMU_OK;
}

static enum emu_status make_pod(struct run *r)
{
    const struct arch *a = ss_image_arch(r->im);
    const struct pod_options po = {
        .replica_chips = image_chip_count(r->im),
        .jitter_cycles = ss_arch_cycles_from_ns(a, r->options.link_jitter_ns),
    };
    struct machine_options *each = emu_alloc(r->chips, sizeof(*each));
    enum emu_status s = EMU_OK;

    if (!each)
        return FAIL(NO_MEMORY, "%u chips", r->chips);
    for (uint32_t i = 0; i < r->chips && s == EMU_OK; i++)
        s = chip_open(r, i, &each[i]);
    if (s == EMU_OK)
        s = pod_new(a, each, &po, &r->pod);
    ss_free(each);
    return s;
}

static int has_streams(const struct image *im, uint32_t stage)
{
    for (size_t i = 0; i < image_stream_count(im); i++) {
        if (image_stream_at(im, i)->chip == stage)
            return 1;
    }
    return 0;
}

static enum emu_status open_hosts(struct run *r)
{
    if (!image_stream_count(r->im))
        return EMU_OK;
    r->data = emu_alloc(image_stream_count(r->im), sizeof(*r->data));
    if (!r->data)
        return FAIL(NO_MEMORY, "the streams of a run");
    for (uint32_t i = 0; i < r->chips; i++) {
        if (!has_streams(r->im, run_stage(r, i)))
            continue;
        TRY(host_new(ss_image_arch(r->im), &r->options.host, &r->chip[i].host));
        host_attach(r->chip[i].host, machine_of_chip(r, i));
    }
    return EMU_OK;
}

/* An image of no part of the chips that it is for; they must be whole replicas. */
static enum emu_status check_chips(const struct image *im)
{
    uint32_t stages = image_chip_count(im), chips = ss_image_arch(im)->chips;

    return chips % stages == 0 ? EMU_OK
                               : FAIL(BAD_IMAGE,
                                      "the image is a program for %u chips, its machine %.64s has "
                                      "%u: expected whole replicas",
                                      stages, ss_image_arch(im)->name, chips);
}

static enum emu_status run_open(struct run *r)
{
    TRY(check_chips(r->im));
    r->chip = emu_alloc(ss_image_arch(r->im)->chips, sizeof(*r->chip));
    if (!r->chip)
        return FAIL(NO_MEMORY, "a run");
    r->chips = ss_image_arch(r->im)->chips;
    TRY(make_pod(r));
    for (uint32_t i = 0; i < r->chips; i++)
        TRY(image_load_chip(r->im, run_stage(r, i), i - run_stage(r, i), machine_of_chip(r, i)));
    if (r->options.check)
        TRY(run_check_begin(r));
    TRY(open_hosts(r));
    r->machine = machine_of_chip(r, 0);
    r->replay = r->chip[0].replay;
    r->host = r->chip[0].host;
    r->record = r->chip[0].record;
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
    pod_free(r->pod);
    for (uint32_t i = 0; i < r->chips; i++) {
        replay_free(r->chip[i].replay);
        host_free(r->chip[i].host);
        record_free(r->chip[i].record);
        digests_free(r->chip[i].digests);
    }
    ss_free(r->chip);
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

/* The place of a stream in the image; *i is their number where there is none. chip: of a replica,
 * ANY_CHIP where the number alone says which it is. */
enum { ANY_CHIP = -1 };
static enum emu_status find_stream(const struct run *r, int64_t chip, uint32_t id, size_t *out)
{
    size_t n = image_stream_count(r->im), found = 0;

    *out = n;
    for (size_t i = 0; i < n; i++) {
        const struct image_stream *s = image_stream_at(r->im, i);

        if (s->id != id || (chip != ANY_CHIP && s->chip != chip))
            continue;
        *out = i;
        found++;
    }
    if (found > 1)
        return FAIL(USAGE, "the image has stream %u on several chips: %u@CHIP=FILE", id, id);
    if (!found && chip != ANY_CHIP)
        return FAIL(USAGE, "the image has no stream %u on chip %u", id, (unsigned)chip);
    return found ? EMU_OK : FAIL(USAGE, "the image has no stream %u", id);
}

/* Connects a stream on the chips that run its chip of the image. */
static enum emu_status connect_file(struct run *r, size_t i, const char *path, int repeat)
{
    const struct image_stream *s = image_stream_at(r->im, i);
    uint32_t depth = s->depth ? s->depth : 1;
    int to_host = s->direction == STREAM_TO_HOST;

    if (!path && !to_host)
        return FAIL(USAGE, "stream %u to the tiles needs a file", s->id);
    if (path && to_host && r->chips > image_chip_count(r->im))
        return FAIL(USAGE, "stream %u: %u replicas cannot write one file", s->id,
                    r->chips / image_chip_count(r->im));
    for (uint32_t c = s->chip; c < r->chips; c += image_chip_count(r->im)) {
        struct host *h = r->chip[c].host;

        TRY(to_host && path ? host_stream_to_file(h, s->id, depth, path)
            : to_host       ? host_stream_to_memory(h, s->id, depth)
                            : host_stream_from_file(h, s->id, depth, path, repeat));
    }
    return EMU_OK;
}

/* data is taken over. */
static enum emu_status connect_data(struct run *r, size_t i, uint8_t *data, uint64_t bytes,
                                    int repeat)
{
    const struct image_stream *s = image_stream_at(r->im, i);

    if (s->direction != STREAM_TO_TILES || r->data[i]) {
        ss_free(data);
        return FAIL(USAGE, "stream %u takes no values", s->id);
    }
    r->data[i] = data;
    for (uint32_t c = s->chip; c < r->chips; c += image_chip_count(r->im))
        TRY(host_stream_from_memory(r->chip[c].host, s->id, s->depth ? s->depth : 1, data, bytes,
                                    repeat));
    return EMU_OK;
}

/* From the contents of a file, as they are now; what would go into one stays in memory. */
static enum emu_status connect_memory(struct run *r, size_t i, const char *path, int repeat)
{
    size_t bytes;
    char *data = NULL;
    enum emu_status s;

    if (image_stream_at(r->im, i)->direction == STREAM_TO_HOST || !path)
        return connect_file(r, i, NULL, repeat);
    s = json_read_file(path, &data, &bytes);
    if (s == EMU_OK)
        return connect_data(r, i, (uint8_t *)data, bytes, repeat);
    ss_free(data);
    return s;
}

enum emu_status run_stream_in_memory(struct run *r, int64_t chip, uint32_t id, const char *path,
                                     int repeat)
{
    size_t i;

    TRY(find_stream(r, chip, id, &i));
    return connect_memory(r, i, path, repeat);
}

enum emu_status run_stream_of_chip(struct run *r, int64_t chip, uint32_t id, const char *path)
{
    size_t i;

    TRY(find_stream(r, chip, id, &i));
    return connect_file(r, i, path, 0);
}

enum emu_status ss_run_stream_file(struct run *r, uint32_t id, const char *path, int repeat)
{
    size_t i;

    if (!r)
        return FAIL(BAD_PROGRAM, "there is no run: ss_run_new() has failed");
    TRY(find_stream(r, ANY_CHIP, id, &i));
    return connect_file(r, i, path, repeat);
}

enum emu_status ss_run_stream_data(struct run *r, uint32_t id, uint8_t *data, uint64_t bytes,
                                   int repeat)
{
    enum emu_status s;
    size_t i;

    if (!r) {
        ss_free(data);
        return FAIL(BAD_PROGRAM, "there is no run: ss_run_new() has failed");
    }
    s = find_stream(r, ANY_CHIP, id, &i);
    if (s == EMU_OK)
        return connect_data(r, i, data, bytes, repeat);
    ss_free(data);
    return s;
}

static enum emu_status manifest_values(struct run *r, size_t i, const struct manifest_stream *s)
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
    return connect_data(r, i, data, bytes, s->repeat);
}

typedef enum emu_status connect_stream(struct run *r, size_t i, const char *path, int repeat);

static enum emu_status manifest_streams(struct run *r, const struct manifest *m,
                                        connect_stream *connect)
{
    for (size_t i = 0; i < m->streams; i++) {
        const struct manifest_stream *s = &m->stream[i];
        char *path = NULL;
        enum emu_status st;
        size_t at;

        TRY(find_stream(r, s->chip, s->id, &at));
        if (!s->file && s->direction == STREAM_TO_TILES) {
            TRY(manifest_values(r, at, s));
            continue;
        }
        if (s->file) {
            path = manifest_path(m, s->file);
            if (!path)
                return FAIL(NO_MEMORY, "a path");
        }
        st = connect(r, at, path, s->repeat);
        ss_free(path);
        TRY(st);
    }
    return EMU_OK;
}

enum emu_status ss_run_manifest_streams(struct run *r, const struct manifest *m)
{
    if (!r)
        return FAIL(BAD_PROGRAM, "there is no run: ss_run_new() has failed");
    return manifest_streams(r, m, connect_file);
}

enum emu_status run_manifest_streams_in_memory(struct run *r, const struct manifest *m)
{
    return manifest_streams(r, m, connect_memory);
}

/* ---- the run ---- */

enum emu_status run_count_pairs(struct run *r)
{
    for (uint32_t chip = 0; chip < r->chips; chip++)
        TRY(exchange_count_pairs(machine_exchange(machine_of_chip(r, chip))));
    return EMU_OK;
}

struct machine_fault run_fault(const struct run *r, uint32_t *chip)
{
    *chip = 0;
    if (r->chips == 1)
        return machine_fault(r->machine);
    *chip = pod_fault(r->pod).chip;
    return pod_fault(r->pod).fault;
}

int ss_run_ended(const struct run *r)
{
    return r && r->stop == MACHINE_HOST;
}

enum emu_status ss_run_execute(struct run *r)
{
    if (!r)
        return FAIL(BAD_PROGRAM, "there is no run: ss_run_new() has failed");
    r->stop = pod_run(r->pod, r->options.max_cycles);
    while (r->stop == MACHINE_HOST && r->runs < r->options.runs) {
        pod_release_host(r->pod);
        r->runs++;
        r->stop = pod_run(r->pod, r->options.max_cycles);
    }
    if (r->stop == MACHINE_DEADLOCK || r->stop == MACHINE_ERROR) {
        r->error = emu_strdup(ss_error());
        if (!r->error)
            return FAIL(NO_MEMORY, "a message");
    }
    if (ss_run_ended(r))
        TRY(pod_finish(r->pod));
    for (uint32_t i = 0; i < r->chips; i++) {
        if (r->chip[i].host)
            TRY(host_finish(r->chip[i].host));
    }
    return EMU_OK;
}

enum emu_status ss_run_commit(struct run *r)
{
    if (!r)
        return FAIL(BAD_PROGRAM, "there is no run: ss_run_new() has failed");
    for (uint32_t i = 0; i < r->chips; i++) {
        if (r->chip[i].host)
            TRY(host_commit(r->chip[i].host));
    }
    return EMU_OK;
}
