/* schedule_block.c - schedules with several users (see schedule_block.h). */
#include "programs/compiler/schedule/schedule_block.h"

#include <stdatomic.h>
#include <string.h>

struct schedule_block {
    atomic_uint users;
    struct schedule_head head; /* then tiles, then words */
};

enum { DATA_AT = offsetof(struct schedule_block, head) };

static size_t data_bytes(const struct schedule_head *h)
{
    return sizeof(*h) + h->tiles * sizeof(struct tile_schedule) + h->words * sizeof(uint32_t);
}

static struct tile_schedule *tiles_of(struct schedule_block *b)
{
    return (struct tile_schedule *)(b + 1);
}

static uint32_t *words_of(struct schedule_block *b)
{
    return (uint32_t *)(tiles_of(b) + b->head.tiles);
}

static enum emu_status block_alloc(const struct schedule_head *head, struct schedule_block **out)
{
    *out = emu_alloc(DATA_AT + data_bytes(head), 1);
    if (!*out)
        return FAIL(NO_MEMORY, "the code of an exchange");
    atomic_init(&(*out)->users, 1);
    (*out)->head = *head;
    return EMU_OK;
}

enum emu_status schedule_block_new(const struct schedule_head *head,
                                   const struct tile_schedule *tile, const uint32_t *word,
                                   struct schedule_block **out)
{
    TRY(block_alloc(head, out));
    memcpy(tiles_of(*out), tile, head->tiles * sizeof(*tile));
    if (head->words)
        memcpy(words_of(*out), word, head->words * sizeof(*word));
    return EMU_OK;
}

void schedule_block_use(struct schedule_block *b, struct exchange_schedule *out)
{
    atomic_fetch_add_explicit(&b->users, 1, memory_order_relaxed);
    *out = (struct exchange_schedule){ .tile = tiles_of(b),
                                       .tiles = b->head.tiles,
                                       .events = b->head.events,
                                       .bound = b->head.bound,
                                       .code_bytes = b->head.code_bytes,
                                       .code = words_of(b),
                                       .block = b };
}

void schedule_block_release(struct schedule_block *b)
{
    if (b && atomic_fetch_sub_explicit(&b->users, 1, memory_order_acq_rel) == 1)
        ss_free(b);
}

const void *schedule_block_data(const struct schedule_block *b, size_t *bytes)
{
    *bytes = data_bytes(&b->head);
    return &b->head;
}

/* Whether the instructions of a tile lie in the words. */
static int has_code(const struct schedule_head *h, const struct tile_schedule *t,
                    const uint32_t *word)
{
    struct packed_reader r = { .at = word + t->first };

    if (t->first > h->words)
        return 0;
    for (uint32_t i = 0; i < t->insns; i++) {
        size_t left = (size_t)(word + h->words - r.at);

        if (!left || packed_code_words(*r.at) > left)
            return 0;
        packed_code_next(&r);
    }
    return 1;
}

enum emu_status schedule_block_read(const void *data, size_t bytes, struct schedule_block **out)
{
    struct schedule_head head;

    *out = NULL;
    if (bytes < sizeof(head))
        return FAIL(BAD_FILE, "%zu bytes are no schedule", bytes);
    memcpy(&head, data, sizeof(head));
    if (bytes != data_bytes(&head))
        return FAIL(BAD_FILE, "%zu bytes are no schedule of %u tiles", bytes, head.tiles);
    TRY(block_alloc(&head, out));
    memcpy(&(*out)->head, data, bytes);
    for (uint32_t k = 0; k < head.tiles; k++) {
        if (has_code(&head, &tiles_of(*out)[k], words_of(*out)))
            continue;
        schedule_block_release(*out);
        *out = NULL;
        return FAIL(BAD_FILE, "the code of tile %u lies outside of the schedule", k);
    }
    return EMU_OK;
}
