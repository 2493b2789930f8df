/* net_pictures.h - the pictures of a batch, as files and as numbers. */
#ifndef MODELS_NET_PICTURES_H
#define MODELS_NET_PICTURES_H

#include "emu/cli/request.h"
#include "models/picture/picture_recipe.h"

struct net_pictures {
    const char **name;        /* owned list of borrowed names, by picture of the batch */
    struct op_tensor numbers; /* owned: f32 [batch][planes][h][w], or [batch][h][w][planes] */
};

/* Changes a recipe as --resize, --crop, --no-resize, --whole, --mean, --std and --channels say.
 * EMU_USAGE: nothing would be left to cut, or numbers that are none. */
enum emu_status picture_choose(const struct request *q, struct picture_recipe *r) EMU_MUST_CHECK;

/* The pictures that come with the program, in turn. */
const char *net_picture_shipped(uint64_t i);

/* Reads the pictures of a batch.
 *
 * files   fewer than the batch are repeated in turn, which is said to notes; none: those of the
 *         program itself
 * last    1: the channels are the last dimension
 * Errors  EMU_USAGE (more files than the batch has pictures), those of picture_read() and
 *         picture_crop(). Free with net_pictures_free(), also after an error. */
enum emu_status net_pictures_read(const struct picture_recipe *r, uint32_t batch,
                                  const struct option_list *files, int last, FILE *notes,
                                  struct net_pictures *out) EMU_MUST_CHECK;
void net_pictures_free(struct net_pictures *p);

#endif
