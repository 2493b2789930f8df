/* step_shell.c - lines to commands. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "emu/step/step_answer.h"

struct step_command {
    const char *name, *letters, *args, *help;
    int repeats;
    step_function *run;
};

static const struct step_command commands[] = {
#define STEP_COMMAND(name, letters, args, repeats, help)                                           \
    { #name, letters, args, help, repeats, do_##name },
#include "emu/step/step_commands.def"
#undef STEP_COMMAND
};

const char *step_command_name(unsigned i)
{
    return i < EMU_COUNT_OF(commands) ? commands[i].name : NULL;
}

/* A name, its letters, or a beginning that no other name has. */
static enum emu_status find_command(const char *word, const struct step_command **out)
{
    size_t n = strlen(word);

    *out = NULL;
    for (size_t i = 0; i < EMU_COUNT_OF(commands); i++) {
        if (!strcmp(commands[i].name, word) || (n && !strcmp(commands[i].letters, word))) {
            *out = &commands[i];
            return EMU_OK;
        }
    }
    for (size_t i = 0; i < EMU_COUNT_OF(commands); i++) {
        if (strncmp(commands[i].name, word, n) != 0)
            continue;
        if (*out)
            return FAIL(USAGE, "'%s' may be %s or %s", word, (*out)->name, commands[i].name);
        *out = &commands[i];
    }
    return *out ? EMU_OK : FAIL(USAGE, "no command '%.60s'; help lists them", word);
}

/* ---- answers ---- */

const struct image *step_image(const struct step_shell *h)
{
    return stepper_run_of(h->s)->im;
}

struct tile *step_tile_of(const struct step_shell *h)
{
    return machine_tile(stepper_machine(h->s), stepper_tile(h->s));
}

void step_say(struct step_shell *h, const char *format, ...)
{
    va_list args;

    if (h->json)
        return;
    va_start(args, format);
    vfprintf(h->out, format, args);
    va_end(args);
}

void step_put(struct step_shell *h, const char *key, json_t *value)
{
    if (h->answer)
        json_object_set_new(h->answer, key, value);
    else
        json_decref(value);
}

enum emu_status step_number(const char *word, const char *what, uint64_t low, uint64_t high,
                            uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(word, &end, 0);
    if (word[0] >= '0' && word[0] <= '9' && !*end && !errno && *out >= low && *out <= high)
        return EMU_OK;
    return FAIL(USAGE, "%s: '%.60s' is not a number from %" PRIu64 " to %" PRIu64, what, word, low,
                high);
}

enum emu_status step_place(const struct step_shell *h, const char *word, struct step_place *out)
{
    const struct tile *t = step_tile_of(h);
    uint32_t m[16];

    for (unsigned k = 0; k < 16; k++)
        m[k] = tile_m(t, stepper_lane(h->s), k);
    return tile_place_read(step_image(h), word, stepper_chip(h->s), stepper_tile(h->s), m, out);
}

/* ---- help ---- */

static void explain(struct step_shell *h, const struct step_command *c)
{
    char usage[160];

    snprintf(usage, sizeof(usage), "%s%s%s", c->name, *c->args ? " " : "", c->args);
    if (*c->letters)
        step_say(h, "%-2s %s\n      %s\n", c->letters, usage, c->help);
    else
        step_say(h, "   %s\n      %s\n", usage, c->help);
}

static json_t *command_json(const struct step_command *c)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "name", c->name, "letters", c->letters, "arguments",
                     c->args, "help", c->help);
}

enum emu_status do_help(struct step_shell *h, const struct step_words *w)
{
    const struct step_command *one = NULL;
    json_t *list = json_array();
    enum emu_status s = w->count ? find_command(w->word[0], &one) : EMU_OK;

    for (size_t i = 0; i < EMU_COUNT_OF(commands) && s == EMU_OK; i++) {
        if (one && one != &commands[i])
            continue;
        explain(h, &commands[i]);
        json_array_append_new(list, command_json(&commands[i]));
    }
    if (!one && s == EMU_OK)
        step_say(h, "An empty line moves again as the last line did. PLACE is an address or a "
                    "name, +OFFSET, @TILE or @CHIP.TILE: docs/step.md.\n");
    step_put(h, "commands", list);
    return s;
}

enum emu_status do_quit(struct step_shell *h, const struct step_words *w)
{
    (void)w;
    h->quits = 1;
    return EMU_OK;
}

/* ---- lines ---- */

/* Cuts a line into words; returns how many there are. */
static enum emu_status cut(char *line, struct step_words *out)
{
    char *rest = NULL;

    out->count = 0;
    for (char *w = strtok_r(line, " \t\r\n", &rest); w; w = strtok_r(NULL, " \t\r\n", &rest)) {
        if (out->count == STEP_WORDS)
            return FAIL(USAGE, "more than %d words", STEP_WORDS);
        out->word[out->count++] = w;
    }
    return EMU_OK;
}

/* How many words a command takes at most, as its arguments are written. */
static unsigned most_words(const char *args)
{
    unsigned n = *args != 0;

    for (const char *at = args; *at; at++)
        n += *at == ' ';
    return n;
}

static enum emu_status run_words(struct step_shell *h, const struct step_words *w, const char *line)
{
    const struct step_command *c = NULL;
    struct step_words rest = { .count = w->count - 1 };

    TRY(find_command(w->word[0], &c));
    memcpy(rest.word, w->word + 1, rest.count * sizeof(rest.word[0]));
    step_put(h, "command", json_string(c->name));
    if (rest.count > most_words(c->args))
        return FAIL(USAGE, "%s %s: '%.60s' is one too many", c->name, c->args,
                    rest.word[most_words(c->args)]);
    h->last[0] = 0;
    if (c->repeats)
        snprintf(h->last, sizeof(h->last), "%s", line);
    return c->run(h, &rest);
}

/* What is wrong with a line is its answer; other errors end the session. */
static enum emu_status settle(struct step_shell *h, enum emu_status s)
{
    if (s == EMU_USAGE || s == EMU_BAD_FILE) {
        h->wrong++;
        h->last[0] = 0;
        step_say(h, "%s\n", ss_error());
        step_put(h, "error", json_text(ss_error()));
        s = EMU_OK;
    }
    if (h->answer) {
        json_dumpf(h->answer, h->out, JSON_COMPACT);
        fputc('\n', h->out);
        json_decref(h->answer);
        h->answer = NULL;
    }
    fflush(h->out);
    return s;
}

enum emu_status step_shell_do(struct step_shell *h, const char *line, int *quits)
{
    char text[STEP_LINE], again[STEP_LINE];
    struct step_words w;
    enum emu_status s = EMU_OK;

    *quits = 0;
    h->answer = h->json ? json_object() : NULL;
    if (strlen(line) >= sizeof(text)) {
        s = settle(h, FAIL(USAGE, "a line of %zu characters", strlen(line)));
        return s;
    }
    snprintf(text, sizeof(text), "%s", line);
    snprintf(again, sizeof(again), "%s", line);
    s = cut(text, &w);
    if (s == EMU_OK && !w.count && h->last[0]) {
        snprintf(text, sizeof(text), "%s", h->last);
        snprintf(again, sizeof(again), "%s", h->last);
        s = cut(text, &w);
    }
    if (s == EMU_OK && w.count && w.word[0][0] != '#')
        s = run_words(h, &w, again);
    else if (s == EMU_OK && h->answer) {
        json_decref(h->answer); /* nothing was said */
        h->answer = NULL;
    }
    s = settle(h, s);
    *quits = h->quits;
    return s;
}

enum emu_status step_shell_begin(struct step_shell *h)
{
    h->answer = h->json ? json_object() : NULL;
    step_where(h);
    return settle(h, EMU_OK);
}

uint64_t step_shell_wrong(const struct step_shell *h)
{
    return h->wrong;
}

enum emu_status step_shell_new(struct stepper *s, FILE *out, int json,
                               struct step_shell **out_shell)
{
    struct step_shell *h = emu_alloc(1, sizeof(*h));

    *out_shell = h;
    if (!h)
        return FAIL(NO_MEMORY, "a session");
    h->s = s;
    h->out = out;
    h->json = json;
    return EMU_OK;
}

void step_shell_free(struct step_shell *h)
{
    if (!h)
        return;
    json_decref(h->answer);
    ss_free(h);
}
