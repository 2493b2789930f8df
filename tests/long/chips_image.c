/* chips_image.c - for chips.sh, compilers.sh and races.sh: writes the image of a program that is
 * compiled for several chips. On every chip a matrix is multiplied by weights of the chip, and the
 * product is the next matrix, but for its first rows: those are the last rows of the chip before
 * in the ring, or of the chip itself, if it is alone.
 *
 *   chips_image MACHINE CHIPS SIDE ROWS TURNS FILE.img     SIDE x SIDE f16, of which ROWS are sent
 */
#include <stdio.h>
#include <stdlib.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "emu/base/random.h"
#include "emu/emu.h"
#include "programs/programs.h"

enum { CHIPS_MAX = 16 };

struct ring {
    struct arch arch;
    uint32_t side, rows, turns;
    struct graph *g[CHIPS_MAX];
};

/* A matrix of small numbers: products of products stay within f16. */
static struct tensor matrix(struct graph *g, uint32_t side, uint64_t seed, const char *name)
{
    const uint32_t shape[] = { side, side };
    struct fp_env nearest = { .rnd = FP_RND_NEAREST };
    uint16_t *data = emu_alloc((size_t)side * side, sizeof(*data));
    struct tensor t;

    EMU_ASSERT(data);
    for (size_t i = 0; i < (size_t)side * side; i++)
        data[i] = fp_f16_from_f64(random_normal(&seed) / side, 0, &nearest);
    t = ss_graph_constant(g, ELEM_F16, 2, shape, data, name);
    ss_free(data);
    ss_graph_map_linear(g, t, side, side, 0, ss_graph_arch(g)->tiles);
    return t;
}

static struct tensor batch_of_one(struct graph *g, struct tensor t, uint32_t side)
{
    const uint32_t shape[] = { 1, side, side };

    return ss_tensor_reshape(g, t, 3, shape);
}

/* The channel from chip k to the next one is called k. */
static uint32_t channel(const struct ring *r, unsigned k, enum channel_way way, struct graph *g)
{
    char name[16];

    snprintf(name, sizeof(name), "%u", k);
    return ss_graph_channel(g, way, ELEM_F16, (uint64_t)r->side * r->rows, 0, name);
}

static struct program pass_on(const struct ring *r, unsigned chip, struct tensor out,
                              struct tensor in)
{
    unsigned chips = r->arch.chips;
    struct graph *g = r->g[chip];
    struct channel_use use[2];

    if (chips == 1)
        return ss_program_copy(g, out, in);
    use[0] = (struct channel_use){ channel(r, chip, CHANNEL_SEND, g), out };
    use[1] = (struct channel_use){ channel(r, (chip + chips - 1) % chips, CHANNEL_RECEIVE, g), in };
    return ss_program_exchange_chips(g, CHIPS_OF_REPLICA, use, 2);
}

static void make_chip(struct ring *r, unsigned chip)
{
    const uint32_t shape[] = { r->side, r->side };
    struct graph *g = r->g[chip];
    struct program all = ss_program_sequence(g), turn = ss_program_sequence(g);
    struct tensor first = matrix(g, r->side, 2 * chip + 1, "first");
    struct tensor weights = matrix(g, r->side, 2 * chip + 2, "weights");
    struct tensor x = ss_graph_variable(g, ELEM_F16, 2, shape, "x"), product;

    ss_graph_map_linear(g, x, r->side, r->side, 0, r->arch.tiles);
    ss_graph_keep(g, x);
    product = ss_op_product(g, turn, batch_of_one(g, x, r->side), batch_of_one(g, weights, r->side),
                            "product");
    product = ss_tensor_reshape(g, product, 2, shape);
    product = ss_op_binary_scalar(g, turn, BINARY_ADD, product, 0.5F, "more");
    ss_program_add(g, turn, ss_program_copy(g, product, x));
    ss_program_add(g, turn,
                   pass_on(r, chip, ss_tensor_slice(g, product, 0, r->side - r->rows, r->side),
                           ss_tensor_slice(g, x, 0, 0, r->rows)));
    ss_program_add(g, all, ss_program_copy(g, first, x));
    ss_program_add(g, all, ss_program_repeat(g, r->turns, turn));
    ss_graph_set_program(g, all);
}

static enum emu_status make_image(struct ring *r, const char *path)
{
    const struct compile_options o = { .threads = 2 };
    struct compiled *c = NULL;
    enum emu_status s = EMU_OK;

    for (unsigned k = 0; k < r->arch.chips && s == EMU_OK; k++) {
        s = ss_graph_new(&r->arch, &ss_kernel_library, &r->g[k]);
        if (s == EMU_OK)
            make_chip(r, k);
    }
    if (s == EMU_OK)
        s = ss_graphs_compile(r->g, r->arch.chips, &o, &c);
    if (s == EMU_OK)
        s = ss_compiled_fits(c) ? ss_image_write(ss_compiled_image(c), path)
                                : FAIL(NO_MEMORY, "it does not fit");
    ss_compiled_free(c);
    for (unsigned k = 0; k < r->arch.chips; k++)
        ss_graph_free(r->g[k]);
    return s;
}

int main(int argc, char **argv)
{
    struct ring r = { .turns = 0 };
    unsigned long chips = argc == 7 ? strtoul(argv[2], NULL, 0) : 0;

    if (chips < 1 || chips > CHIPS_MAX) {
        fprintf(stderr, "chips_image MACHINE CHIPS SIDE ROWS TURNS FILE.img\n");
        return 2;
    }
    r.side = (uint32_t)strtoul(argv[3], NULL, 0);
    r.rows = (uint32_t)strtoul(argv[4], NULL, 0);
    r.turns = (uint32_t)strtoul(argv[5], NULL, 0);
    if (ss_arch_from_name_or_file(argv[1], &r.arch) == EMU_OK) {
        r.arch.chips = (uint32_t)chips;
        if (make_image(&r, argv[6]) == EMU_OK)
            return 0;
    }
    fprintf(stderr, "chips_image: %s\n", ss_error());
    return 1;
}
