/* feed.h - pictures from files, directories and lists, decoded by threads ahead of need, handed out
 * in order.
 *
 * The order is that of the arguments. In a directory files and subdirectories come in the order of
 * their names' bytes. What comes out does not depend on the number of threads, on which file is
 * decoded first or on the order in which a file system lists its names. Memory: the queue, one
 * picture and its file per thread (feed_options.pixels_max), and a bounded number of names; it does
 * not grow with the number of files.
 */
#ifndef MODELS_FEED_H
#define MODELS_FEED_H

#include <stdint.h>
#include <stdio.h>

#include "models/picture/picture_recipe.h"
#include "programs/programs.h"

enum { FEED_THREADS_MAX = 4096, FEED_QUEUE_MAX = 1 << 16 };

struct feed_options {
    struct picture_recipe recipe; /* of the pictures handed out; they are not normalised */
    unsigned threads;             /* that decode; 0: one per core */
    unsigned queue;      /* most pictures that are decoded but not taken; 0: 2 threads + 8 */
    uint64_t pixels_max; /* a file with more pixels is bad; 0: 2^26 (200 MB decoded) */
    uint64_t skip;       /* how many files an earlier run has dealt with: these are passed over */
};

struct picture_feed;

/* Starts the threads. Each path is one of:
 *
 *   a file        (one that is called "-" or begins with "@" is written "./-", "./@...")
 *   a directory   all files in it called .jpg, .jpeg or .png; links are followed, files with other
 *                 names are counted
 *   "@LIST"       a text file with one file or directory per line
 *   "-"           such lines from stdin
 *
 * Strings are copied. Errors: EMU_USAGE; EMU_IO when a list cannot be read; EMU_BAD_FILE when there
 * are fewer than `skip` files; EMU_NO_MEMORY. */
enum emu_status feed_open(const char *const *path, size_t paths, const struct feed_options *o,
                          struct picture_feed **out) EMU_MUST_CHECK;

/* Waits for the next good picture: rgb [side][side][3] of the recipe, its name (borrowed until the
 * next call), and its number among all files, bad and skipped ones included. *more = 0: there is
 * none left, or feed_stop() was called; then nothing else is written. Bad files on the way are
 * passed over and remembered. Errors: EMU_BAD_FILE when the feed ends without a single good
 * picture, unless files were skipped or the feed was stopped; EMU_NO_MEMORY, EMU_IO. After an error
 * no more pictures come. To be called by one thread at a time. */
enum emu_status feed_next(struct picture_feed *f, uint8_t *rgb, const char **name, uint64_t *index,
                          int *more) EMU_MUST_CHECK;

/* Ends the feed: feed_next() soon gives *more = 0. May be called from any thread, and from a signal
 * handler. */
void feed_stop(struct picture_feed *f);

/* Joins the threads and frees f; NULL allowed. */
void feed_close(struct picture_feed *f);

/* Counts of the files that feed_next() has passed. */
struct feed_counts {
    uint64_t good, bad;
    uint64_t other; /* files in directories whose names are not those of pictures: not tried */
    uint64_t ahead; /* pictures that are decoded, or being decoded, but not taken */
};
struct feed_counts feed_count(struct picture_feed *f);

/* The name of the last file that feed_options.skip passed over, borrowed; NULL if there is none. */
const char *feed_skipped(const struct picture_feed *f);

/* Bad file i of feed_count().bad, in the order of the feed; texts are borrowed until the next call.
 * The first thousands are in memory, the others in a temporary file that is read cheaply in
 * order. EMU_IO when that file cannot be read. */
enum emu_status feed_bad(struct picture_feed *f, uint64_t i, const char **name,
                         const char **reason) EMU_MUST_CHECK;
/* Prints a line with the counts, and one for every bad file: its name, with odd bytes escaped, and
 * the reason. Prints nothing when all files were good and none was left out. */
enum emu_status feed_report(struct picture_feed *f, FILE *to) EMU_MUST_CHECK;

#endif
