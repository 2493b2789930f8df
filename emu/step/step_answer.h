/* step_answer.h - the inside of the shell. Shared by step_shell.c, step_move.c and step_look.c. */
#ifndef EMU_STEP_ANSWER_H
#define EMU_STEP_ANSWER_H

#include <jansson.h>

#include "emu/step/step_shell.h"
#include "emu/step/tile_place.h"

enum { STEP_LINE = 1024, STEP_WORDS = 16, STEP_PLACE_TEXT = 240 };

/* The registers of all contexts of a tile. */
struct step_registers {
    uint32_t chip, tile;
    uint32_t m[16][TILE_LANES], a[16][TILE_LANES];
    int is_set;
};

struct step_shell {
    struct stepper *s; /* borrowed, like out */
    FILE *out;
    int json;
    json_t *answer; /* owned, of the line in hand; NULL when answers are text */
    char last[STEP_LINE];
    struct step_registers before; /* the last move */
    uint64_t wrong;
    int quits;
};

/* What a command was given: words without its name. */
struct step_words {
    const char *word[STEP_WORDS];
    unsigned count;
};

/* Functions of commands: EMU_USAGE for what is wrong with the line, with one line about it. */
typedef enum emu_status step_function(struct step_shell *h, const struct step_words *w);
#define STEP_COMMAND(name, letters, args, repeats, help) step_function do_##name;
#include "emu/step/step_commands.def"
#undef STEP_COMMAND

/* The image, and the tile and context that are looked at. */
const struct image *step_image(const struct step_shell *h);
struct tile *step_tile_of(const struct step_shell *h);
/* Prints to the answer as text; does nothing for JSON. */
void step_say(struct step_shell *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds to the answer as JSON; drops the value when answers are text. */
void step_put(struct step_shell *h, const char *key, json_t *value);

/* The word as a number from low to high. EMU_USAGE names `what`. */
enum emu_status step_number(const char *word, const char *what, uint64_t low, uint64_t high,
                            uint64_t *out) EMU_MUST_CHECK;
/* A place on the tile that is looked at, with $mN of its context. */
enum emu_status step_place(const struct step_shell *h, const char *word,
                           struct step_place *out) EMU_MUST_CHECK;
/* Says where the run is: "where" of the answer. */
void step_where(struct step_shell *h);
/* The instruction or bundle at an address, as text; returns its bytes. */
unsigned step_item(const struct step_shell *h, uint32_t chip, uint32_t tile, uint32_t addr,
                   char *out, size_t bytes);
/* "tile 3", of a system of several chips "tile 3 of chip 1". */
void step_tile_name(const struct step_shell *h, uint32_t chip, uint32_t tile, char out[40]);
/* "3.", or "1.3.": what stands before the name of a context. */
void step_tile_prefix(const struct step_shell *h, uint32_t chip, uint32_t tile, char out[40]);
/* Who wrote: one line, and "writer" of the answer. */
void step_writer(struct step_shell *h, const struct memory_writer *w);

#endif
