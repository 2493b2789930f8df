/* fuzz_graph_file.c - any bytes as a graph file: refused with its name and a line, or a graph whose
 * text reads back as the same text. What passes ss_graph_check() and is small is compiled. */
#include <stdlib.h>
#include <string.h>

#include "emu/emu.h"
#include "programs/compiler/graph/graph.h"
#include "programs/compiler/graph_file.h"
#include "programs/programs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ELEMENTS_MAX = 20000, TILES_MAX = 64 };

static char *text_of(const struct graph *g, size_t *bytes)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, bytes);

    EMU_ASSERT(f && ss_graph_write(g, f) == EMU_OK && !fclose(f));
    return text;
}

static enum emu_status read_bytes(const void *data, size_t size, struct graph **out)
{
    const struct graph_source s = { .text = data, .bytes = size, .name = "fuzz", .no_files = 1 };

    return ss_graph_read(&s, NULL, &ss_kernel_library, out);
}

/* Views and variables together. */
static int is_small(const struct graph *g)
{
    uint64_t n = g->arch.tiles > TILES_MAX ? ELEMENTS_MAX : 0;

    for (size_t i = 0; i < g->view.count && n < ELEMENTS_MAX; i++)
        n += g->view.at[i].elements;
    return n < ELEMENTS_MAX;
}

static void compile(struct graph *g)
{
    const struct compile_options o = { .threads = 1 };
    struct compiled *c;
    enum emu_status s = ss_graph_compile(g, &o, &c);

    EMU_ASSERT(s == EMU_OK || ss_error()[0]);
    ss_compiled_free(c);
}

/* Written and read, the text is the same. */
static void again(const struct graph *g)
{
    size_t bytes, more;
    char *text = text_of(g, &bytes), *other;
    struct graph *h;

    EMU_ASSERT(read_bytes(text, bytes, &h) == EMU_OK);
    other = text_of(h, &more);
    EMU_ASSERT(bytes == more && !memcmp(text, other, bytes));
    ss_graph_free(h);
    free(text); /* allocated by open_memstream */
    free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct graph *g;
    enum emu_status s = read_bytes(data, size, &g);

    if (s != EMU_OK) {
        EMU_ASSERT(!g && (s == EMU_NO_MEMORY || !strncmp(ss_error(), "fuzz:", 5)));
        EMU_ASSERT(alloc_live() == 0);
        return 0;
    }
    again(g);
    if (is_small(g))
        compile(g);
    ss_graph_free(g);
    return 0;
}
