/* arena.h - memory that is freed all at once, interned strings, and growing arrays.
 *
 * A graph, and each result of a compiler stage, owns an arena; nothing in it is freed alone.
 */
#ifndef PROGRAMS_ARENA_H
#define PROGRAMS_ARENA_H

#include "emu/emu.h"

struct prog_arena {
    struct prog_arena_slab *last; /* owned; zero the structure before use */
};

/* Zeroed, aligned to 16; NULL when out of memory or when count x size overflows. */
void *prog_alloc(struct prog_arena *a, size_t count, size_t size);
char *prog_strdup(struct prog_arena *a, const char *s);
void *prog_memdup(struct prog_arena *a, const void *data, size_t bytes);
void prog_arena_free(struct prog_arena *a);

/* Texts stored once; id 0 is "". */
struct strings {
    struct prog_arena arena;
    const char **text; /* owned array, texts in the arena */
    uint32_t count;
    size_t cap;
    uint32_t *slot; /* owned; hash table of ids + 1 */
    uint32_t slots;
};
/* The id of text; UINT32_MAX when out of memory. */
uint32_t strings_id(struct strings *s, const char *text);
const char *strings_text(const struct strings *s, uint32_t id);
void strings_free(struct strings *s);

/* An array that grows: VEC(struct x) v = {0}; VEC_PUSH(&v, x) is EMU_OK or EMU_NO_MEMORY. */
#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t count, cap;                                                                         \
    }
#define VEC_ROOM(v)                                                                                \
    ((v)->count < (v)->cap ? EMU_OK                                                                \
                           : emu_grow((void **)&(v)->at, (v)->count, &(v)->cap, sizeof(*(v)->at)))
#define VEC_PUSH(v, ...)                                                                           \
    (VEC_ROOM(v) == EMU_OK ? ((v)->at[(v)->count++] = (__VA_ARGS__), EMU_OK) : EMU_NO_MEMORY)
#define VEC_FREE(v) (ss_free((v)->at), (v)->at = NULL, (v)->count = (v)->cap = 0)

#endif
