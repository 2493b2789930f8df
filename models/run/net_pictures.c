/* net_pictures.c - the pictures of a batch, from files to normalised numbers. */
#include "models/run/net_pictures.h"

#include "emu/base/alloc.h"
#include "models/picture/picture.h"

/* Pictures that come with the program. */
static const char *const shipped[] = { "models/pictures/cat.jpg", "models/pictures/landscape.png" };

/* to: room for one picture. */
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

static enum emu_status read_all(const struct net *n, const struct option_list *files, float *each,
                                struct net_pictures *out)
{
    size_t count = (size_t)3 * n->resolution * n->resolution;

    for (uint32_t i = 0; i < n->batch; i++) {
        out->name[i] =
            files->count ? files->item[i % files->count] : shipped[i % EMU_COUNT_OF(shipped)];
        TRY(read_picture(n, out->name[i], each));
        for (size_t k = 0; k < count; k++)
            out->numbers.f[i * count + k] = (double)each[k];
    }
    return EMU_OK;
}

enum emu_status net_pictures_read(const struct net *n, const struct option_list *files,
                                  struct net_pictures *out)
{
    const struct op_shape s = { .type = OP_TYPE_F32,
                                .rank = 4,
                                .dim = { n->batch, 3, n->resolution, n->resolution } };
    size_t given = files->count;
    enum emu_status st;
    float *each;

    *out = (struct net_pictures){ .name = NULL };
    if (given > n->batch)
        return FAIL(USAGE, "%zu pictures for a batch of %u: --batch %zu takes them all", given,
                    n->batch, given);
    if (given && given < n->batch)
        fprintf(stderr, "superstep run: %zu picture%s for a batch of %u: repeated in turn\n", given,
                given > 1 ? "s" : "", n->batch);
    TRY(op_tensor_new(&s, &out->numbers));
    out->name = emu_alloc(n->batch, sizeof(*out->name));
    each = emu_alloc(op_shape_count(&s) / n->batch, sizeof(*each));
    st = out->name && each ? read_all(n, files, each, out)
                           : FAIL(NO_MEMORY, "%u pictures", n->batch);
    emu_free(each);
    return st;
}

void net_pictures_free(struct net_pictures *p)
{
    emu_free(p->name);
    op_tensor_free(&p->numbers);
    *p = (struct net_pictures){ .name = NULL };
}
