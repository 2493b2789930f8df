/* classic_network.c - lists and networks: ranks in a list, breadth-first search, PageRank. What a
 * tile needs depends on the data, so every tile takes everything: the exchange stays the same.
 */
#include "programs/lab/classic/classic.h"

#include <string.h>

static struct tensor all_of(struct graph *g, struct tensor blocks)
{
    return ss_tensor_flatten(g, blocks);
}

/* ---- list ranking ---- */

static const struct program_param list_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all, at most 64" },
    { "n", 8, 1, 256, "nodes of a tile" },
};

static struct program jump_round(struct graph *g, const struct tensor *from,
                                 const struct tensor *to)
{
    uint32_t p = ss_tensor_shape(g, from[0])[0], n = ss_tensor_shape(g, from[0])[1];
    uint32_t cs = ss_graph_compute_set(g, "jump");

    for (uint32_t i = 0; i < p; i++) {
        uint32_t v = ss_graph_vertex(g, cs, "jump_u32", i);

        ss_vertex_connect(g, v, "next", all_of(g, from[0]));
        ss_vertex_connect(g, v, "rank", all_of(g, from[1]));
        ss_vertex_connect(g, v, "own_next", ss_tensor_index(g, to[0], i));
        ss_vertex_connect(g, v, "own_rank", ss_tensor_index(g, to[1], i));
        ss_vertex_set_u32(g, v, "first", i * n);
    }
    return ss_program_execute(g, cs);
}

/* The list goes through all nodes in an order of its own; its last node points at itself. */
static void make_list(uint32_t *next, uint32_t *rank, uint32_t *want, uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = order[i] % (i + 1); /* a random order, grown node by node */

        order[i] = i;
        order[i] = order[k];
        order[k] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = order[i];

        next[node] = i + 1 < n ? order[i + 1] : node;
        rank[node] = i + 1 < n;
        want[node] = n - 1 - i;
    }
}

static enum emu_status list_build(struct graph *g, const uint64_t *value, void **state)
{
    uint32_t p = classic_tiles(g, value[0], 64), n = (uint32_t)value[1], all = p * n;
    uint32_t rounds = classic_log2(all) + classic_log2(all) % 2;
    struct program seq = ss_program_sequence(g);
    uint32_t *next, *rank, *want, *order;
    struct tensor here[2], there[2];
    struct classic *c;

    TRY(classic_new(state, &c));
    CLASSIC_CODELET(g, "jump_u32", TAKES("next", U32), TAKES("rank", U32), GIVES("own_next", U32),
                    GIVES("own_rank", U32), NUMBER("first"), LENGTH_OF("n", "own_next"));
    here[0] = classic_blocks(g, ELEM_U32, p, n, "next");
    here[1] = classic_blocks(g, ELEM_U32, p, n, "rank");
    there[0] = classic_blocks(g, ELEM_U32, p, n, "then_next");
    there[1] = classic_blocks(g, ELEM_U32, p, n, "then_rank");
    for (uint32_t k = 0; k < rounds; k += 2) {
        ss_program_add(g, seq, jump_round(g, here, there));
        ss_program_add(g, seq, jump_round(g, there, here));
    }
    ss_graph_set_program(g, seq);
    next = emu_alloc(all, sizeof(*next));
    rank = emu_alloc(all, sizeof(*rank));
    want = emu_alloc(all, sizeof(*want));
    order = classic_integers(all, 13, UINT32_MAX);
    if (next && rank && want && order)
        make_list(next, rank, want, order, all);
    ss_free(order);
    classic_input(g, c, here[0], next);
    classic_input(g, c, here[1], rank);
    classic_result(g, c, here[1], want, 0);
    classic_note(c, "p", p);
    classic_note(c, "all", all);
    classic_note(c, "rounds", rounds);
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_list, "list-ranking", "how far every node of a list is from its end",
                list_param, list_build, NULL);

/* ---- networks of nodes with so many edges each ---- */

static const struct program_param network_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all, at most 64" },
    { "n", 12, 1, 512, "nodes of a tile" },
    { "degree", 4, 2, 64, "edges to a node" },
};

static const struct program_param rank_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all, at most 64" },
    { "n", 12, 1, 512, "pages of a tile" },
    { "degree", 6, 2, 64, "links to a page" },
    { "rounds", 10, 2, 1000, "rounds, even" },
};

enum { NETWORK_P, NETWORK_N, NETWORK_DEGREE, RANK_ROUNDS };

/* Edges into each node: from the one before it, and from others anywhere. */
static uint32_t *make_edges(uint32_t nodes, uint32_t degree, uint64_t seed)
{
    uint32_t *edge = classic_integers((uint64_t)nodes * degree, seed, nodes);

    for (uint32_t i = 0; edge && i < nodes; i++)
        edge[(size_t)i * degree] = (i + nodes - 1) % nodes;
    return edge;
}

/* ---- breadth-first search ---- */

static const uint32_t unreached = 1 << 20;

static uint32_t *first_levels(uint32_t nodes)
{
    uint32_t *level = emu_alloc(nodes, sizeof(*level));

    for (uint32_t i = 0; level && i < nodes; i++)
        level[i] = i ? unreached : 0;
    return level;
}

/* Levels by a queue. Edges are kept by the node they lead to, so a round looks at all nodes. *depth
 * is the largest level. */
static uint32_t *plain_levels(const uint32_t *edge, uint32_t nodes, uint32_t degree,
                              uint32_t *depth)
{
    uint32_t *level = first_levels(nodes), changed = 1;

    for (*depth = 0; level && edge && changed;) {
        changed = 0;
        for (uint32_t i = 0; i < nodes; i++) {
            for (uint32_t k = 0; k < degree && level[i] == unreached; k++) {
                if (level[edge[(size_t)i * degree + k]] == *depth) {
                    level[i] = *depth + 1;
                    changed = 1;
                }
            }
        }
        *depth += changed;
    }
    return level;
}

static struct program visit_round(struct graph *g, struct tensor edges, struct tensor from,
                                  struct tensor to, uint32_t degree)
{
    uint32_t p = ss_tensor_shape(g, from)[0], cs = ss_graph_compute_set(g, "visit");

    for (uint32_t i = 0; i < p; i++) {
        uint32_t v = ss_graph_vertex(g, cs, "visit_u32", i);

        ss_vertex_connect(g, v, "level", all_of(g, from));
        ss_vertex_connect(g, v, "edges", ss_tensor_index(g, edges, i));
        ss_vertex_connect(g, v, "own", ss_tensor_index(g, from, i));
        ss_vertex_connect(g, v, "out", ss_tensor_index(g, to, i));
        ss_vertex_set_u32(g, v, "degree", degree);
    }
    return ss_program_execute(g, cs);
}

static enum emu_status search_build(struct graph *g, const uint64_t *value, void **state)
{
    uint32_t p = classic_tiles(g, value[NETWORK_P], 64), n = (uint32_t)value[NETWORK_N];
    uint32_t degree = (uint32_t)value[NETWORK_DEGREE], depth = 0, rounds;
    struct program seq = ss_program_sequence(g), both = ss_program_sequence(g);
    uint32_t *edge = make_edges(p * n, degree, 14);
    uint32_t *want = plain_levels(edge, p * n, degree, &depth);
    struct tensor edges, here, there;
    struct classic *c = NULL;

    if (classic_new(state, &c) != EMU_OK) {
        ss_free(edge);
        ss_free(want);
        return EMU_NO_MEMORY;
    }
    rounds = (depth + 2) / 2 * 2; /* one more than the depth shows that nothing changes any more */
    CLASSIC_CODELET(g, "visit_u32", TAKES("level", U32), TAKES("edges", U32), TAKES("own", U32),
                    GIVES("out", U32), NUMBER("degree"), LENGTH_OF("n", "own"));
    edges = classic_blocks(g, ELEM_U32, p, n * degree, "edges");
    here = classic_blocks(g, ELEM_U32, p, n, "level");
    there = classic_blocks(g, ELEM_U32, p, n, "then");
    ss_program_add(g, both, visit_round(g, edges, here, there, degree));
    ss_program_add(g, both, visit_round(g, edges, there, here, degree));
    ss_program_add(g, seq, ss_program_repeat(g, rounds / 2, both));
    ss_graph_set_program(g, seq);
    classic_input(g, c, edges, edge);
    classic_input(g, c, here, first_levels(p * n));
    classic_result(g, c, here, want, 0);
    classic_note(c, "p", p);
    classic_note(c, "depth", depth);
    classic_note(c, "rounds", rounds);
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_search, "bfs", "breadth-first search in a random network", network_param,
                search_build, NULL);

/* ---- PageRank ---- */

static struct program pull_round(struct graph *g, struct tensor links, struct tensor part,
                                 const struct tensor *from, const struct tensor *to,
                                 uint32_t degree)
{
    uint32_t p = ss_tensor_shape(g, part)[0], n = ss_tensor_shape(g, part)[1];
    uint32_t cs = ss_graph_compute_set(g, "pull");

    for (uint32_t i = 0; i < p; i++) {
        uint32_t v = ss_graph_vertex(g, cs, "pull_f32", i);

        ss_vertex_connect(g, v, "share", all_of(g, from[1]));
        ss_vertex_connect(g, v, "links", ss_tensor_index(g, links, i));
        ss_vertex_connect(g, v, "part", ss_tensor_index(g, part, i));
        ss_vertex_connect(g, v, "rank", ss_tensor_index(g, to[0], i));
        ss_vertex_connect(g, v, "own", ss_tensor_index(g, to[1], i));
        ss_vertex_set_f32(g, v, "base", 0.15f / (float)(p * n));
        ss_vertex_set_f32(g, v, "damp", 0.85f);
        ss_vertex_set_u32(g, v, "degree", degree);
    }
    return ss_program_execute(g, cs);
}

/* The part of its rank that a page gives to each page it links to. */
static float *parts_of(const uint32_t *link, uint32_t pages, uint32_t degree)
{
    float *part = emu_alloc(pages, sizeof(*part));

    for (size_t i = 0; part && link && i < (size_t)pages * degree; i++)
        part[link[i]] += 1;
    for (uint32_t i = 0; part && i < pages; i++)
        part[i] = 1 / part[i]; /* every page links to the one after it */
    return part;
}

static float *first_shares(const float *part, uint32_t pages)
{
    float *share = emu_alloc(pages, sizeof(*share));

    for (uint32_t i = 0; share && part && i < pages; i++)
        share[i] = part[i] / (float)pages;
    return share;
}

/* The same operations in the same order, so the same bits. share: changed. */
static float *plain_ranks(const uint32_t *link, const float *part, float *share, uint32_t pages,
                          uint32_t degree, uint64_t rounds)
{
    float *rank = emu_alloc(pages, sizeof(*rank)), base = 0.15f / (float)pages;

    for (uint64_t k = 0; rank && link && part && share && k < rounds; k++) {
        for (uint32_t i = 0; i < pages; i++) {
            float sum = 0;

            for (uint32_t j = 0; j < degree; j++)
                sum += share[link[(size_t)i * degree + j]];
            rank[i] = base + sum * 0.85f;
        }
        for (uint32_t i = 0; i < pages; i++)
            share[i] = rank[i] * part[i];
    }
    return rank;
}

static void rank_data(struct graph *g, struct classic *c, const struct tensor *at, uint32_t degree,
                      uint64_t rounds)
{
    uint32_t pages = (uint32_t)ss_tensor_elements(g, at[1]);
    uint32_t *link = make_edges(pages, degree, 15);
    float *part = parts_of(link, pages, degree), *share = first_shares(part, pages);

    classic_result(g, c, at[2], plain_ranks(link, part, share, pages, degree, rounds), 0);
    ss_free(share);
    classic_input(g, c, at[3], first_shares(part, pages));
    classic_input(g, c, at[0], link);
    classic_input(g, c, at[1], part);
}

static enum emu_status rank_build(struct graph *g, const uint64_t *value, void **state)
{
    uint32_t p = classic_tiles(g, value[NETWORK_P], 64), n = (uint32_t)value[NETWORK_N];
    uint32_t degree = (uint32_t)value[NETWORK_DEGREE];
    struct program seq = ss_program_sequence(g), both = ss_program_sequence(g);
    struct tensor at[4], there[2]; /* links, part, rank, share */
    struct classic *c;

    if (value[RANK_ROUNDS] % 2)
        return FAIL(USAGE, "rounds is %llu, expected an even number",
                    (unsigned long long)value[RANK_ROUNDS]);
    TRY(classic_new(state, &c));
    CLASSIC_CODELET(g, "pull_f32", TAKES("share", F32), TAKES("links", U32), TAKES("part", F32),
                    GIVES("rank", F32), GIVES("own", F32), REAL("base"), REAL("damp"),
                    NUMBER("degree"), LENGTH_OF("n", "part"));
    at[0] = classic_blocks(g, ELEM_U32, p, n * degree, "links");
    at[1] = classic_blocks(g, ELEM_F32, p, n, "part");
    at[2] = classic_blocks(g, ELEM_F32, p, n, "rank");
    at[3] = classic_blocks(g, ELEM_F32, p, n, "share");
    there[0] = classic_blocks(g, ELEM_F32, p, n, "then_rank");
    there[1] = classic_blocks(g, ELEM_F32, p, n, "then_share");
    ss_program_add(g, both, pull_round(g, at[0], at[1], at + 2, there, degree));
    ss_program_add(g, both, pull_round(g, at[0], at[1], there, at + 2, degree));
    ss_program_add(g, seq, ss_program_repeat(g, (uint32_t)value[RANK_ROUNDS] / 2, both));
    ss_graph_set_program(g, seq);
    rank_data(g, c, at, degree, value[RANK_ROUNDS]);
    classic_note(c, "p", p);
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_rank, "pagerank", "PageRank of a random network of pages", rank_param,
                rank_build, NULL);
