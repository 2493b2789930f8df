/* cmd_compile.c - assembles the programs of a manifest and writes the image. */
#include "emu/cli/cmd_compile.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>

#include "emu/cli/command_line.h"
#include "emu/cli/commands.h"
#include "emu/cli/machine_choice.h"
#include "emu/run/manifest.h"

enum { KEY_OUTPUT = 'o', KEY_THREADS = 'j' };

struct request {
    const char *path, *output;
    struct machine_choice machine;
    struct manifest_options options;
    unsigned threads;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct request *r = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &r->machine;
        return 0;
    case ARGP_KEY_ARG:
        if (r->path)
            argp_error(state, "one manifest at a time: '%s' is one too many", arg);
        r->path = arg;
        return 0;
    case KEY_OUTPUT:
        r->output = arg;
        return 0;
    case KEY_THREADS:
        r->threads = (unsigned)option_number(state, arg, 4096);
        return 0;
    case ARGP_KEY_END:
        if (!r->path || !r->output)
            argp_error(state, "which files? compile FILE.bsp.json -o FILE.img");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    { "output", KEY_OUTPUT, "FILE", 0, "the image to write", 0 },
    { "threads", KEY_THREADS, "N", 0, "threads that assemble (default: all cores)", 0 },
    { 0 },
};

static const struct argp_child children[] = { { &machine_choice_argp, 0, NULL, 0 }, { 0 } };

static const struct argp parser = {
    .options = options,
    .parser = parse_option,
    .children = children,
    .args_doc = "FILE.bsp.json -o FILE.img",
    .doc = "Assemble a whole-machine program and write its image.",
};

static void print(const struct image *im, const char *path)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < image_tile_count(im); i++) {
        const struct image_tile *t = image_tile_at(im, i);

        for (uint32_t k = 0; k < t->segments; k++)
            bytes += image_segment_at(im, t->first_segment + k)->bytes;
    }
    printf("image %s\nmachine %s\ntiles_used %zu\nstreams %zu\nbytes %" PRIu64 "\n", path,
           image_arch(im)->name, image_tile_count(im), image_stream_count(im), bytes);
}

static enum emu_status compile(struct request *r)
{
    struct manifest *m;
    struct image *im = NULL;
    enum emu_status s;

    TRY(manifest_read(r->path, &r->options, &m));
    s = manifest_build(m, r->threads, stderr, &im);
    if (s == EMU_OK)
        s = image_write(im, r->output);
    if (s == EMU_OK)
        print(im, r->output);
    image_free(im);
    manifest_free(m);
    return s;
}

int cmd_compile(int argc, char **argv)
{
    struct request r = { .path = NULL };

    if (command_line_parse(&parser, argc, argv, &r))
        return EXIT_BAD;
    r.options.machine = r.machine.name;
    r.options.set = r.machine.set;
    r.options.sets = r.machine.sets;
    if (compile(&r) == EMU_OK)
        return EXIT_RAN;
    fprintf(stderr, "superstep compile: %s\n", emu_error());
    return EXIT_BAD;
}
