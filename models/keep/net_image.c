/* net_image.c - what an image says about the network in it, and a run with pictures. */
#include "models/keep/net_image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/run_image.h"
#include "emu/load/image.h"
#include "models/answer/model_report.h"
#include "models/ask/model_request.h"
#include "models/ask/net_pictures.h"

/* What is read of the command line. */
OPTION_READ(LIST, image)

/* ---- writing ---- */

/* The numbers have all their digits, so that the same pictures give the same bits. */
char *net_image_note(const struct net *n, const struct picture_recipe *r)
{
    char *text;
    json_t *o =
        json_pack("{s:s, s:i, s:i, s:i, s:i, s:s, s:[f, f, f], s:[f, f, f]}", "name", n->name,
                  "batch", (int)n->batch, "resolution", (int)r->width, "classes", (int)n->classes,
                  "resize", (int)r->cover_width, "filter", picture_filter_name(r->filter), "mean",
                  r->mean[0], r->mean[1], r->mean[2], "std", r->std[0], r->std[1], r->std[2]);

    if (o && r->whole)
        json_object_set_new(o, "whole", json_true());
    if (o && r->channels != PICTURE_RGB)
        json_object_set_new(o, "channels", json_string(picture_channels_name(r->channels)));
    text = o ? json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    json_decref(o);
    return text;
}

/* ---- reading ---- */

static int take_number(const json_t *o, const char *key, uint32_t low, uint32_t high, uint32_t *out)
{
    const json_t *v = json_object_get(o, key);

    *out = (uint32_t)json_integer_value(v);
    return json_is_integer(v) && json_integer_value(v) >= low && json_integer_value(v) <= high;
}

static int take_channels(const json_t *o, const char *key, double out[3])
{
    const json_t *v = json_object_get(o, key);
    int good = json_array_size(v) == 3;

    for (size_t i = 0; i < 3; i++) {
        out[i] = json_number_value(json_array_get(v, i));
        good = good && isfinite(out[i]);
    }
    return good;
}

/* What preparing pictures and reading scores needs of a network. */
struct noted {
    uint32_t batch, classes;
    struct picture_recipe recipe;
};

static int take_filter(const json_t *o, enum picture_filter *out)
{
    const char *text = json_string_value(json_object_get(o, "filter"));

    for (*out = 0; text && *out < PICTURE_FILTERS; ++*out) {
        if (!strcmp(picture_filter_name(*out), text))
            return 1;
    }
    return 0;
}

/* RGB unless it is there. */
static int take_order(const json_t *o, enum picture_channels *out)
{
    const json_t *v = json_object_get(o, "channels");

    for (*out = 0; v && *out < PICTURE_ORDERS; ++*out) {
        if (json_is_string(v) && !strcmp(picture_channels_name(*out), json_string_value(v)))
            return 1;
    }
    return !v;
}

static int take_net(const json_t *o, struct noted *n)
{
    struct picture_recipe *r = &n->recipe;

    *n = (struct noted){ .recipe = { .planes = 3, .whose = "of the image" } };
    r->whole = json_is_true(json_object_get(o, "whole"));
    return take_number(o, "batch", 1, NET_BATCH_MAX, &n->batch) &&
           take_number(o, "resolution", NET_SIDE_MIN, NET_SIDE_MAX, &r->width) &&
           take_number(o, "resolution", NET_SIDE_MIN, NET_SIDE_MAX, &r->height) &&
           take_number(o, "classes", 1, NET_CLASSES_MAX, &n->classes) &&
           take_number(o, "resize", 0, UINT32_MAX, &r->cover_width) &&
           take_number(o, "resize", 0, UINT32_MAX, &r->cover_height) &&
           take_filter(o, &r->filter) && take_order(o, &r->channels) &&
           picture_recipe_check(r) == EMU_OK && take_channels(o, "mean", r->mean) &&
           take_channels(o, "std", r->std) && r->std[0] > 0 && r->std[1] > 0 && r->std[2] > 0;
}

/* The network of an image; *found is 0 when it is not of a network. */
static enum emu_status net_of(const struct image *im, struct noted *n, int *found)
{
    const char *text = image_note(im, NET_IMAGE_NOTE);
    json_t *o = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    int good = o && take_net(o, n);

    json_decref(o);
    *found = text != NULL;
    return good || !text ? EMU_OK
                         : FAIL(BAD_IMAGE,
                                "the image's note \"" NET_IMAGE_NOTE "\" is not what "
                                "`superstep compile` writes: %.80s",
                                text);
}

/* ---- a run ---- */

static enum emu_status write_pictures(const struct noted *n, const struct option_list *files,
                                      struct run *r)
{
    struct net_pictures p;
    enum emu_status s = net_pictures_read(&n->recipe, n->batch, files, 0, stderr, &p);
    uint8_t *data = NULL;
    uint64_t bytes;

    if (s == EMU_OK)
        s = op_pixels_pack(&p.numbers, &data, &bytes);
    if (s == EMU_OK)
        s = ss_run_input_write(r, NET_IMAGE_INPUT, data, bytes);
    ss_free(data);
    net_pictures_free(&p);
    return s;
}

enum emu_status net_image_before(const struct request *q, struct run *r)
{
    struct noted n;
    int found;

    if (!option_image(q)->count)
        return EMU_OK;
    TRY(net_of(r->im, &n, &found));
    if (!found)
        return FAIL(USAGE, "--image: the image does not say how pictures are prepared for it; "
                           "`superstep compile NETWORK -o FILE.img` makes one that does");
    TRY(picture_choose(q, &n.recipe));
    return write_pictures(&n, option_image(q), r);
}

/* names: of the pictures of the batch; NULL: those that the image held. */
static enum emu_status put_classes(const struct noted *n, const char *const *names, struct run *r,
                                   json_t *answer)
{
    uint64_t count = (uint64_t)n->batch * n->classes;
    float *scores = emu_alloc(count, sizeof(*scores));
    struct model_answer a = { .facts = { .batch = n->batch, .classes = n->classes },
                              .file = names,
                              .files = names ? n->batch : 0,
                              .scores = scores };
    enum emu_status s = scores ? EMU_OK : FAIL(NO_MEMORY, "scores");

    if (s == EMU_OK)
        s = ss_run_output_read(r, NET_IMAGE_OUTPUT, scores, count * sizeof(*scores));
    if (s == EMU_OK && !model_put_classes(&a, answer))
        s = FAIL(NO_MEMORY, "the answer");
    ss_free(scores);
    return s;
}

enum emu_status net_image_after(const struct request *q, struct run *r, json_t *answer)
{
    const char **names = NULL;
    enum emu_status s;
    struct noted n;
    int found;

    TRY(net_of(r->im, &n, &found));
    if (!found)
        return EMU_OK;
    if (option_image(q)->count) {
        names = emu_alloc(n.batch, sizeof(*names));
        if (!names)
            return FAIL(NO_MEMORY, "names of pictures");
        for (uint32_t i = 0; i < n.batch; i++)
            names[i] = option_image(q)->item[i % option_image(q)->count];
    }
    s = put_classes(&n, names, r, answer);
    ss_free(names);
    return s;
}
