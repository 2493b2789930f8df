/* feed_folder.h - the names in one directory, sorted, some at a time. */
#ifndef MODELS_FEED_FOLDER_H
#define MODELS_FEED_FOLDER_H

#include <sys/types.h>

#include "programs/programs.h"

/* A name of a directory. */
struct folder_entry {
    char *name;         /* owned */
    unsigned char type; /* DT_REG, DT_DIR, ... of readdir(3) */
};

struct folder {
    size_t base; /* bytes of its path, including the slash at the end */
    dev_t device;
    ino_t inode;
    struct folder_entry *entry; /* owned; sorted by the bytes of the names */
    size_t count, cap, next;    /* next: the entry to be used next */
    int more;                   /* the directory has names after the last entry */
};

void folder_free(struct folder *f);
/* Reads the directory `path` and replaces the entries by the up to `most` names that follow the
 * last entry; if there is none, by the first names. Sets device and inode, too. Cost: one pass over
 * the directory. Errors: EMU_IO (without the path in ss_error()), EMU_NO_MEMORY; then f holds no
 * names. */
enum emu_status folder_read(struct folder *f, const char *path, size_t most) EMU_MUST_CHECK;

#endif
