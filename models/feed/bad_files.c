/* bad_files.c - keeps names and reasons in the order in which they come. */
#include "emu/base/alloc.h"
#include "models/feed/bad_files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

void bad_files_free(struct bad_files *b)
{
    for (size_t i = 0; i < BAD_FILES_HELD; i++) {
        ss_free(b->held[i].name);
        ss_free(b->held[i].reason);
    }
    if (b->more)
        fclose(b->more);
    text_free(&b->record);
    memset(b, 0, sizeof(*b));
}

static enum emu_status add_held(struct bad_files *b, const char *name, const char *reason)
{
    struct bad_file *f = &b->held[b->count];

    f->name = emu_strdup(name);
    f->reason = emu_strdup(reason);
    if (!f->name || !f->reason)
        return FAIL(NO_MEMORY, "the name of a bad file");
    b->count++;
    return EMU_OK;
}

/* Flushes the buffer each time, so that a full disk is noticed now. */
static int write_record(FILE *f, const char *name, const char *reason)
{
    return !fseeko(f, 0, SEEK_END) && fwrite(name, strlen(name) + 1, 1, f) == 1 &&
           fwrite(reason, strlen(reason) + 1, 1, f) == 1 && !fflush(f);
}

enum emu_status bad_files_add(struct bad_files *b, const char *name, const char *reason)
{
    if (b->count < BAD_FILES_HELD)
        return add_held(b, name, reason);
    if (!b->more) {
        b->more = tmpfile();
        b->next = BAD_FILES_HELD;
    }
    if (!b->more || !write_record(b->more, name, reason))
        return FAIL(IO, "a temporary file for the names of bad files, such as %.400s (%.200s): %s",
                    name, reason, strerror(errno));
    b->count++;
    return EMU_OK;
}

/* One text with its zero. */
static int read_text(FILE *f, struct text_line *t)
{
    int c;

    do {
        char byte;

        c = getc(f);
        byte = (char)c;
        if (c == EOF)
            return 0;
        text_add(t, &byte, 1);
    } while (c);
    return !t->failed;
}

static int read_record(struct bad_files *b)
{
    b->record.count = 0;
    if (!read_text(b->more, &b->record) || !read_text(b->more, &b->record))
        return 0;
    b->next++;
    b->at += (off_t)b->record.count;
    return 1;
}

enum emu_status bad_files_get(struct bad_files *b, uint64_t i, const char **name,
                              const char **reason)
{
    EMU_ASSERT(i < b->count);
    if (i < BAD_FILES_HELD) {
        *name = b->held[i].name;
        *reason = b->held[i].reason;
        return EMU_OK;
    }
    if (i < b->next) {
        b->next = BAD_FILES_HELD;
        b->at = 0;
    }
    errno = 0;
    if (ftello(b->more) != b->at && fseeko(b->more, b->at, SEEK_SET))
        return FAIL(IO, "names of bad files: %s", strerror(errno));
    while (b->next <= i) {
        if (!read_record(b))
            return b->record.failed ? FAIL(NO_MEMORY, "the name of a bad file")
                                    : FAIL(IO, "names of bad files: %s", strerror(errno));
    }
    *name = b->record.at;
    *reason = b->record.at + strlen(b->record.at) + 1;
    return EMU_OK;
}
