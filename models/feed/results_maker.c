/* results_maker.c - the note beside a file of results: three lines, each a key and a text. */
#include "models/feed/results_maker.h"

#include <errno.h>
#include <string.h>

#include "emu/base/fail.h"
#include "emu/base/output_file.h"
#include "programs/programs.h"

enum { PATH_BYTES = 4096, LINE_BYTES = 256 };

static const char *const key[] = { "network", "weights", "machine" };

static const char *value_of(const struct results_maker *m, size_t i)
{
    const char *const value[] = { m->network, m->weights, m->machine };

    return value[i];
}

/* FILE.run. */
static enum emu_status note_path(const char *path, const char *ending, char out[PATH_BYTES])
{
    return snprintf(out, PATH_BYTES, "%s%s", path, ending) < PATH_BYTES
               ? EMU_OK
               : FAIL(IO, "%.200s...: %s", path, strerror(ENAMETOOLONG));
}

/* The text of the next line of a note, without its key and end; NULL if it has another key. */
static const char *read_value(FILE *f, size_t i, char line[LINE_BYTES])
{
    size_t n = strlen(key[i]);

    if (!fgets(line, LINE_BYTES, f))
        return NULL;
    line[strcspn(line, "\n")] = 0;
    return strncmp(line, key[i], n) || line[n] != ' ' ? NULL : line + n + 1;
}

static enum emu_status compare(const char *path, FILE *f, const struct results_maker *m)
{
    for (size_t i = 0; i < EMU_COUNT_OF(key); i++) {
        char line[LINE_BYTES];
        const char *was = read_value(f, i, line);

        if (!was)
            return FAIL(BAD_FILE, "%.400s.run: says no %s: not resumed", path, key[i]);
        if (strcmp(was, value_of(m, i)))
            return FAIL(BAD_FILE,
                        "%.300s: its results were made with %s %s, now it is %s: not resumed", path,
                        key[i], was, value_of(m, i));
    }
    return EMU_OK;
}

enum emu_status results_maker_check(const char *path, const struct results_maker *m)
{
    char note[PATH_BYTES];
    enum emu_status s;
    FILE *f;

    TRY(note_path(path, ".run", note));
    f = fopen(note, "r");
    if (!f && errno != ENOENT)
        return FAIL(IO, "%.400s: %s", note, strerror(errno));
    if (!f) {
        fprintf(stderr,
                "superstep stream: warning: no %s says what made the results that are "
                "resumed; taken for %s\n",
                note, m->network);
        return EMU_OK;
    }
    s = compare(path, f, m);
    fclose(f);
    return s;
}

enum emu_status results_maker_write(const char *path, const struct results_maker *m)
{
    char note[PATH_BYTES];
    struct output_file *out;

    TRY(note_path(path, ".run", note));
    TRY(output_open(note, &out));
    for (size_t i = 0; i < EMU_COUNT_OF(key); i++)
        fprintf(output_stream(out), "%s %s\n", key[i], value_of(m, i));
    return output_commit(out);
}
