/* graph_program.c - reads the graph file of a request, gives it numbers, and says what came out. */
#include "programs/cli/graph_program.h"

#include <string.h>

#include "emu/base/json_read.h"
#include "emu/cli/look_file.h"
#include "programs/cli/program_ports.h"
#include "programs/compiler/graph/graph_words.h"
#include "programs/programs.h"

/* What is read of the command line. */
OPTION_READ(TEXT, machine)
OPTION_READ(LIST, define)

static const char head[] = GRAPH_FILE_WORD " ";
enum { HEAD_BYTES = sizeof(head) - 1 };

struct graph_state {
    const struct request *q; /* borrowed, like the next */
    const struct program_graphs *g;
    struct port_inputs in;
};

int graph_program_is(const struct request *q)
{
    size_t n = strlen(q->what);
    char found[HEAD_BYTES];
    FILE *f;
    int is;

    if (q->bytes)
        return q->byte_count >= HEAD_BYTES && !memcmp(q->bytes, head, HEAD_BYTES);
    if (n > 6 && !strcmp(q->what + n - 6, ".graph"))
        return 1;
    f = fopen(q->what, "rb");
    is = f && fread(found, 1, HEAD_BYTES, f) == HEAD_BYTES && !memcmp(found, head, HEAD_BYTES);
    if (f)
        fclose(f);
    return is;
}

static enum emu_status read_source(const struct request *q, const struct graph_source *source,
                                   struct program_graphs *out)
{
    unsigned chips;
    struct arch a;

    TRY(ss_graph_read_chips(source, &chips));
    if (!option_machine(q))
        TRY(ss_graph_read_machine(source, &a));
    TRY(request_arch_of_chips(q, chips, &a));
    return ss_graphs_read(source, &a, &ss_kernel_library, &out->g, &out->chips);
}

enum emu_status graph_program_read(const struct request *q, struct program_graphs *out,
                                   void **state)
{
    struct graph_source source = { .text = q->bytes, .bytes = q->byte_count };
    char *text = NULL;
    struct graph_state *x;
    enum emu_status s = EMU_OK;

    *out = (struct program_graphs){ NULL, 0 };
    *state = NULL;
    if (option_define(q)->count)
        return FAIL(USAGE, "-D %s: a graph file has no parameters", option_define(q)->item[0]);
    if (!q->bytes)
        s = json_read_file(q->what, &text, &source.bytes);
    source.name = look_file_name(q);
    source.text = q->bytes ? q->bytes : text;
    if (s == EMU_OK)
        s = read_source(q, &source, out);
    ss_free(text);
    TRY(s);
    x = emu_alloc(1, sizeof(*x));
    *state = x;
    if (!x)
        return FAIL(NO_MEMORY, "%s", source.name);
    x->q = q;
    x->g = out;
    return EMU_OK;
}

static enum emu_status before(struct session *s, void *state)
{
    struct graph_state *x = state;

    return port_inputs_write(x->q, s, x->g, &x->in);
}

static enum emu_status after(struct session *s, void *state, json_t *answer)
{
    const struct graph_state *x = state;

    return ports_answer(x->q, s, x->g, answer);
}

static void done(void *state)
{
    struct graph_state *x = state;

    port_inputs_free(&x->in);
    ss_free(x);
}

const struct named_program graph_program = {
    .name = "graph file", .text = "", .before = before, .after = after, .done = done
};
