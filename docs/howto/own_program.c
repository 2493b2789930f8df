/* own_program.c - twice a vector, with the command line of `superstep run`. */
#include <superstep.h>

static enum emu_status build(struct graph *g, const uint64_t *value, void **state)
{
    const uint32_t n = (uint32_t)value[0];
    const struct program steps = program_sequence(g);
    const struct tensor x = graph_variable(g, ELEM_F32, 1, &n, "x");

    (void)state;
    graph_map_linear(g, x, 2, 8, 0, graph_arch(g)->tiles);
    op_fill(g, steps, x, 1, "ones");
    graph_keep(g, op_binary(g, steps, BINARY_ADD, x, x, "twice"));
    graph_set_program(g, steps);
    return EMU_OK;
}

int main(int argc, char **argv)
{
    static const struct program_param n = { "n", 100000, 1, 10000000, "elements" };
    static const struct named_program own = {
        .name = "own_program", .text = "twice a vector", .param = &n, .params = 1, .build = build
    };

    return program_main(argc, argv, &own);
}
