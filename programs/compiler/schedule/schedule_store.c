/* schedule_store.c - schedules by key, in memory and in the folder of a cache (see
 * schedule_store.h). */
#include "programs/compiler/schedule/schedule_store.h"

#include <string.h>

#include <zstd.h>

#include "emu/arch/arch_numbers.h"
#include "emu/base/disk_cache.h"
#include "programs/compiler/base/arena.h"

#define KIND "schedule"

enum { LEVEL = 1, LABEL_MAX = 128, RAW_MAX = 1 << 30 };

/* A schedule, compressed. */
struct kept_schedule {
    struct hash128 key;
    uint8_t *data; /* owned */
    size_t bytes;
    int is_new; /* not in the folder */
    char label[LABEL_MAX];
};

struct schedule_store {
    struct disk_cache disk;
    struct hash128 program;
    VEC(struct kept_schedule) kept;
    uint32_t *slot; /* owned; hash table of indices of kept + 1 */
    size_t slots;   /* a power of two, or 0 */
};

/* ---- keys ---- */

int schedule_store_reads(size_t field)
{
    switch (field) {
    case ARCH_FIELD_tiles:
    case ARCH_FIELD_exchange_kind:
    case ARCH_FIELD_exchange_columns:
    case ARCH_FIELD_exchange_rows:
    case ARCH_FIELD_exchange_flat_cycles:
    case ARCH_FIELD_pic_lag_base_cycles:
    case ARCH_FIELD_pic_lag_row_cycles:
    case ARCH_FIELD_exchange_clash:
    case ARCH_FIELD_null_source:
        return 1;
    default:
        return 0;
    }
}

struct hash128 schedule_store_key(const struct schedule_store *s, const struct arch *a,
                                  enum exchange_target target, struct hash128 problem)
{
    uint64_t text[5 + ARCH_FIELD_COUNT] = { problem.lo, problem.hi, (uint64_t)target };

    if (s) {
        text[3] = s->program.lo;
        text[4] = s->program.hi;
    }
    for (size_t i = 0; i < ARCH_FIELD_COUNT; i++)
        text[5 + i] = schedule_store_reads(i) ? ss_arch_field_number(a, i) : 0;
    return hash128(text, sizeof(text));
}

/* ---- the list ---- */

static uint32_t *slot_of(const struct schedule_store *s, struct hash128 key)
{
    size_t i = (size_t)key.lo & (s->slots - 1);

    while (s->slot[i] && !hash128_equal(s->kept.at[s->slot[i] - 1].key, key))
        i = (i + 1) & (s->slots - 1);
    return &s->slot[i];
}

/* Room in the table for one more; 0: there is no memory. */
static int make_room(struct schedule_store *s)
{
    size_t slots = s->slots ? 2 * s->slots : 64;
    uint32_t *slot;

    if (2 * (s->kept.count + 1) <= s->slots)
        return 1;
    slot = emu_alloc(slots, sizeof(*slot));
    if (!slot)
        return 0;
    ss_free(s->slot);
    s->slot = slot;
    s->slots = slots;
    for (size_t i = 0; i < s->kept.count; i++)
        *slot_of(s, s->kept.at[i].key) = (uint32_t)i + 1;
    return 1;
}

/* Takes k over, also when it is dropped, which gives 0: another thread was faster, or there is no
 * memory. */
static int add_kept(struct schedule_store *s, struct kept_schedule *k)
{
    int added = 0;

#pragma omp critical
    {
        if (make_room(s) && !*slot_of(s, k->key) && VEC_PUSH(&s->kept, *k) == EMU_OK) {
            *slot_of(s, k->key) = (uint32_t)s->kept.count;
            k->data = NULL;
            added = 1;
        }
    }
    ss_free(k->data);
    return added;
}

/* The data of a key, which stay where they are; NULL: there are none. */
static const uint8_t *data_of(const struct schedule_store *s, struct hash128 key, size_t *bytes)
{
    const uint8_t *data = NULL;

#pragma omp critical
    {
        uint32_t i = s->slots ? *slot_of(s, key) : 0;

        if (i) {
            data = s->kept.at[i - 1].data;
            *bytes = s->kept.at[i - 1].bytes;
        }
    }
    return data;
}

/* ---- schedules ---- */

/* Returns 0 for what is no schedule, or without memory. */
static int unpack(const uint8_t *data, size_t bytes, struct exchange_schedule *out)
{
    unsigned long long raw = ZSTD_getFrameContentSize(data, bytes);
    struct schedule_block *b = NULL;
    uint8_t *p;

    if (raw > RAW_MAX) /* or no frame at all */
        return 0;
    p = emu_alloc((size_t)raw, 1);
    if (p && ZSTD_decompress(p, (size_t)raw, data, bytes) == raw &&
        schedule_block_read(p, (size_t)raw, &b) == EMU_OK)
        schedule_block_use(b, out);
    schedule_block_release(b);
    ss_free(p);
    return b != NULL;
}

static int find_on_disk(struct schedule_store *s, struct hash128 key, struct exchange_schedule *out)
{
    struct disk_cache_entry e;
    int found;

    if (!disk_cache_read(&s->disk, key, KIND, &e))
        return 0;
    found = unpack(e.body, e.bytes, out);
    disk_cache_entry_free(&e);
    return found;
}

int schedule_store_find(struct schedule_store *s, struct hash128 key, struct exchange_schedule *out)
{
    const uint8_t *data;
    size_t bytes;

    if (!s)
        return 0;
    data = data_of(s, key, &bytes);
    return data ? unpack(data, bytes, out) : find_on_disk(s, key, out);
}

int schedule_store_keep(struct schedule_store *s, struct hash128 key,
                        const struct exchange_problem *p, const struct exchange_schedule *x)
{
    struct kept_schedule k = { .key = key, .is_new = 1 };
    const void *raw;
    uint8_t *fitting;
    size_t bytes;

    if (!s || !x->block)
        return 0;
    raw = schedule_block_data(x->block, &bytes);
    k.data = bytes <= RAW_MAX ? emu_alloc(ZSTD_compressBound(bytes), 1) : NULL;
    if (!k.data)
        return 0;
    k.bytes = ZSTD_compress(k.data, ZSTD_compressBound(bytes), raw, bytes, LEVEL);
    if (ZSTD_isError(k.bytes)) {
        ss_free(k.data);
        return 0;
    }
    fitting = emu_realloc(k.data, k.bytes, 1);
    k.data = fitting ? fitting : k.data;
    snprintf(k.label, sizeof(k.label), "%zu messages to %zu receivers", p->messages, p->dest_count);
    return add_kept(s, &k);
}

/* ---- the store ---- */

enum emu_status schedule_store_new(const char *folder, struct schedule_store **out)
{
    struct schedule_store *s = emu_alloc(1, sizeof(*s));

    *out = s;
    if (!s)
        return FAIL(NO_MEMORY, "schedules of exchanges");
    s->disk = disk_cache_of(folder);
    if (s->disk.folder[0] && !disk_cache_program(&s->program))
        s->disk = disk_cache_none();
    return EMU_OK;
}

enum emu_status schedule_store_write(struct schedule_store *s)
{
    enum emu_status st = EMU_OK;
    size_t written = 0;

    for (size_t i = 0; s->disk.folder[0] && st == EMU_OK && i < s->kept.count; i++) {
        struct kept_schedule *k = &s->kept.at[i];

        if (!k->is_new)
            continue;
        st = disk_cache_keep(&s->disk, k->key, KIND, k->label, k->data, k->bytes);
        k->is_new = 0;
        written++;
    }
    if (written)
        disk_cache_tidy(&s->disk);
    return st;
}

void schedule_store_free(struct schedule_store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->kept.count; i++)
        ss_free(s->kept.at[i].data);
    VEC_FREE(&s->kept);
    ss_free(s->slot);
    ss_free(s);
}
