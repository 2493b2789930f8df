/* classic.h - what the classic BSP programs share: blocks of a vector on tiles, work of their own
 * in assembly, inputs that are written before a run, and results that are compared after it.
 *
 * A program is its build(): it makes the graph, and says what the host writes and what plain C
 * says must come out. The rest is the same for all of them.
 */
#ifndef PROGRAMS_CLASSIC_H
#define PROGRAMS_CLASSIC_H

#include "emu/emu.h"
#include "programs/lab/lab.h"
#include "programs/programs.h"

enum { CLASSIC_TENSORS = 8, CLASSIC_NOTES = 8, CLASSIC_FIELDS = 10 };

/* A tensor with the host's elements of it. */
struct classic_data {
    struct tensor t;
    void *data; /* owned */
    double bound;
};

struct classic {
    struct classic_data in[CLASSIC_TENSORS], want[CLASSIC_TENSORS];
    unsigned ins, wants;
    struct {
        const char *name;
        uint64_t value;
    } note[CLASSIC_NOTES];
    unsigned notes;
};

enum emu_status classic_new(void **state, struct classic **out) EMU_MUST_CHECK;

/* The tiles a program uses: `asked`, or, where that is 0, all of them but at most `most`. 1 and an
 * error of the graph where the machine has less. */
uint32_t classic_tiles(struct graph *g, uint64_t asked, uint32_t most);
/* EMU_USAGE unless there are two of them. */
enum emu_status classic_two_tiles(const struct graph *g, uint32_t p) EMU_MUST_CHECK;
/* The largest power of two that is not above n; n is not 0. The exponent of one, rounded up. */
uint32_t classic_power(uint32_t n);
uint32_t classic_log2(uint32_t n);

/* [tiles][n], row t on tile t. The host can write and read it. */
struct tensor classic_blocks(struct graph *g, enum elem e, uint32_t tiles, uint32_t n,
                             const char *name);
/* [n] on one tile. */
struct tensor classic_on_tile(struct graph *g, enum elem e, uint32_t tile, uint32_t n,
                              const char *name);
/* The same tensors with the elements of all rows in a line. */
struct tensor classic_part(struct graph *g, struct tensor blocks, uint32_t first, uint32_t end);

/* The host writes data before the run. data: allocated by emu_alloc(), taken over; NULL is out of
 * memory, an error of the graph. */
void classic_input(struct graph *g, struct classic *c, struct tensor t, void *data);
/* After the run t must hold data, to the bit (bound 0), or, numbers of f32, at most `bound` off. */
void classic_result(struct graph *g, struct classic *c, struct tensor t, void *data, double bound);
/* A number for the answer, name: static.
 */
void classic_note(struct classic *c, const char *name, uint64_t value);

/* n numbers below `limit`, the same for the same seed; n multiples of 1/8 in [-1, 1). */
uint32_t *classic_integers(uint64_t n, uint64_t seed, uint32_t limit);
float *classic_floats(uint64_t n, uint64_t seed);

/* What a codelet computes, in C; NULL: it works on f32, and has none. classic_meaning.c */
codelet_meaning *classic_meaning(const char *codelet);
/* A codelet of programs/lab/codelet, all workers; the state is one word for each field. */
void classic_codelet(struct graph *g, const char *name, const struct own_field *field,
                     unsigned fields);
#define CLASSIC_CODELET(g, name, ...)                                                              \
    classic_codelet(g, name, (const struct own_field[]){ __VA_ARGS__ },                            \
                    sizeof((const struct own_field[]){ __VA_ARGS__ }) / sizeof(struct own_field))
#define TAKES(name, type)                                                                          \
    {                                                                                              \
        FIELD_IN, name, ELEM_##type, 0, NULL                                                       \
    }
#define GIVES(name, type)                                                                          \
    {                                                                                              \
        FIELD_OUT, name, ELEM_##type, 0, NULL                                                      \
    }
#define CHANGES(name, type)                                                                        \
    {                                                                                              \
        FIELD_INOUT, name, ELEM_##type, 0, NULL                                                    \
    }
#define NUMBER(name)                                                                               \
    {                                                                                              \
        FIELD_U32, name, ELEM_U32, 0, NULL                                                         \
    }
#define REAL(name)                                                                                 \
    {                                                                                              \
        FIELD_F32, name, ELEM_F32, 0, NULL                                                         \
    }
#define LENGTH_OF(name, counts)                                                                    \
    {                                                                                              \
        FIELD_LENGTH, name, ELEM_U32, 0, counts                                                    \
    }

/* struct named_program. */
enum emu_status classic_before(struct session *s, void *state);
enum emu_status classic_after(struct session *s, void *state, json_t *answer);
void classic_done(void *state);
#define CLASSIC_PROGRAM(symbol, title, line, parameters, make, spelled)                            \
    const struct named_program symbol = { .name = title,                                           \
                                          .text = line,                                            \
                                          .param = parameters,                                     \
                                          .params = EMU_COUNT_OF(parameters),                      \
                                          .words = spelled,                                        \
                                          .build = make,                                           \
                                          .before = classic_before,                                \
                                          .after = classic_after,                                  \
                                          .done = classic_done }

#endif
