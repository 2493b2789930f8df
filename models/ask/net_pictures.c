/* net_pictures.c - the pictures of a batch, from files to normalised numbers. */
#include "models/ask/net_pictures.h"

#include <math.h>
#include <stdlib.h>

#include "emu/base/alloc.h"
#include "models/ask/model_request.h"
#include "models/picture/picture.h"

/* What is read of the command line. */
OPTION_READ(NUMBER, resize)
OPTION_READ(PART, crop)
OPTION_READ(FLAG, no_resize)
OPTION_READ(FLAG, whole)
OPTION_READ(TEXT, mean)
OPTION_READ(TEXT, std)
OPTION_READ(WORD, channels)

/* "0.5", or a number for each channel: "0.5,0.4,0.3". */
static enum emu_status take_numbers(const char *option, const char *text, unsigned planes,
                                    double out[3])
{
    const char *at = text;
    unsigned n = 0;
    char *end;

    for (; n < 3; n++, at = end + 1) {
        out[n] = strtod(at, &end);
        if (end == at || !isfinite(out[n]) || (*end != ',' && *end))
            break;
        if (!*end) {
            n++;
            break;
        }
    }
    if (n != 1 && n != planes)
        return FAIL(USAGE, "--%s: expected a number, or %u of them with commas, got %s", option,
                    planes, text);
    for (; n < 3; n++)
        out[n] = out[0];
    return EMU_OK;
}

static enum emu_status choose_numbers(const struct request *q, struct picture_recipe *r)
{
    if ((option_mean(q) || option_std(q)) && r->bytes)
        return FAIL(USAGE, "--%s: the network reads bytes of pictures, which are not normalised",
                    option_mean(q) ? "mean" : "std");
    if (request_has(q, OPTION_channels)) {
        double red = r->mean[0], deviation = r->std[0];

        if (option_channels(q) == PICTURE_BGR &&
            r->channels != PICTURE_BGR) { /* they stay with colours */
            r->mean[0] = r->mean[2];
            r->mean[2] = red;
            r->std[0] = r->std[2];
            r->std[2] = deviation;
        }
        r->channels = (enum picture_channels)option_channels(q);
    }
    if (option_mean(q))
        TRY(take_numbers("mean", option_mean(q), r->planes, r->mean));
    if (option_std(q))
        TRY(take_numbers("std", option_std(q), r->planes, r->std));
    for (unsigned c = 0; c < 3; c++) {
        if (!(r->std[c] > 0))
            return FAIL(USAGE, "--std: expected numbers above 0, got %s", option_std(q));
    }
    return EMU_OK;
}

enum emu_status picture_choose(const struct request *q, struct picture_recipe *r)
{
    TRY(choose_numbers(q, r));
    if (option_resize(q) || option_no_resize(q) || option_crop(q) > 0 || option_whole(q))
        r->whose = NULL;
    if (option_resize(q) || option_no_resize(q) || option_crop(q) > 0)
        r->whole = 0;
    if (option_crop(q) > 0) {
        r->cover_width = (uint32_t)(r->width / option_crop(q));
        r->cover_height = (uint32_t)(r->height / option_crop(q));
    } else if (option_resize(q) || option_no_resize(q)) {
        r->cover_width = r->cover_height = (uint32_t)option_resize(q); /* 0: not resized */
    }
    r->whole |= option_whole(q);
    return picture_recipe_check(r);
}

const char *net_picture_shipped(uint64_t i)
{
    static const char *const shipped[] = { "models/pictures/cat.jpg",
                                           "models/pictures/landscape.png" };

    return shipped[i % EMU_COUNT_OF(shipped)];
}

/* to: room for one picture. */
static enum emu_status read_picture(const struct picture_recipe *r, const char *path, float *to)
{
    struct picture whole, cut;
    enum emu_status s;

    TRY(picture_read(path, &whole));
    s = picture_crop(&whole, r, &cut);
    picture_free(&whole);
    if (s == EMU_BAD_FILE)
        return FAIL(BAD_FILE, "%s: %s", path, ss_error());
    TRY(s);
    picture_normalise(&cut, r, to);
    picture_free(&cut);
    return EMU_OK;
}

static enum emu_status read_all(const struct picture_recipe *r, uint32_t batch,
                                const struct option_list *files, int last, float *each,
                                struct net_pictures *out)
{
    size_t pixels = (size_t)r->width * r->height, count = r->planes * pixels;

    for (uint32_t i = 0; i < batch; i++) {
        out->name[i] = files->count ? files->item[i % files->count] : net_picture_shipped(i);
        TRY(read_picture(r, out->name[i], each));
        for (size_t k = 0; k < count; k++) {
            size_t at = last ? k % pixels * r->planes + k / pixels : k;

            out->numbers.f[i * count + at] = (double)each[k];
        }
    }
    return EMU_OK;
}

enum emu_status net_pictures_read(const struct picture_recipe *r, uint32_t batch,
                                  const struct option_list *files, int last, FILE *notes,
                                  struct net_pictures *out)
{
    const struct op_shape first = { OP_TYPE_F32, 4, { batch, r->planes, r->height, r->width } };
    const struct op_shape behind = { OP_TYPE_F32, 4, { batch, r->height, r->width, r->planes } };
    const struct op_shape s = last ? behind : first;
    size_t given = files->count;
    enum emu_status st;
    float *each;

    *out = (struct net_pictures){ .name = NULL };
    if (given > batch)
        return FAIL(USAGE, "%zu pictures for a batch of %u: --batch %zu takes them all", given,
                    batch, given);
    if (given && given < batch)
        fprintf(notes, "superstep run: %zu picture%s for a batch of %u: repeated in turn\n", given,
                given > 1 ? "s" : "", batch);
    TRY(op_tensor_new(&s, &out->numbers));
    out->name = emu_alloc(batch, sizeof(*out->name));
    each = emu_alloc(op_shape_count(&s) / batch, sizeof(*each));
    st = out->name && each ? read_all(r, batch, files, last, each, out)
                           : FAIL(NO_MEMORY, "%u pictures", batch);
    ss_free(each);
    return st;
}

void net_pictures_free(struct net_pictures *p)
{
    ss_free(p->name);
    op_tensor_free(&p->numbers);
    *p = (struct net_pictures){ .name = NULL };
}
