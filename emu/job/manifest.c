/* manifest.c - lookups in a manifest, and its end. */
#include "emu/job/manifest.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/fail.h"

char *manifest_path(const struct manifest *m, const char *path)
{
    size_t n = strlen(m->directory) + strlen(path) + 1;
    char *out = emu_alloc(n, 1);

    if (out)
        snprintf(out, n, "%s%s", path[0] == '/' ? "" : m->directory, path);
    return out;
}

const struct manifest_memory *manifest_find_memory(const struct manifest_program *p,
                                                   const char *name)
{
    for (size_t i = 0; i < p->memories; i++) {
        if (!strcmp(p->memory[i].place.name, name))
            return &p->memory[i];
    }
    return NULL;
}

static int list_has(const struct tile_list *l, uint32_t number)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->tile[i] == number)
            return 1;
    }
    return 0;
}

const struct manifest_program *manifest_program_of(const struct manifest *m, uint32_t chip,
                                                   uint32_t tile)
{
    for (size_t i = 0; i < m->programs; i++) {
        if (list_has(&m->program[i].chips, chip) && list_has(&m->program[i].tiles, tile))
            return &m->program[i];
    }
    return NULL;
}

int manifest_is_case(const json_t *root)
{
    static const char *const keys[] = { "asm", "source", "entry", "as" };

    for (size_t i = 0; i < EMU_COUNT_OF(keys); i++) {
        if (json_object_get(root, keys[i]) && !json_object_get(root, "programs"))
            return 1;
    }
    return 0;
}

static void tile_case_free(struct tile_case *c)
{
    for (size_t i = 0; c && i < c->set_count; i++)
        manifest_data_free(&c->set[i].value);
    for (size_t i = 0; c && i < c->expect_register_count; i++)
        manifest_data_free(&c->expect_register[i].value);
    if (c) {
        manifest_data_free(&c->state.init);
        case_data_free(&c->weights);
        ss_free(c->set);
        ss_free(c->expect_register);
    }
    ss_free(c);
}

void ss_manifest_free(struct manifest *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->programs; i++)
        program_free(&m->program[i]);
    for (size_t i = 0; i < m->streams; i++) {
        manifest_data_free(&m->stream[i].data);
        manifest_data_free(&m->stream[i].expect);
    }
    for (size_t i = 0; i < m->expects; i++) {
        manifest_data_free(&m->expect[i].value);
        tile_list_free(&m->expect[i].chips);
        tile_list_free(&m->expect[i].tiles);
    }
    for (size_t i = 0; i < m->includes; i++)
        ss_free(m->include[i]);
    tile_case_free(m->tile_case);
    ss_free(m->parameter);
    ss_free(m->program);
    ss_free(m->stream);
    ss_free(m->expect);
    ss_free(m->include);
    ss_free(m->path);
    ss_free(m->directory);
    json_decref(m->root);
    ss_free(m);
}
