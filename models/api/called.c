/* called.c - words and lines of a command that a program calls (see called.h). */
#include "models/api/called.h"

#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"

OPTION_READ(FLAG, quiet)

/* ---- what is said ---- */

static int keep_text(struct called *c, const char *text, size_t n)
{
    if (c->bytes + n + 1 > c->room) {
        size_t room = 2 * (c->bytes + n + 1);
        char *more = emu_realloc(c->text, room, 1);

        if (!more)
            return 0;
        c->text = more;
        c->room = room;
    }
    memcpy(c->text + c->bytes, text, n);
    c->bytes += n;
    c->text[c->bytes] = 0;
    return 1;
}

/* Hands over every line that has ended; one that finds no memory is lost. */
static ssize_t hear(void *cookie, const char *text, size_t bytes)
{
    struct called *c = cookie;
    size_t left = bytes;

    while (c->listener.line && left) {
        const char *end = memchr(text, '\n', left);
        size_t n = end ? (size_t)(end - text) : left;

        if (!keep_text(c, text, n) || !end)
            break;
        c->bytes = 0;
        c->listener.line(c->listener.ctx, c->text);
        text += n + 1;
        left -= n + 1;
    }
    return (ssize_t)bytes;
}

static enum emu_status open_ears(struct called *c, const struct ss_listener *l)
{
    static const cookie_io_functions_t io = { .write = hear };

    if (l)
        c->listener = *l;
    c->heard = fopencookie(c, "w", io);
    if (!c->heard)
        return FAIL(NO_MEMORY, "a listener");
    setvbuf(c->heard, NULL, _IOLBF, 0);
    return EMU_OK;
}

/* ---- words ---- */

static enum emu_status add_word(struct called *c, const char *word)
{
    if (!word)
        return FAIL(USAGE, "word %d of a command is NULL", c->words);
    c->word[c->words] = emu_strdup(word);
    if (!c->word[c->words])
        return FAIL(NO_MEMORY, "a command");
    c->words++;
    return EMU_OK;
}

enum emu_status called_begin(struct called *c, const struct command *command, const char *what,
                             const char *const *words, size_t count, const struct ss_listener *l)
{
    if (!words && count)
        return FAIL(USAGE, "%zu words of a command are NULL", count);
    c->word = emu_alloc(count + 3, sizeof(*c->word));
    if (!c->word)
        return FAIL(NO_MEMORY, "a command");
    TRY(open_ears(c, l));
    TRY(add_word(c, command->name));
    TRY(add_word(c, what));
    for (size_t i = 0; i < count; i++)
        TRY(add_word(c, words[i]));
    TRY(command_call(command, c->heard, c->words, c->word, &c->line));
    if (!c->listener.line)
        called_request(c)->value[OPTION_FLAG_quiet].flag = 1;
    return EMU_OK;
}

struct request *called_request(const struct called *c)
{
    return command_call_request(c->line);
}

void called_end(struct called *c)
{
    command_call_free(c->line);
    for (int i = 0; i < c->words; i++)
        ss_free(c->word[i]);
    ss_free(c->word);
    if (c->heard)
        fclose(c->heard);
    ss_free(c->text);
    memset(c, 0, sizeof(*c));
}

/* ---- values ---- */

struct ss_value called_value(const struct op_graph *g, uint32_t value, const char *meaning)
{
    const struct op_value *v = &g->value[value];
    struct ss_value out = { .name = v->name,
                            .type = op_type_text(v->shape.type),
                            .rank = v->shape.rank,
                            .count = op_shape_count(&v->shape),
                            .meaning = meaning };

    _Static_assert((int)SS_RANK_MAX == (int)OP_RANK_MAX, "dimensions of a value");
    memcpy(out.dim, v->shape.dim, sizeof(out.dim));
    return out;
}

enum emu_status called_find(const struct op_graph *g, const uint32_t *list, uint32_t n,
                            const char *what, const char *name, uint32_t *index)
{
    char names[300] = "";
    size_t used = 0;

    if (!name)
        return FAIL(USAGE, "the name of an %s is NULL", what);
    for (*index = 0; *index < n; ++*index) {
        if (!strcmp(g->value[list[*index]].name, name))
            return EMU_OK;
    }
    for (uint32_t k = 0; k < n && used < sizeof(names); k++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", k ? ", " : "",
                                 g->value[list[k]].name);
    return FAIL(USAGE, "no %s '%.100s', there are: %s", what, name, names);
}

enum emu_status called_count(const char *name, uint64_t want, size_t count)
{
    return count == want ? EMU_OK
                         : FAIL(USAGE, "%zu numbers for %s, which has %" PRIu64, count, name, want);
}

/* ---- memory ---- */

struct tile_sums {
    uint64_t *bytes; /* by tile; NULL: not wanted */
    uint64_t most, all;
};

static void add_tile(void *ctx, uint32_t tile, const uint64_t *bytes)
{
    struct tile_sums *s = ctx;
    uint64_t sum = 0;

    for (unsigned k = 0; ss_compiled_category(k); k++)
        sum += bytes[k];
    s->all += sum;
    s->most = sum > s->most ? sum : s->most;
    if (s->bytes)
        s->bytes[tile] = sum;
}

enum emu_status called_memory(const struct memory_facts *m, const struct arch *a,
                              struct ss_memory *out)
{
    struct tile_sums sums = { .bytes = NULL };

    TRY(memory_facts_tiles(m, add_tile, &sums));
    *out = (struct ss_memory){ .tiles = a->tiles,
                               .tile_bytes = a->mem_bytes,
                               .need_bytes = memory_facts_need(m),
                               .max_tile_bytes = sums.most,
                               .total_bytes = sums.all };
    return EMU_OK;
}

enum emu_status called_tile_bytes(const struct memory_facts *m, const struct arch *a,
                                  uint64_t *bytes, size_t tiles)
{
    struct tile_sums sums = { .bytes = bytes };

    if (tiles != a->tiles)
        return FAIL(USAGE, "%zu numbers for the %u tiles of the machine", tiles, a->tiles);
    memset(bytes, 0, tiles * sizeof(*bytes));
    return memory_facts_tiles(m, add_tile, &sums);
}

enum emu_status called_unfit(uint64_t need, const struct arch *a)
{
    return FAIL(USAGE, "does not fit: the fullest tile needs %" PRIu64 " bytes of %u", need,
                a->mem_bytes);
}
