/* disk_cache.h - results that are kept between runs of the program: bytes under a key, in one
 * folder of files, one per entry.
 *
 * An entry is written beside its place and renamed when it is whole (output_file.h), and its
 * checksum is proven when it is read: so any number of processes may use one folder, and any of
 * them may be killed at any moment. What is damaged, cut short or of an older form is no entry.
 * When the entries together exceed the limit, those go first that were not read for the longest
 * time.
 *
 * A key is the hash of everything that the bytes depend on; it is the caller's. Nothing here is an
 * error of the caller's: without a cache the work is done again.
 *
 * File KEY.KIND: struct disk_cache_head, the label, the body.
 */
#ifndef EMU_DISK_CACHE_H
#define EMU_DISK_CACHE_H

#include <signal.h>
#include <time.h>

#include "emu/base/hash.h"
#include "emu/base/output_file.h"

enum { DISK_CACHE_PATH_MAX = 4096, DISK_CACHE_LABEL_MAX = 1024, DISK_CACHE_KIND_MAX = 16 };

struct disk_cache {
    char folder[DISK_CACHE_PATH_MAX - 128]; /* "": there is no cache */
    uint64_t limit;                         /* bytes of all entries together */
};

/* The folder, in this order: `folder`, $SUPERSTEP_CACHE, $XDG_CACHE_HOME/superstep,
 * $HOME/.cache/superstep. An empty text of the first two: no cache. The limit is
 * $SUPERSTEP_CACHE_MB million bytes, or 4 GB. Creates nothing. */
struct disk_cache disk_cache_of(const char *folder);
struct disk_cache disk_cache_none(void);

/* A hash of what stands in a file. Returns 0 when it is empty, no regular file, or cannot be read.
 */
int disk_cache_hash_file(const char *path, struct hash128 *out);
/* A hash of the running program's file: in a key it parts the results of different builds. Returns
 * 0 when the file cannot be read: then nothing that a program computes should be kept. */
int disk_cache_program(struct hash128 *out);

struct disk_cache_entry {
    char label[DISK_CACHE_LABEL_MAX]; /* what it is, for people */
    uint8_t *body;                    /* within `file` */
    size_t bytes;
    uint8_t *file; /* owned */
};

/* Reads an entry and makes it the one that was used last. Returns 0 when there is none, or none
 * that is whole; else free it with disk_cache_entry_free(). kind is a short word in lower case. */
int disk_cache_read(const struct disk_cache *c, struct hash128 key, const char *kind,
                    struct disk_cache_entry *out);
void disk_cache_entry_free(struct disk_cache_entry *e);

/* An entry that is being written. */
struct disk_cache_writer {
    struct output_file *out; /* the body goes to output_stream(), from where it stands */
    struct hash128 key;
    char kind[DISK_CACHE_KIND_MAX], label[DISK_CACHE_LABEL_MAX];
    struct sigaction before; /* of SIGXFSZ: a file that may not grow fails like a full disk */
};

/* Begins an entry; creates the folder, and removes what processes left there that were killed.
 * On EMU_OK, and only then, disk_cache_end() must follow. Errors: EMU_IO, also when there is no
 * cache; EMU_NO_MEMORY. */
enum emu_status disk_cache_begin(const struct disk_cache *c, struct hash128 key, const char *kind,
                                 const char *label, struct disk_cache_writer *w) EMU_MUST_CHECK;
/* Puts the entry in its place when s is EMU_OK, replacing one of the same key, and makes room for
 * it; else drops it. Returns s, or EMU_IO. */
enum emu_status disk_cache_end(const struct disk_cache *c, struct disk_cache_writer *w,
                               enum emu_status s) EMU_MUST_CHECK;

/* Many small entries: disk_cache_keep() writes one whole entry, or finds that it is there, and
 * disk_cache_tidy(), after the last of them, makes room and removes what killed processes left.
 * Errors: those of disk_cache_begin() and disk_cache_end(). */
enum emu_status disk_cache_keep(const struct disk_cache *c, struct hash128 key, const char *kind,
                                const char *label, const void *body, size_t bytes) EMU_MUST_CHECK;
void disk_cache_tidy(const struct disk_cache *c);

/* What a list shows of an entry; label is "" when its head cannot be read. */
struct disk_cache_item {
    char name[64]; /* of its file: KEY.KIND */
    char label[DISK_CACHE_LABEL_MAX];
    uint64_t bytes;
    struct timespec used; /* when it was written or read last */
};

/* All entries, the one that was used last first. *out is owned by the caller (ss_free), and NULL
 * without entries. EMU_NO_MEMORY. */
enum emu_status disk_cache_list(const struct disk_cache *c, struct disk_cache_item **out,
                                size_t *n) EMU_MUST_CHECK;
/* Removes all entries, and what killed processes left. Returns how many of the files are still
 * there. */
size_t disk_cache_clear(const struct disk_cache *c);

#endif
