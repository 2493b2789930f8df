/* train_pictures.c - one recipe for training and testing, and what training changes. */
#include "models/train/train_pictures.h"

#include <string.h>

#include "models/ask/model_request.h"
#include "models/ask/net_pictures.h"

/* What is read of the command line. */
OPTION_READ(WORD, augment)

/* In smaller pictures a drawn piece shows too little, and many mean something else when mirrored,
 * as digits do. */
enum { AUGMENTED_FROM = 64 };

const char *train_augment_name(enum augment a)
{
    static const char *const name[] = { "none", "flip", "shift", "crop" };

    return name[a];
}

static enum augment usual_augment(const struct train_shape *s, const struct dataset *data)
{
    uint32_t side = s->width < s->height ? s->width : s->height;

    if (!strcmp(data->format, "CIFAR"))
        return AUGMENT_SHIFT;
    return !strcmp(data->format, "folders") && side >= AUGMENTED_FROM ? AUGMENT_CROP : AUGMENT_NONE;
}

/* A network that reads numbers takes all of a picture as it is. */
static enum emu_status take_flat(const struct train_shape *s, const struct dataset *d,
                                 struct picture_recipe *r)
{
    *r = picture_recipe_usual(d->width, d->height);
    picture_recipe_gray(r);
    if (d->channels != 1)
        r->channels = PICTURE_RGB;
    r->planes = d->channels;
    return (uint64_t)d->width * d->height * d->channels == s->numbers
               ? EMU_OK
               : FAIL(BAD_FILE,
                      "the network reads %u numbers of a picture; the pictures are %u x %u with %u "
                      "channels",
                      s->numbers, d->width, d->height, d->channels);
}

enum emu_status train_pictures_of(const struct request *q, const struct train_shape *s,
                                  const struct dataset *data, struct train_pictures *out)
{
    static const enum augment word[] = { AUGMENT_NONE, AUGMENT_FLIP, AUGMENT_SHIFT, AUGMENT_CROP };

    *out = (struct train_pictures){ .recipe = s->recipe, .augment = AUGMENT_NONE };
    if (request_has(q, OPTION_augment))
        out->augment = word[option_augment(q)];
    else if (data)
        out->augment = usual_augment(s, data);
    if (!s->channels && !data)
        return EMU_OK;
    if (!s->channels)
        TRY(take_flat(s, data, &out->recipe));
    out->recipe.whole = out->augment != AUGMENT_CROP;
    return picture_choose(q, &out->recipe);
}

struct batch_options train_pictures_batches(const struct train_pictures *p,
                                            const struct train_shape *s)
{
    return (struct batch_options){
        .batch = s->batch, .recipe = p->recipe, .augment = p->augment, .classes = s->classes
    };
}

char *train_pictures_text(const struct train_pictures *p, int test, char out[PICTURES_TEXT])
{
    static const char *const change[] = { "neither cut nor mirrored", "mirrored every other time",
                                          "moved by up to an eighth, mirrored every other time",
                                          "mirrored every other time" };
    const struct picture_recipe *r = &p->recipe;
    char size[RECIPE_TEXT], normal[NORMAL_TEXT];

    if (p->augment == AUGMENT_CROP && !test) {
        snprintf(size, sizeof(size), "a drawn piece of 8 to 100 %% of the area, resized to %u x %u",
                 r->width, r->height);
    } else {
        picture_recipe_text(r, size);
        size[strcspn(size, ";")] = '\0';
        if (r->whole && strrchr(size, '('))
            strrchr(size, '(')[-1] = '\0';
    }
    snprintf(out, PICTURES_TEXT, "%s, %s; %s", size, change[test ? AUGMENT_NONE : p->augment],
             picture_normal_text(r, normal));
    return out;
}
