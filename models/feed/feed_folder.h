/* feed_folder.h - the names of one directory in order, a part at a time. */
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
    size_t base; /* bytes of its path, the slash at the end included */
    dev_t device;
    ino_t inode;
    struct folder_entry *entry; /* owned; sorted by the bytes of the names */
    size_t count, cap, next;    /* next: of entry, to be used */
    int more;                   /* there are names after the last one */
};

void folder_free(struct folder *f);
/* Replaces the names by those that follow the last one (the first ones if there is none), at most
 * `most`. path: of the directory. Also sets device and inode. Errors: EMU_IO (emu_error() does not
 * have the path), EMU_NO_MEMORY; f holds no names then. */
enum emu_status folder_read(struct folder *f, const char *path, size_t most) EMU_MUST_CHECK;

#endif
