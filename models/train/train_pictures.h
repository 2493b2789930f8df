/* train_pictures.h - what is done to pictures in training and in testing.
 *
 * Both are prepared by the same recipe: all of a picture, unless training draws pieces; then the
 * middle, as the network's family does it. Training changes them further, as --augment says.
 */
#ifndef MODELS_TRAIN_PICTURES_H
#define MODELS_TRAIN_PICTURES_H

#include "emu/cli/request.h"
#include "models/data/batches.h"
#include "models/train/train_source.h"

struct train_pictures {
    struct picture_recipe recipe;
    enum augment augment;
};

/* What the options say; unless said, CIFAR's pictures are moved, pieces are drawn of those in
 * folders if the network reads 64 pixels and more, and others stay as they are. data NULL: none.
 * EMU_USAGE names an option that cannot be as it is; EMU_BAD_FILE: the network reads the numbers of
 * pictures of another size. */
enum emu_status train_pictures_of(const struct request *q, const struct train_shape *s,
                                  const struct dataset *data,
                                  struct train_pictures *out) EMU_MUST_CHECK;
/* Batches of them for evaluation. */
struct batch_options train_pictures_batches(const struct train_pictures *p,
                                            const struct train_shape *s);

/* "all of a picture, resized (bicubic) to 16 x 16, neither cut nor mirrored; gray, mean 0.5,
 * deviation 0.5". test: in testing. Returns out. */
enum { PICTURES_TEXT = 512 };
char *train_pictures_text(const struct train_pictures *p, int test, char out[PICTURES_TEXT]);
/* "crop" */
const char *train_augment_name(enum augment a);

#endif
