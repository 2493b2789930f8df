/* byte_store.c - a buffer that doubles. */
#include "emu/base/byte_store.h"

#include <string.h>

#include "emu/base/alloc.h"

void byte_store_free(struct byte_store *b)
{
    ss_free(b->data);
    *b = (struct byte_store){ .data = NULL };
}

static int has_room(struct byte_store *b, size_t bytes)
{
    size_t cap = 2 * (b->bytes + bytes);
    uint8_t *grown;

    if (bytes <= b->cap - b->bytes)
        return 1;
    grown = emu_realloc(b->data, cap, 1);
    if (!grown)
        return 0;
    b->data = grown;
    b->cap = cap;
    return 1;
}

void byte_put(struct byte_store *b, const void *data, size_t bytes)
{
    if (!bytes || b->failed)
        return;
    if (!has_room(b, bytes)) {
        b->failed = 1;
        return;
    }
    memcpy(b->data + b->bytes, data, bytes);
    b->bytes += bytes;
}

void byte_take(struct byte_store *b, void *out, size_t bytes)
{
    EMU_ASSERT(bytes <= b->bytes - b->at);
    if (bytes)
        memcpy(out, b->data + b->at, bytes);
    b->at += bytes;
}

void byte_put_list(struct byte_store *b, const void *list, size_t count, size_t size)
{
    byte_put(b, &count, sizeof(count));
    byte_put(b, list, count * size);
}

enum emu_status byte_take_list(struct byte_store *b, void **list, size_t *count, size_t *cap,
                               size_t size)
{
    byte_take(b, count, sizeof(*count));
    if (*count > *cap) {
        void *grown = emu_realloc(*list, *count, size);

        if (!grown)
            return FAIL(NO_MEMORY, "%zu entries of a list", *count);
        *list = grown;
        *cap = *count;
    }
    byte_take(b, *list, *count * size);
    return EMU_OK;
}
