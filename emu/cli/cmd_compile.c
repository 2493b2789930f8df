/* cmd_compile.c - assembles the programs of a manifest and writes the image. */
#include <inttypes.h>
#include <stdio.h>

#include "emu/cli/emu_commands.h"
#include "emu/cli/manifest_request.h"

/* What is read of the command line. */
OPTION_READ(NUMBER, threads)
OPTION_READ(TEXT, output)

static void print(const struct image *im, const char *path)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < image_tile_count(im); i++) {
        const struct image_tile *t = image_tile_at(im, i);

        for (uint32_t k = 0; k < t->segments; k++)
            bytes += image_segment_at(im, t->first_segment + k)->bytes;
    }
    printf("image %s\nmachine %s\ntiles_used %zu\nstreams %zu\nbytes %" PRIu64 "\n", path,
           ss_image_arch(im)->name, image_tile_count(im), image_stream_count(im), bytes);
}

static enum emu_status compile(const struct request *q)
{
    struct manifest *m;
    struct image *im = NULL;
    struct output_file *out;
    enum emu_status s;

    if (!option_output(q))
        return FAIL(USAGE, "compile writes an image: -o FILE.img");
    TRY(output_not_input(option_output(q), q->what));
    TRY(manifest_of_request(q, &m));
    s = output_open(option_output(q), &out);
    if (s == EMU_OK)
        s = ss_manifest_build(m, (unsigned)option_threads(q), stderr, &im);
    if (s == EMU_OK)
        s = image_write_to(im, out);
    s = output_end(out, s);
    if (s == EMU_OK)
        print(im, option_output(q));
    ss_image_free(im);
    ss_manifest_free(m);
    return s;
}

int compile_file(const struct request *q)
{
    return compile(q) == EMU_OK ? 0 : request_failed(q, NULL);
}
