/* net_image.h - the image of a network: how the pictures of its input are prepared, as a note; and
 * a run of such an image with other pictures.
 */
#ifndef MODELS_NET_IMAGE_H
#define MODELS_NET_IMAGE_H

#include <jansson.h>

#include "emu/cli/request.h"
#include "models/lower/op_program.h"
#include "models/picture/picture_recipe.h"

/* Names of the input that holds the pictures, and of the output, in all graphs of networks. */
#define NET_IMAGE_INPUT  "picture"
#define NET_IMAGE_OUTPUT "scores"

/* The note that says how pictures of n are prepared, and its name in an image. Owned by the caller,
 * free(); NULL without memory. */
#define NET_IMAGE_NOTE "network"
char *net_image_note(const struct net *n, const struct picture_recipe *r);

/* struct image_hooks (emu/cli/emu_commands.h): with --image, writes those pictures into tile memory
 * before the run of an image. EMU_USAGE for an image that takes none or does not say how, those of
 * net_pictures_read(). */
enum emu_status net_image_before(const struct request *q, struct run *r) EMU_MUST_CHECK;
/* After the run: adds the best classes to the answer, as `run NETWORK --json` has them. Does
 * nothing for images of other programs. EMU_BAD_IMAGE for a note that does not fit the image. */
enum emu_status net_image_after(const struct request *q, struct run *r,
                                json_t *answer) EMU_MUST_CHECK;

#endif
