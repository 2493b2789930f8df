/* product_hold.c - the right operand of products that are computed again and again, where they use
 * it. */
#include "programs/library/layout/tile_parts.h"
#include "programs/library/matmul/product.h"

/* [rows][terms] as [row blocks][term blocks][block rows][block terms]; what is missing are zeros.
 */
static struct tensor in_blocks(struct graph *g, struct tensor t, const struct product_plan *p)
{
    static const uint64_t nothing;
    static const uint32_t one[] = { 1, 1 };
    uint32_t block = product_block(p->shape.elem);
    const uint32_t to[] = { p->nb * block, p->kb * block };
    struct tensor zero = ss_graph_constant(g, p->shape.elem, 2, one, &nothing, "zero");

    ss_graph_map(g, zero, 0);
    for (unsigned d = 0; d < 2; d++) {
        uint32_t size[] = { ss_tensor_shape(g, t)[0], ss_tensor_shape(g, t)[1] };
        struct tensor part[] = { t, zero };

        size[d] = to[d] - size[d];
        if (!size[d])
            continue;
        part[1] = ss_tensor_broadcast(g, ss_tensor_broadcast(g, zero, 0, size[0]), 1, size[1]);
        t = ss_tensor_concat(g, part, 2, d);
    }
    t = ss_tensor_reshape(g, t, 4, (const uint32_t[]){ p->nb, block, p->kb, block });
    return ss_tensor_transpose(g, t, (const unsigned[]){ 0, 2, 1, 3 });
}

/* Maps [nb][kb][block][block] as the shares of the plan are, one on a tile. */
static void map_shares(struct graph *g, struct tensor t, const struct product_plan *p)
{
    for (uint32_t i = 0; i < p->sk * p->sn; i++) {
        uint32_t k = i / p->sn, n = i % p->sn;
        struct tensor part =
            ss_tensor_slice(g, t, 0, cut_at(p->nb, p->sn, n), cut_at(p->nb, p->sn, n + 1));

        part = ss_tensor_slice(g, part, 1, cut_at(p->kb, p->sk, k), cut_at(p->kb, p->sk, k + 1));
        ss_graph_map(g, part, product_tile(g, 0, i, p->sk * p->sn));
    }
}

struct tensor ss_op_product_hold(struct graph *g, struct program seq, uint32_t m, struct tensor b,
                                 const char *name)
{
    const uint32_t *s = ss_tensor_shape(g, b);
    uint32_t k = s[1], n = s[2], block = product_block(ss_tensor_elem(g, b));
    const struct product_shape shape = { ss_tensor_elem(g, b), s[0], m, n, k };
    struct product_plan p;
    struct tensor t, held;
    enum emu_status st;

    if (ss_tensor_rank(g, b) != 3)
        ss_graph_fail(g, EMU_BAD_PROGRAM, "%s: expected [1][k][n], got %u dimensions", name,
                      ss_tensor_rank(g, b));
    if (ss_graph_status(g) != EMU_OK || !s[0] || !m || !n || !k)
        return b;
    st = plan_product(ss_graph_arch(g), &shape, ss_graph_compute_tiles(g), &p);
    if (st != EMU_OK) {
        ss_graph_fail(g, st, "%s: %s", name, ss_error());
        return b;
    }
    if (s[0] != 1 || p.sm != 1)
        return b;
    t = ss_tensor_transpose(g, ss_tensor_index(g, b, 0), (const unsigned[]){ 1, 0 });
    held =
        ss_graph_variable(g, shape.elem, 4, (const uint32_t[]){ p.nb, p.kb, block, block }, name);
    map_shares(g, held, &p);
    ss_program_add(g, seq, ss_program_copy(g, in_blocks(g, t, &p), held));
    t = ss_tensor_transpose(g, held, (const unsigned[]){ 1, 3, 0, 2 });
    t = ss_tensor_reshape(g, t, 3, (const uint32_t[]){ 1, p.kb * block, p.nb * block });
    return ss_tensor_slice(g, ss_tensor_slice(g, t, 1, 0, k), 2, 0, n);
}
