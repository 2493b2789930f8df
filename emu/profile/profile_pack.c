/* profile_pack.c - lists of numbers as blobs of a profile.
 *
 * A profile has thousands of them, so they wait until there are enough for all
 * threads. Rows are added in the order in which they came, whoever packed them.
 */
#include "emu/profile/profile_private.h"

#include <omp.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/packed_numbers.h"

enum { NUMBERS_WAITING = 1 << 21 };

void profile_pack_free(struct profile_packer *k)
{
    ss_free(k->number);
    ss_free(k->blob);
    ss_free(k->row);
}

static enum emu_status reach_numbers(struct profile_packer *k, size_t numbers)
{
    size_t cap = numbers > NUMBERS_WAITING ? numbers : NUMBERS_WAITING;
    uint32_t *number;

    if (k->number && numbers <= k->number_cap) /* there is a place for no numbers, too */
        return EMU_OK;
    number = emu_realloc(k->number, cap, sizeof(*number));
    if (!number)
        return FAIL(NO_MEMORY, "numbers of a profile");
    k->number = number;
    k->number_cap = cap;
    return EMU_OK;
}

enum emu_status profile_put_numbers(struct profile *p, const char *table,
                                    const struct profile_value *v, size_t n, const uint32_t *number,
                                    size_t numbers)
{
    struct profile_packer *k = &p->packer;
    struct packed_row *row;

    EMU_ASSERT(n < PACKED_COLUMNS);
    if (k->numbers + numbers > NUMBERS_WAITING)
        TRY(profile_pack(p));
    TRY(reach_numbers(k, k->numbers + numbers));
    TRY(emu_grow((void **)&k->row, k->rows, &k->row_cap, sizeof(*k->row)));
    row = &k->row[k->rows++];
    *row = (struct packed_row){ .table = table, .columns = n, .first = k->numbers, .n = numbers };
    for (size_t i = 0; i < n; i++) {
        EMU_ASSERT(v[i].kind == PROFILE_INTEGER); /* others are borrowed, and would have to wait */
        row->v[i] = v[i];
    }
    packed_numbers_differ(k->number + k->numbers, number, numbers);
    k->numbers += numbers;
    return EMU_OK;
}

/* Gives every row its place among the blobs. */
static enum emu_status place_blobs(struct profile_packer *k)
{
    size_t bytes = 0;

    for (size_t i = 0; i < k->rows; i++) {
        k->row[i].blob = bytes;
        k->row[i].bytes = packed_numbers_room(k->row[i].n);
        bytes += k->row[i].bytes;
    }
    if (bytes <= k->blob_cap)
        return EMU_OK;
    ss_free(k->blob);
    k->blob = emu_alloc(bytes, 1);
    k->blob_cap = k->blob ? bytes : 0;
    return k->blob ? EMU_OK : FAIL(NO_MEMORY, "numbers of a profile");
}

/* A list is packed to the same bytes by any thread. */
static int pack_all(struct profile_packer *k)
{
    size_t cores = (size_t)omp_get_num_procs(), threads = k->threads ? k->threads : cores;
    int good = 1;

    threads = threads < k->rows ? threads : k->rows;
#pragma omp parallel num_threads((int)threads) if (threads > 1) reduction(& : good)
    {
        ZSTD_CCtx *z = ZSTD_createCCtx();

        good = z != NULL;
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < k->rows; i++) {
            struct packed_row *r = &k->row[i];

            if (z)
                r->bytes =
                    packed_numbers_pack(z, k->number + r->first, r->n, (char *)k->blob + r->blob);
        }
        ZSTD_freeCCtx(z);
    }
    return good;
}

enum emu_status profile_pack(struct profile *p)
{
    struct profile_packer *k = &p->packer;

    if (!k->rows)
        return EMU_OK;
    TRY(place_blobs(k));
    if (!pack_all(k))
        return FAIL(NO_MEMORY, "numbers of a profile");
    for (size_t i = 0; i < k->rows; i++) {
        struct packed_row *r = &k->row[i];

        r->v[r->columns] = PROFILE_B((char *)k->blob + r->blob, r->bytes);
        profile_put(p, r->table, r->v, r->columns + 1);
    }
    k->rows = k->numbers = 0;
    return p->status;
}
