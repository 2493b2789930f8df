/* model_weights.c - parameters of a run. Calibration takes seconds, so its results are kept in the
 * cache. The key is a hash of the network and of all seeded parameters; what is not exactly as
 * expected is ignored. */
#include "models/ask/model_weights.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/disk_cache.h"

#define KIND "statistics"

/* Changes with what weights_calibrate() does. */
static const char calibration[8] = "SSCAL003";

/* The body of an entry; the values follow. */
struct statistics_head {
    uint64_t values;
    float classifier_gain;
    uint32_t zero;
};

/* ---- key ---- */

/* n: the network that is calibrated. */
static enum emu_status make_key(const struct net *n, const struct weights *w, struct hash128 *key)
{
    struct hash128 part[3] = { { 0 } };
    uint64_t values = 0;
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    if (!f)
        return FAIL(NO_MEMORY, "a description of the network");
    net_print(n, f);
    fclose(f);
    for (uint32_t i = 0; i < w->params; i++)
        values += w->param[i].elements;
    part[0] = hash128(text, bytes);
    part[1] = hash128(w->data, values * sizeof(*w->data));
    part[2] = hash128(calibration, sizeof(calibration));
    free(text); /* allocated by open_memstream */
    *key = hash128(part, sizeof(part));
    return EMU_OK;
}

/* ---- values ---- */

/* Running statistics and the bias of the classifier. */
static int is_measured(const struct net_param *p)
{
    return !strncmp(p->suffix, "running_", 8) ||
           (p->role == PARAM_CLASSIFIER && !strcmp(p->suffix, "bias"));
}

static uint64_t measured_count(const struct net *n, const struct weights *w)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < w->params; i++)
        count += is_measured(&n->param[i]) ? w->param[i].elements : 0;
    return count;
}

/* Copies all measured values, one after the other, into the weights or out of them. */
static void move_measured(const struct net *n, struct weights *w, float *at, int into)
{
    for (uint32_t i = 0; i < w->params; i++) {
        struct param *p = &w->param[i];

        if (!is_measured(&n->param[i]))
            continue;
        if (into)
            memcpy(at, p->data, p->elements * sizeof(*at));
        else
            memcpy(p->data, at, p->elements * sizeof(*at));
        at += p->elements;
    }
}

/* Returns 1 when they were measured before. */
static int read_measured(const struct disk_cache *c, struct hash128 key, const struct net *n,
                         struct weights *w)
{
    uint64_t count = measured_count(n, w);
    struct statistics_head h;
    struct disk_cache_entry e;
    int good;

    if (!disk_cache_read(c, key, KIND, &e))
        return 0;
    good = e.bytes == sizeof(h) + count * sizeof(float);
    if (good) {
        memcpy(&h, e.body, sizeof(h));
        good = h.values == count;
    }
    if (good) {
        move_measured(n, w, (float *)(void *)(e.body + sizeof(h)), 0);
        weights_scale_classifier(w, n, h.classifier_gain);
    }
    disk_cache_entry_free(&e);
    return good;
}

static enum emu_status write_values(const struct net *n, struct weights *w, FILE *f)
{
    struct statistics_head h = { .values = measured_count(n, w),
                                 .classifier_gain = w->classifier_gain };
    float *value = emu_alloc(h.values, sizeof(*value));

    if (!value)
        return FAIL(NO_MEMORY, "statistics");
    move_measured(n, w, value, 1);
    fwrite(&h, sizeof(h), 1, f);
    fwrite(value, sizeof(*value), h.values, f);
    ss_free(value);
    return EMU_OK;
}

/* A failure only costs the next run some time. */
static void keep_measured(const struct disk_cache *c, struct hash128 key, const struct net *n,
                          struct weights *w)
{
    struct disk_cache_writer writer;
    char label[DISK_CACHE_LABEL_MAX];

    snprintf(label, sizeof(label), "%s, statistics of its batch norms", n->name);
    if (disk_cache_begin(c, key, KIND, label, &writer) == EMU_OK &&
        disk_cache_end(c, &writer, write_values(n, w, output_stream(writer.out))) != EMU_OK)
        return;
}

/* ---- in words ---- */

static const char measured_before[] = ", statistics as measured before";
static const char none[] = "none, cycles do not depend on them";

static void file_text(const struct network_choice *c, const char *names, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s (names of %s)", c->weights, names ? names : "torchvision");
}

static void seed_text(const struct network_choice *c, const char *how, char *text, size_t bytes)
{
    snprintf(text, bytes, "seed %" PRIu64 "%s", c->seed, how);
}

void model_weights_text(const struct network_choice *c, const char *names, char *text, size_t bytes)
{
    if (c->weights)
        file_text(c, names, text, bytes);
    else if (c->blank)
        snprintf(text, bytes, "%s", none);
    else
        seed_text(c, c->uncalibrated ? "" : measured_before, text, bytes);
}

/* ---- the three ways ---- */

static enum emu_status calibrate(const struct network_choice *c, struct weights *w,
                                 const struct net *n, const char **how)
{
    const struct disk_cache cache = disk_cache_of(c->cache);
    struct net *measured;
    struct hash128 key;
    enum emu_status s;

    TRY(net_resized(n, calibration_side(n), 1, &measured));
    s = make_key(measured, w, &key);
    net_free(measured);
    TRY(s);
    *how = measured_before;
    if (read_measured(&cache, key, n, w))
        return EMU_OK;
    TRY(weights_calibrate(w, n, CALIBRATION_PICTURES));
    keep_measured(&cache, key, n, w);
    *how = ", statistics measured";
    return EMU_OK;
}

static enum emu_status fill(const struct network_choice *c, const struct net *n, struct weights *w,
                            char *text, size_t bytes)
{
    const char *how = "";

    if (c->weights) {
        TRY(weights_read(w, n, c->weights, c->notes));
        file_text(c, w->names, text, bytes);
    } else if (c->blank) {
        weights_blank(w);
        snprintf(text, bytes, "%s", none);
    } else {
        weights_seed(w, n, c->seed);
        if (!c->uncalibrated)
            TRY(calibrate(c, w, n, &how));
        seed_text(c, how, text, bytes);
    }
    return EMU_OK;
}

/* With --write-weights, opens the file before the weights are calibrated. */
static enum emu_status fill_and_write(const struct network_choice *c, const struct net *n,
                                      struct weights *w, char *text, size_t bytes)
{
    struct output_file *out;
    enum emu_status s;

    TRY(output_not_input(c->write_weights, c->weights));
    TRY(output_open(c->write_weights, &out));
    s = fill(c, n, w, text, bytes);
    if (s == EMU_OK && out)
        s = weights_write_to(w, out);
    return output_end(out, s);
}

enum emu_status model_weights_get(const struct network_choice *c, const struct net *n,
                                  struct weights **out, char *text, size_t bytes)
{
    enum emu_status s;

    TRY(weights_new(n, out));
    s = fill_and_write(c, n, *out, text, bytes);
    if (s != EMU_OK) {
        weights_free(*out);
        *out = NULL;
    }
    return s;
}
