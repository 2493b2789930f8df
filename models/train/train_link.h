/* train_link.h - how pictures get to the chip: through IO tiles or before a step, as bytes or as
 * numbers; private to models/train.
 */
#ifndef MODELS_TRAIN_LINK_H
#define MODELS_TRAIN_LINK_H

#include "emu/cli/request.h"
#include "models/data/dataset.h"
#include "models/train/train_source.h"
#include "programs/programs.h"

struct train_link {
    uint32_t io_tiles;          /* 0: the host writes before every step, or a loop fetches itself */
    struct pixel_format pixels; /* pixels.elem: u8, or the type that the network computes in */
};

/* What --io-tiles and --input-type say; unless said, a network that reads pictures has IO tiles on
 * a machine with tiles to spare, and bytes where these carry all. data NULL: any. real: f16 or f32.
 * EMU_USAGE names an option that cannot be as it is. */
enum emu_status train_link_of(const struct request *q, const struct arch *a,
                              const struct train_shape *s, const struct picture_recipe *r,
                              const struct dataset *data, enum elem real,
                              struct train_link *out) EMU_MUST_CHECK;

/* "8 bits through 32 IO tiles". Returns out. */
enum { LINK_TEXT = 128 };
char *train_link_text(const struct train_link *l, char out[LINK_TEXT]);

#endif
