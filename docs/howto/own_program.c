/* own_program.c - twice a vector, with the command line of `superstep run`. */
#include <superstep.h>

static enum emu_status build(struct graph *g, const uint64_t *value, void **state)
{
    const uint32_t n = (uint32_t)value[0];
    const struct program steps = ss_program_sequence(g);
    const struct tensor x = ss_graph_variable(g, ELEM_F32, 1, &n, "x");

    (void)state;
    ss_graph_map_linear(g, x, 2, 8, 0, ss_graph_arch(g)->tiles);
    ss_op_fill(g, steps, x, 1, "ones");
    ss_graph_keep(g, ss_op_binary(g, steps, BINARY_ADD, x, x, "twice"));
    ss_graph_set_program(g, steps);
    return EMU_OK;
}

int main(int argc, char **argv)
{
    static const struct program_param n = { "n", 100000, 1, 10000000, "elements" };
    static const struct named_program own = {
        .name = "own_program", .text = "twice a vector", .param = &n, .params = 1, .build = build
    };

    return ss_program_main(argc, argv, &own);
}
