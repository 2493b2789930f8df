/* manifest_request.c - the manifest that a request is about. */
#include "emu/cli/manifest_request.h"

#include "emu/cli/look_file.h"

/* What is read of the command line. */
OPTION_READ(TEXT, machine)
OPTION_READ(LIST, set)
OPTION_READ(LIST, define)
OPTION_READ(NUMBER, chips)

static int is_source(const struct request *q)
{
    return (q->use & (THING_SOURCE | THING_SOURCE << USE_COMPILE_SHIFT)) != 0;
}

static enum emu_status read_any(const struct request *q, const struct manifest_options *o,
                                struct manifest **out)
{
    const char *name = look_file_name(q), *path = q->path ? q->path : q->what;

    if (is_source(q))
        return manifest_for_source(name, q->bytes, o, out);
    return q->bytes ? ss_manifest_read_text(q->bytes, q->byte_count, name, o, out)
                    : ss_manifest_read(path, o, out);
}

enum emu_status manifest_of_request(const struct request *q, struct manifest **out)
{
    const struct manifest_options o = { .machine = option_machine(q),
                                        .set = option_set(q)->item,
                                        .sets = option_set(q)->count,
                                        .chips = (uint32_t)option_chips(q),
                                        .define = option_define(q)->item,
                                        .defines = option_define(q)->count };

    *out = NULL;
    return read_any(q, &o, out);
}
