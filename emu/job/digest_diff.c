/* digest_diff.c - walks two files of digests in step until they differ (see digest_diff.h).
 *
 *   superstep-digests 1
 *   machine NAME tiles N
 *   step GROUP SUPERSTEP CYCLE ROOT
 *
 * of several chips " chips N" at the end of the second, and "step CHIP GROUP ..".
 *
 *   tile NUMBER HASH                  any number, belonging to the step before
 */
#include "emu/job/digest_diff.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { LINE_BYTES = 256, HASH_DIGITS = 32 };

struct digest_reader {
    FILE *f;
    const char *name;
    uint64_t line;
    char text[LINE_BYTES];
    int end, of_chips;
};

static enum emu_status bad(const struct digest_reader *r, const char *expected)
{
    return FAIL(BAD_FILE, "%s:%" PRIu64 ": expected %s, got \"%.60s\"", r->name, r->line, expected,
                r->text);
}

/* Reads one line without its end. */
static enum emu_status next_line(struct digest_reader *r)
{
    size_t n;

    r->line++;
    r->text[0] = 0;
    if (!fgets(r->text, sizeof(r->text), r->f)) {
        r->end = 1;
        return ferror(r->f) ? FAIL(IO, "%s: %s", r->name, strerror(errno)) : EMU_OK;
    }
    n = strlen(r->text);
    if (!n || r->text[n - 1] != '\n')
        return bad(r, "a whole line");
    r->text[n - 1] = 0;
    return EMU_OK;
}

static int is_hash(const char *s)
{
    return strlen(s) == HASH_DIGITS && strspn(s, "0123456789abcdef") == HASH_DIGITS;
}

static int is_step(const struct digest_reader *r)
{
    return !r->end && !strncmp(r->text, "step ", 5);
}

static int is_tile(const struct digest_reader *r)
{
    return !r->end && !strncmp(r->text, "tile ", 5);
}

static enum emu_status parse_step(const struct digest_reader *r, struct digest_line *out)
{
    const char *at = r->text + strlen("step ");
    char rest;
    int used = 0;

    out->chip = 0;
    if (r->of_chips && sscanf(at, "%" SCNu32 " %n", &out->chip, &used) != 1)
        return bad(r, "\"step CHIP GROUP SUPERSTEP CYCLE ROOT\"");
    if (sscanf(at + used, "%" SCNu32 " %" SCNu64 " %" SCNu64 " %32s%c", &out->group,
               &out->superstep, &out->cycle, out->root, &rest) != 4 ||
        !is_hash(out->root))
        return bad(r, r->of_chips ? "\"step CHIP GROUP SUPERSTEP CYCLE ROOT\""
                                  : "\"step GROUP SUPERSTEP CYCLE ROOT\"");
    return EMU_OK;
}

static enum emu_status parse_tile(const struct digest_reader *r, uint32_t *tile, char hash[33])
{
    char rest;

    if (sscanf(r->text, "tile %" SCNu32 " %32s%c", tile, hash, &rest) != 2 || !is_hash(hash))
        return bad(r, "\"tile NUMBER HASH\"");
    return EMU_OK;
}

/* The two lines at the top, into text; the cursor is left on the first step. */
static enum emu_status read_head(struct digest_reader *r, char *machine)
{
    TRY(next_line(r));
    if (r->end || strcmp(r->text, "superstep-digests 1"))
        return bad(r, "\"superstep-digests 1\"");
    TRY(next_line(r));
    if (r->end || strncmp(r->text, "machine ", 8))
        return bad(r, "\"machine NAME tiles N\"");
    memcpy(machine, r->text, LINE_BYTES);
    r->of_chips = strstr(r->text, " chips ") != NULL;
    return next_line(r);
}

/* The first tile whose hash differs after two steps that differ. */
static enum emu_status find_tile(struct digest_reader *a, struct digest_reader *b, int64_t *tile)
{
    *tile = -1;
    TRY(next_line(a));
    TRY(next_line(b));
    while (is_tile(a) && is_tile(b)) {
        uint32_t at, bt;
        char ah[33], bh[33];

        TRY(parse_tile(a, &at, ah));
        TRY(parse_tile(b, &bt, bh));
        if (at != bt || strcmp(ah, bh)) {
            *tile = at < bt ? at : bt;
            return EMU_OK;
        }
        TRY(next_line(a));
        TRY(next_line(b));
    }
    return EMU_OK;
}

/* To the next step: lines of tiles are checked and passed over. */
static enum emu_status skip_tiles(struct digest_reader *r)
{
    TRY(next_line(r));
    while (is_tile(r)) {
        uint32_t tile;
        char hash[33];

        TRY(parse_tile(r, &tile, hash));
        TRY(next_line(r));
    }
    return EMU_OK;
}

static enum emu_status compare_step(struct digest_reader *a, struct digest_reader *b,
                                    struct digest_diff *out)
{
    struct digest_line *x = &out->line[0], *y = &out->line[1];

    TRY(parse_step(a, x));
    TRY(parse_step(b, y));
    if (x->chip != y->chip || x->group != y->group || x->superstep != y->superstep) {
        out->kind = DIGESTS_ORDER;
    } else if (strcmp(x->root, y->root)) {
        out->kind = DIGESTS_ROOT;
        return find_tile(a, b, &out->tile);
    } else if (x->cycle != y->cycle) {
        out->kind = DIGESTS_CYCLE;
    }
    return EMU_OK;
}

static enum emu_status compare_steps(struct digest_reader *a, struct digest_reader *b,
                                     struct digest_diff *out)
{
    for (;; out->steps++) {
        if (!a->end && !is_step(a))
            return bad(a, "a step");
        if (!b->end && !is_step(b))
            return bad(b, "a step");
        if (a->end && b->end)
            return EMU_OK;
        if (a->end || b->end) {
            out->kind = DIGESTS_LENGTH;
            out->longer = a->end != 0;
            TRY(parse_step(a->end ? b : a, &out->line[0]));
            out->line[1] = out->line[0];
            return EMU_OK;
        }
        TRY(compare_step(a, b, out));
        if (out->kind != DIGESTS_EQUAL)
            return EMU_OK;
        TRY(skip_tiles(a));
        TRY(skip_tiles(b));
    }
}

enum emu_status digest_diff_files(FILE *a, const char *name_a, FILE *b, const char *name_b,
                                  struct digest_diff *out)
{
    struct digest_reader ra = { .f = a, .name = name_a }, rb = { .f = b, .name = name_b };
    char machine[2][LINE_BYTES];

    *out = (struct digest_diff){ .kind = DIGESTS_EQUAL, .tile = -1 };
    TRY(read_head(&ra, machine[0]));
    TRY(read_head(&rb, machine[1]));
    if (strcmp(machine[0], machine[1])) {
        out->kind = DIGESTS_MACHINE;
        return EMU_OK;
    }
    out->of_chips = ra.of_chips;
    return compare_steps(&ra, &rb, out);
}

enum emu_status digest_diff(const char *path_a, const char *path_b, struct digest_diff *out)
{
    FILE *a = fopen(path_a, "r"), *b;
    enum emu_status s;

    if (!a)
        return FAIL(IO, "%s: %s", path_a, strerror(errno));
    b = fopen(path_b, "r");
    s = b ? digest_diff_files(a, path_a, b, path_b, out)
          : FAIL(IO, "%s: %s", path_b, strerror(errno));
    fclose(a);
    if (b)
        fclose(b);
    return s;
}
