/* net_pictures.c - the pictures of a batch, from files to the f16 numbers of tile memory. */
#include "models/run/net_pictures.h"

#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "models/picture/picture.h"

/* Pictures that come with the program. */
static const char *const shipped[] = { "models/pictures/cat.jpg", "models/pictures/landscape.png" };

static enum emu_status read_picture(const struct net *n, const char *path, float *to)
{
    struct picture whole, cut;
    enum emu_status s;

    TRY(picture_read(path, &whole));
    s = picture_crop(&whole, n->resolution, n->crop, &cut);
    picture_free(&whole);
    if (s != EMU_OK)
        return s;
    picture_normalise(&cut, n, to);
    picture_free(&cut);
    return EMU_OK;
}

enum emu_status net_pictures_read(const struct net *n, const struct option_list *files,
                                  struct net_pictures *out)
{
    size_t given = files->count, each = (size_t)3 * n->resolution * n->resolution;

    *out = (struct net_pictures){ .name = NULL };
    if (given > n->batch)
        return FAIL(USAGE, "%zu pictures for a batch of %u: --batch %zu takes them all", given,
                    n->batch, given);
    if (given && given < n->batch)
        fprintf(stderr, "superstep run: %zu picture%s for a batch of %u: repeated in turn\n", given,
                given > 1 ? "s" : "", n->batch);
    out->name = emu_alloc(n->batch, sizeof(*out->name));
    out->value = emu_alloc(n->batch, each * sizeof(*out->value));
    if (!out->name || !out->value)
        return FAIL(NO_MEMORY, "%u pictures", n->batch);
    for (uint32_t i = 0; i < n->batch; i++) {
        out->name[i] = given ? files->item[i % given] : shipped[i % EMU_COUNT_OF(shipped)];
        TRY(read_picture(n, out->name[i], out->value + i * each));
    }
    return EMU_OK;
}

void net_pictures_free(struct net_pictures *p)
{
    emu_free(p->name);
    emu_free(p->value);
    *p = (struct net_pictures){ .name = NULL };
}

enum emu_status net_pictures_f16(const struct net *n, const struct net_pictures *p, uint16_t **out)
{
    struct fp_env nearest = { 0 };
    size_t pixels = (size_t)n->resolution * n->resolution;
    uint16_t *at = emu_alloc(n->batch * pixels, 4 * sizeof(*at));

    *out = at;
    if (!at)
        return FAIL(NO_MEMORY, "%u pictures", n->batch);
    for (size_t i = 0; i < n->batch * pixels; i++) {
        const float *from = p->value + i / pixels * 3 * pixels + i % pixels;

        for (size_t c = 0; c < 3; c++)
            at[4 * i + c] = fp_f16_from_f64((double)from[c * pixels], 0, &nearest);
    }
    return EMU_OK;
}
