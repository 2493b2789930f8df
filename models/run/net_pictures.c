/* net_pictures.c - the pictures of a batch, from files to normalised numbers. */
#include "models/run/net_pictures.h"

#include "emu/base/alloc.h"
#include "models/picture/picture.h"

enum emu_status picture_choose(const struct request *q, struct picture_recipe *r)
{
    if (!q->resize && !q->no_resize && q->crop == 0)
        return EMU_OK;
    r->whose = NULL;
    if (q->crop > 0)
        r->resize = (uint32_t)(r->side / q->crop);
    else
        r->resize = (uint32_t)q->resize; /* 0: not resized */
    return picture_recipe_check(r);
}

/* Pictures that come with the program. */
static const char *const shipped[] = { "models/pictures/cat.jpg", "models/pictures/landscape.png" };

/* to: room for one picture. */
static enum emu_status read_picture(const struct picture_recipe *r, const char *path, float *to)
{
    struct picture whole, cut;
    enum emu_status s;

    TRY(picture_read(path, &whole));
    s = picture_crop(&whole, r, &cut);
    picture_free(&whole);
    if (s == EMU_BAD_FILE)
        return FAIL(BAD_FILE, "%s: %s", path, emu_error());
    TRY(s);
    picture_normalise(&cut, r, to);
    picture_free(&cut);
    return EMU_OK;
}

static enum emu_status read_all(const struct picture_recipe *r, uint32_t batch,
                                const struct option_list *files, float *each,
                                struct net_pictures *out)
{
    size_t count = (size_t)3 * r->side * r->side;

    for (uint32_t i = 0; i < batch; i++) {
        out->name[i] =
            files->count ? files->item[i % files->count] : shipped[i % EMU_COUNT_OF(shipped)];
        TRY(read_picture(r, out->name[i], each));
        for (size_t k = 0; k < count; k++)
            out->numbers.f[i * count + k] = (double)each[k];
    }
    return EMU_OK;
}

enum emu_status net_pictures_read(const struct picture_recipe *r, uint32_t batch,
                                  const struct option_list *files, struct net_pictures *out)
{
    const struct op_shape s = { .type = OP_TYPE_F32,
                                .rank = 4,
                                .dim = { batch, 3, r->side, r->side } };
    size_t given = files->count;
    enum emu_status st;
    float *each;

    *out = (struct net_pictures){ .name = NULL };
    if (given > batch)
        return FAIL(USAGE, "%zu pictures for a batch of %u: --batch %zu takes them all", given,
                    batch, given);
    if (given && given < batch)
        fprintf(stderr, "superstep run: %zu picture%s for a batch of %u: repeated in turn\n", given,
                given > 1 ? "s" : "", batch);
    TRY(op_tensor_new(&s, &out->numbers));
    out->name = emu_alloc(batch, sizeof(*out->name));
    each = emu_alloc(op_shape_count(&s) / batch, sizeof(*each));
    st = out->name && each ? read_all(r, batch, files, each, out)
                           : FAIL(NO_MEMORY, "%u pictures", batch);
    emu_free(each);
    return st;
}

void net_pictures_free(struct net_pictures *p)
{
    emu_free(p->name);
    op_tensor_free(&p->numbers);
    *p = (struct net_pictures){ .name = NULL };
}
