/* own_network.c - runs a network and says where its cycles went: own_network FILE.onnx [OPTIONS] */
#include <stdio.h>

#include <superstep.h>

static int failed(struct ss_network *n)
{
    fprintf(stderr, "%s\n", ss_error());
    ss_network_close(n);
    return 1;
}

int main(int argc, char **argv)
{
    const char *const *words = (const char *const *)argv + 2;
    struct ss_network *n = NULL;
    struct ss_layer l;

    if (argc < 2 || ss_network_open(argv[1], words, (size_t)argc - 2, NULL, &n) != EMU_OK ||
        ss_network_run(n) != EMU_OK)
        return failed(n);
    for (uint32_t i = 0; i < ss_network_layers(n); i++) {
        if (ss_network_layer(n, i, &l) != EMU_OK)
            return failed(n);
        printf("%-24s %-24s %8llu\n", l.name, l.op, (unsigned long long)l.cycles);
    }
    printf("%llu cycles, %g s\n", (unsigned long long)ss_network_cycles(n), ss_network_seconds(n));
    ss_network_close(n);
    return 0;
}
