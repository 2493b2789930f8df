/* train_link.c - how pictures get to the chip. */
#include "models/train/train_link.h"

#include <stdio.h>

#include "emu/arch/arch.h"
#include "models/ask/model_request.h"
#include "models/picture/picture_recipe.h"

/* What is read of the command line. */
OPTION_READ(NUMBER, io_tiles)
OPTION_READ(WORD, input_type)

/* Unless said: IO tiles, and the smallest machine that has so many to spare. */
enum { IO_TILES = 32, SPARE_FROM = 512 };

/* Why pictures are not bytes; NULL: they are. */
static const char *obstacle_to_bytes(const struct train_shape *s, const struct picture_recipe *r,
                                     const struct dataset *data)
{
    if (s->channels == 3 && r->channels != PICTURE_GRAY)
        return s->height * s->width % 4 ? "a picture is no multiple of 4 pixels" : NULL;
    if (s->channels == 3 && s->height * s->width % 4)
        return "a picture is no multiple of 4 pixels";
    return data && data->channels != 1
               ? "the mean of three colours, or all of them in a row, are no bytes of one channel"
               : NULL;
}

static enum emu_status input_of(const struct request *q, enum elem real, const char *obstacle,
                                int has_tiles, enum elem *out)
{
    static const enum elem word[] = { ELEM_U8, ELEM_F16, ELEM_F32 };

    *out = has_tiles && !obstacle ? ELEM_U8 : real;
    if (!request_has(q, OPTION_input_type))
        return EMU_OK;
    *out = word[option_input_type(q)];
    if (*out == ELEM_U8 && obstacle)
        return FAIL(USAGE, "--input-type u8: %s", obstacle);
    if (*out != ELEM_U8 && *out != real)
        return FAIL(USAGE, "--input-type %s: with this --format the network reads u8 or %s",
                    ss_elem_name(*out), ss_elem_name(real));
    return EMU_OK;
}

enum emu_status train_link_of(const struct request *q, const struct arch *a,
                              const struct train_shape *s, const struct picture_recipe *r,
                              const struct dataset *data, enum elem real, struct train_link *out)
{
    enum elem input;

    out->io_tiles = request_has(q, OPTION_io_tiles)         ? (uint32_t)option_io_tiles(q)
                    : s->channels && a->tiles >= SPARE_FROM ? IO_TILES
                                                            : 0;
    if (out->io_tiles >= a->tiles)
        return FAIL(USAGE, "--io-tiles %u: expected fewer than the %u tiles of the machine",
                    out->io_tiles, a->tiles);
    TRY(input_of(q, real, obstacle_to_bytes(s, r, data), out->io_tiles != 0, &input));
    out->pixels = picture_pixels(r->mean, r->std, input);
    return EMU_OK;
}

char *train_link_text(const struct train_link *l, char out[LINK_TEXT])
{
    char how[64];

    snprintf(how, sizeof(how),
             l->io_tiles ? "%u IO tiles, which fetch the next ones meanwhile"
                         : "the tiles that compute",
             l->io_tiles);
    snprintf(out, LINK_TEXT, "pictures as %s, normalised by the %s, through %s",
             l->pixels.elem == ELEM_U8 ? "8 bits" : ss_elem_name(l->pixels.elem),
             l->pixels.elem == ELEM_U8 ? "chip" : "host", how);
    return out;
}
