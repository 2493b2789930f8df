/* sweep_thing.c - what a manifest or an image says by itself. */
#include "models/sweep/sweep_thing.h"

#include <string.h>

#include "emu/cli/look_file.h"
#include "emu/job/manifest.h"

#define MANIFESTS (THING_MANIFEST << USE_SWEEP_SHIFT)
#define IMAGES    (THING_IMAGE << USE_SWEEP_SHIFT)

int sweep_is_thing(const struct request *q)
{
    return (q->use & (MANIFESTS | IMAGES)) != 0;
}

static enum emu_status check_streams(const struct request *q, const struct image *im)
{
    for (size_t i = 0; i < image_stream_count(im); i++) {
        if (image_stream_at(im, i)->direction == STREAM_TO_TILES)
            return FAIL(USAGE,
                        "%s: its tiles read stream %u, and nothing says what is in it: sweep the "
                        "manifest",
                        q->what, image_stream_at(im, i)->id);
    }
    return EMU_OK;
}

enum emu_status sweep_thing_open(const struct request *q, struct sweep_thing *out)
{
    const struct manifest_options own = { .machine = NULL };

    *out = (struct sweep_thing){ .manifest = NULL };
    if (!sweep_is_thing(q))
        return EMU_OK;
    if (q->bytes)
        return FAIL(USAGE, "%s: every point of a sweep reads it again: a file, please",
                    look_file_name(q));
    if (q->use & MANIFESTS)
        return ss_manifest_read(q->path ? q->path : q->what, &own, &out->manifest);
    TRY(ss_image_read(q->what, &out->image));
    return check_streams(q, out->image);
}

void sweep_thing_free(struct sweep_thing *t)
{
    ss_manifest_free(t->manifest);
    ss_image_free(t->image);
    *t = (struct sweep_thing){ .manifest = NULL };
}

const struct arch *sweep_thing_arch(const struct sweep_thing *t)
{
    return t->manifest ? &t->manifest->arch : t->image ? ss_image_arch(t->image) : NULL;
}

int sweep_thing_has_host(const struct sweep_thing *t)
{
    return (t->manifest && (t->manifest->streams || t->manifest->runs)) ||
           (t->image && image_stream_count(t->image));
}

int sweep_thing_sets(const struct sweep_thing *t, const char *name)
{
    const json_t *all = t->manifest ? json_object_get(t->manifest->root, "parameters") : NULL;
    const json_t *p = json_object_get(all, name);

    return p && !json_equal(json_object_get(p, "low"), json_object_get(p, "high"));
}

enum emu_status sweep_thing_check(const struct sweep_thing *t, const struct arch_field *f)
{
    const struct arch *a = sweep_thing_arch(t);
    int several = t->manifest ? t->manifest->of_chips : t->image && a->chips > 1;

    if (f->stage == ARCH_STAGE_L && !several)
        return FAIL(USAGE, "%s cannot be varied: only runs of several chips read it (%s)", f->name,
                    f->doc);
    if (f->offset == ss_arch_field_find("chips")->offset && !(several && t->manifest))
        return t->image ? FAIL(USAGE, "chips cannot be varied: the image is for %u", a->chips)
                        : FAIL(USAGE, "chips cannot be varied: what is swept runs on one chip");
    if (t->image && f->stage == ARCH_STAGE_C)
        return FAIL(USAGE,
                    "%s cannot be varied: the image was made for one value of it (%s); sweep what "
                    "it was made from",
                    f->name, f->doc);
    if (f->stage == ARCH_STAGE_H && strcmp(f->name, "clock_mhz") && !sweep_thing_has_host(t))
        return FAIL(USAGE,
                    "%s cannot be varied: only streams between host and chip read it, and what is "
                    "swept has none (`superstep stream` has)",
                    f->name);
    return EMU_OK;
}
