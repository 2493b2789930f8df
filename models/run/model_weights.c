/* model_weights.c - parameters of a run. Calibration takes seconds, so its results are kept in the
 * user's cache. The name of the file is a hash of the network and of all seeded parameters; a file
 * that is not exactly as expected is ignored. */
#include "emu/base/alloc.h"
#include "emu/base/hash.h"
#include "emu/base/output_file.h"
#include "models/run/model_weights.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CACHE_PATH_MAX = 4096 };

/* Changes with what weights_calibrate() does. */
static const char cache_magic[8] = "SSCAL002";

struct cache_head {
    char magic[8];
    struct hash128 key, content;
    uint64_t values;
    float classifier_gain;
    uint32_t zero;
};

/* ---- key and place ---- */

/* n: the network that is calibrated. */
static enum emu_status make_key(const struct net *n, const struct weights *w, struct hash128 *key)
{
    struct hash128 part[2] = { { 0 } };
    uint64_t values = 0;
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    if (!f)
        return FAIL(NO_MEMORY, "a description of the network");
    net_print(n, f);
    for (uint32_t i = 0; i < n->layers; i++)
        fprintf(f, "%.17g ", n->layer[i].eps);
    fclose(f);
    for (uint32_t i = 0; i < w->params; i++)
        values += w->param[i].elements;
    part[0] = hash128(text, bytes);
    part[1] = hash128(w->data, values * sizeof(*w->data));
    free(text); /* allocated by open_memstream */
    *key = hash128(part, sizeof(part));
    return EMU_OK;
}

/* The path of a file in the cache; makes its folders. Returns 0 when there is no cache. */
static int cache_path(const struct hash128 *key, char out[CACHE_PATH_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char folder[CACHE_PATH_MAX - 64], digits[33];
    int n;

    if (cache && cache[0] == '/') {
        mkdir(cache, 0700);
        n = snprintf(folder, sizeof(folder), "%s/superstep", cache);
    } else if (home && home[0] == '/') {
        n = snprintf(folder, sizeof(folder), "%s/.cache", home);
        if (n < (int)sizeof(folder))
            mkdir(folder, 0700);
        n = snprintf(folder, sizeof(folder), "%s/.cache/superstep", home);
    } else {
        return 0;
    }
    if (n >= (int)sizeof(folder) || (mkdir(folder, 0700) && errno != EEXIST))
        return 0;
    hash128_text(*key, digits);
    snprintf(out, CACHE_PATH_MAX, "%s/%s.statistics", folder, digits);
    return 1;
}

/* ---- values ---- */

/* Running statistics and the bias of the classifier. */
static int is_measured(const struct net *n, const struct param *p)
{
    const char *suffix = strrchr(p->name, '.') + 1;

    return !strncmp(suffix, "running_", 8) ||
           (p->layer == net_classifier(n) && !strcmp(suffix, "bias"));
}

static uint64_t measured_count(const struct net *n, const struct weights *w)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < w->params; i++)
        count += is_measured(n, &w->param[i]) ? w->param[i].elements : 0;
    return count;
}

/* Copies all measured values, one after the other, into the weights or out of them. */
static void move_measured(const struct net *n, struct weights *w, float *at, int into)
{
    for (uint32_t i = 0; i < w->params; i++) {
        struct param *p = &w->param[i];

        if (!is_measured(n, p))
            continue;
        if (into)
            memcpy(at, p->data, p->elements * sizeof(*at));
        else
            memcpy(p->data, at, p->elements * sizeof(*at));
        at += p->elements;
    }
}

/* Returns 1 when the file exists and is good. */
static int cache_read(const char *path, const struct hash128 *key, const struct net *n,
                      struct weights *w)
{
    uint64_t count = measured_count(n, w);
    float *value = emu_alloc(count, sizeof(*value));
    struct cache_head h;
    FILE *f = fopen(path, "rb");
    int good = f && value && fread(&h, sizeof(h), 1, f) == 1 &&
               !memcmp(h.magic, cache_magic, sizeof(h.magic)) && hash128_equal(h.key, *key) &&
               h.values == count && fread(value, sizeof(*value), count, f) == count &&
               fgetc(f) == EOF && hash128_equal(h.content, hash128(value, count * sizeof(*value)));

    if (good) {
        move_measured(n, w, value, 0);
        weights_scale_classifier(w, n, h.classifier_gain);
    }
    if (f)
        fclose(f);
    emu_free(value);
    return good;
}

/* Returns whether it worked; a failure only costs the next run some time. */
static int cache_write(const char *path, const struct hash128 *key, const struct net *n,
                       struct weights *w)
{
    struct cache_head h = { .key = *key,
                            .values = measured_count(n, w),
                            .classifier_gain = w->classifier_gain };
    float *value = emu_alloc(h.values, sizeof(*value));
    struct output_file *out = NULL;

    if (value && output_open(path, &out) == EMU_OK) {
        FILE *f = output_stream(out);

        memcpy(h.magic, cache_magic, sizeof(h.magic));
        move_measured(n, w, value, 1);
        h.content = hash128(value, h.values * sizeof(*value));
        fwrite(&h, sizeof(h), 1, f);
        fwrite(value, sizeof(*value), h.values, f);
    }
    emu_free(value);
    return out && output_commit(out) == EMU_OK;
}

/* ---- the three ways ---- */

static enum emu_status calibrate(struct weights *w, const struct net *n, const char **how)
{
    char path[CACHE_PATH_MAX];
    struct net *measured;
    struct hash128 key;
    enum emu_status s;
    int cached;

    TRY(net_resized(n, calibration_side(n), 1, &measured));
    s = make_key(measured, w, &key);
    net_free(measured);
    TRY(s);
    cached = cache_path(&key, path);
    *how = ", statistics as measured before";
    if (cached && cache_read(path, &key, n, w))
        return EMU_OK;
    TRY(weights_calibrate(w, n, CALIBRATION_PICTURES));
    if (cached)
        cache_write(path, &key, n, w);
    *how = ", statistics measured";
    return EMU_OK;
}

static enum emu_status fill(const struct network_choice *c, const struct net *n, struct weights *w,
                            char *text, size_t bytes)
{
    const char *how = "";

    if (c->weights) {
        TRY(weights_read(w, n, c->weights, stderr));
        snprintf(text, bytes, "%s (names of %s)", c->weights, w->names ? w->names : "torchvision");
    } else {
        weights_seed(w, n, c->seed);
        if (!c->uncalibrated)
            TRY(calibrate(w, n, &how));
        snprintf(text, bytes, "seed %" PRIu64 "%s", c->seed, how);
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
