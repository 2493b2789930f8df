/* net_entry.h - a compiled network as the cache keeps it (emu/base/disk_cache.h): its image, and
 * what the answer says of the program besides. From these a run gives the same answer as from the
 * compiler's own objects.
 *
 * The body of an entry: u64 n, u64 k; n bytes of JSON, an object (net_entry.c); k bytes, what
 * profiles say of the program (program_profile_pack()); the image file (docs/image.md), whose input
 * has no pictures.
 */
#ifndef MODELS_NET_ENTRY_H
#define MODELS_NET_ENTRY_H

#include <jansson.h>

#include "emu/base/output_file.h"
#include "emu/load/image.h"
#include "models/answer/layer_cycles.h"
#include "models/answer/memory_facts.h"

struct net_entry { /* all owned */
    struct image *image;
    struct layer_cycles layers; /* without cycles */
    struct memory_facts memory;
    void *profile; /* for program_profile_unpack(), which trusts nothing in it */
    size_t profile_bytes;
    json_t *rows; /* holds the texts of layers */
    json_t *more; /* what the command that kept it wants to know again; NULL: nothing */
    char *names;  /* struct weights: of the tensors in the file; NULL: there is no file */
};

/* Writes the body of an entry. c is a program that fits, with the image as it is to be kept; k as
 * layer_cycles_init() made it, or all zero; names and more may be NULL. Errors: EMU_IO,
 * EMU_NO_MEMORY. */
enum emu_status net_entry_write(const struct compiled *c, const struct layer_cycles *k,
                                const char *names, json_t *more,
                                const struct output_file *out) EMU_MUST_CHECK;
/* Reads the body of an entry for a machine; for_timing: its image as
 * ss_image_read_for_timing() does. Nothing in it is trusted: EMU_BAD_IMAGE, EMU_NO_MEMORY. Free
 * with net_entry_free(), which takes what is all zero. */
enum emu_status net_entry_read(const void *body, size_t bytes, const struct arch *a, int for_timing,
                               struct net_entry *out) EMU_MUST_CHECK;
/* The same of the JSON alone: out has no image. */
enum emu_status net_entry_read_object(const char *text, size_t bytes, const struct arch *a,
                                      struct net_entry *out) EMU_MUST_CHECK;
void net_entry_free(struct net_entry *e);

#endif
