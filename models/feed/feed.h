/* feed.h - pictures from files, directories and lists, decoded by threads ahead of need, handed out
 * in order.
 *
 * The order is that of the arguments; a directory is walked with its names sorted byte by byte,
 * folders among them. What comes out does not depend on the number of threads, on which file is
 * decoded first or on the order in which a file system lists its names. Memory: the queue, one
 * picture and its file per thread (feed_options.pixels_max), and a bounded number of names; not
 * more for more files.
 */
#ifndef MODELS_FEED_H
#define MODELS_FEED_H

#include <stdint.h>
#include <stdio.h>

#include "programs/programs.h"

enum { FEED_THREADS_MAX = 4096, FEED_QUEUE_MAX = 1 << 16 };

struct feed_options {
    uint32_t side;       /* of the pictures handed out */
    double crop;         /* side of the cut over the shorter side of the resized picture */
    unsigned threads;    /* 0: all cores */
    unsigned queue;      /* pictures decoded and not yet taken, at most; 0: 2 threads + 8 */
    uint64_t pixels_max; /* of a file; larger ones are bad; 0: 2^26 (200 MB decoded) */
    uint64_t skip;       /* files to pass over, as an earlier run has dealt with them */
};

struct picture_feed;

/* Starts the threads. path: a file; a directory, of which all files called .jpg, .jpeg or .png are
 * taken (links are followed, other names are counted); "@LIST", a file of names, one per line, of
 * files and directories; "-", such names from stdin. A file that is called so: "./-". Strings are
 * copied. Errors: EMU_USAGE, EMU_IO for a list that cannot be read, EMU_BAD_FILE when there are
 * fewer than `skip` files, EMU_NO_MEMORY. */
enum emu_status feed_open(const char *const *path, size_t paths, const struct feed_options *o,
                          struct picture_feed **out) EMU_MUST_CHECK;

/* The next good picture: rgb [side][side][3], its name (borrowed, until the next call), and its
 * number among all files, good and bad, skipped ones included. *more = 0: there is none left (or
 * feed_stop() was called), and nothing is written. Bad files on the way are skipped and remembered.
 * Errors: EMU_BAD_FILE when the feed ends without a single good picture (and nothing was skipped
 * or stopped), EMU_NO_MEMORY, EMU_IO; after an error there is nothing more. One thread at a time.
 */
enum emu_status feed_next(struct picture_feed *f, uint8_t *rgb, const char **name, uint64_t *index,
                          int *more) EMU_MUST_CHECK;

/* No more pictures after the present ones: feed_next() gives *more = 0 soon. From any thread, and
 * from a signal handler. */
void feed_stop(struct picture_feed *f);

/* Joins the threads; NULL allowed. */
void feed_close(struct picture_feed *f);

/* Of the part of the order that feed_next() has passed. */
struct feed_counts {
    uint64_t good, bad;
    uint64_t other; /* names in directories that do not end like a picture's; not tried */
    uint64_t ahead; /* pictures that are decoded, or being decoded, and not yet taken */
};
struct feed_counts feed_count(struct picture_feed *f);

/* The name of the last file passed over by feed_options.skip; NULL if none was. Borrowed. */
const char *feed_skipped(const struct picture_feed *f);

/* Bad file i of feed_count().bad, in order; texts are borrowed until the next call. Thousands are
 * held in memory, more in a temporary file, which makes calls in order cheap. EMU_IO: it cannot be
 * read. */
enum emu_status feed_bad(struct picture_feed *f, uint64_t i, const char **name,
                         const char **reason) EMU_MUST_CHECK;
/* A line with the counts, and one for every bad file: name (odd bytes escaped), reason. Nothing
 * when all files are good and none was left out. */
enum emu_status feed_report(struct picture_feed *f, FILE *to) EMU_MUST_CHECK;

#endif
