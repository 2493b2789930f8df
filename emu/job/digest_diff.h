/* digest_diff.h - two files of digests (bsp/digest.h): the first superstep and tile that differ. */
#ifndef EMU_DIGEST_DIFF_H
#define EMU_DIGEST_DIFF_H

#include <stdint.h>
#include <stdio.h>

#include "emu/base/fail.h"

enum digest_diff_kind {
    DIGESTS_EQUAL,
    DIGESTS_MACHINE, /* different machines or numbers of tiles or chips: nothing else was compared
                      */
    DIGESTS_ROOT,    /* another root */
    DIGESTS_CYCLE,   /* the same root in another cycle */
    DIGESTS_ORDER,   /* another chip, group or number of superstep comes next */
    DIGESTS_LENGTH   /* one of them goes on where the other ends */
};

/* One line "step". */
struct digest_line {
    uint32_t chip; /* 0 where the file is of one chip */
    uint32_t group;
    uint64_t superstep, cycle;
    char root[33];
};

struct digest_diff {
    enum digest_diff_kind kind;
    uint64_t steps;             /* that are equal before it */
    int of_chips;               /* the files are of a system of several chips */
    struct digest_line line[2]; /* of both files; not set for EQUAL and MACHINE; LENGTH: that of the
                                   longer file, in both */
    int64_t tile; /* ROOT: the first tile that differs, -1 where no tiles are listed */
    int longer;   /* LENGTH: 0 or 1, the file that goes on */
};

/* Compares. Errors: EMU_IO, EMU_BAD_FILE with file and line. */
enum emu_status digest_diff(const char *path_a, const char *path_b,
                            struct digest_diff *out) EMU_MUST_CHECK;
/* The same for open files; names are for messages. */
enum emu_status digest_diff_files(FILE *a, const char *name_a, FILE *b, const char *name_b,
                                  struct digest_diff *out) EMU_MUST_CHECK;

#endif
