/* tile_choice.c - steps over the chip in equal strides, and takes the next free tile from there. */
#include "programs/library/layout/tile_choice.h"

enum { LAYER_STRIDE = 97 }; /* tiles from the first tile of a layer to that of the next; prime */

enum emu_status tile_choice_new(struct nn *nn, uint32_t parts, struct tile_choice *out)
{
    uint32_t tiles = ss_graph_compute_tiles(nn->g);

    nn->small_layer_tile = (nn->small_layer_tile + LAYER_STRIDE) % tiles;
    *out = (struct tile_choice){ .tiles = tiles,
                                 .step = parts < tiles ? tiles / parts : 1,
                                 .at = nn->small_layer_tile,
                                 .taken = emu_alloc(tiles, 1) };
    return out->taken ? EMU_OK : FAIL(NO_MEMORY, "%u tiles", tiles);
}

void tile_choice_free(struct tile_choice *s)
{
    ss_free(s->taken);
    s->taken = NULL;
}

uint32_t tile_choice_take(struct tile_choice *s, tile_choice_avoid *avoid, const void *ctx)
{
    uint32_t best = s->at, free_tile = s->tiles;

    for (uint32_t k = 0; k < s->tiles; k++) {
        uint32_t tile = (s->at + k) % s->tiles;

        if (s->taken[tile])
            continue;
        if (free_tile == s->tiles)
            free_tile = tile;
        if (!avoid || !avoid(ctx, tile)) {
            free_tile = tile;
            break;
        }
    }
    best = free_tile < s->tiles ? free_tile : best;
    s->taken[best] = 1;
    s->at = (s->at + s->step) % s->tiles;
    return best;
}
