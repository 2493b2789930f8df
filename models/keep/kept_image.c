/* kept_image.c - inputs and outputs of images that were kept. */
#include "models/keep/kept_image.h"

#include <string.h>

#include "emu/base/alloc.h"

/* The type of the elements of an input or output of the image; ELEM_COUNT: there is none of that
 * name. */
static enum elem elem_of(const struct image *im, const char *name, int output)
{
    size_t n = output ? image_output_count(im) : image_input_count(im);

    for (size_t i = 0; i < n; i++) {
        const struct image_input *in = output ? image_output_at(im, i) : image_input_at(im, i);

        if (strcmp(image_text(im, in->name), name) != 0)
            continue;
        for (enum elem e = 0; e < ELEM_COUNT; e++) {
            if (!strcmp(image_text(im, in->type), elem_name(e)))
                return e;
        }
    }
    return ELEM_COUNT;
}

static enum emu_status pack(const struct op_graph *g, uint32_t k, const struct op_tensor *t,
                            const struct image *im, uint8_t **data, uint64_t *bytes)
{
    uint32_t value = g->input[k];
    const char *name = g->value[value].name;
    enum elem e = elem_of(im, name, 0);

    if (e == ELEM_COUNT)
        return FAIL(BAD_IMAGE, "an image without an input %s", name);
    return op_numbers_pack(e, value_is_picture(g, value) ? 4 : 0, name, t, data, bytes);
}

static enum emu_status kept_input_write(const struct op_graph *g, uint32_t k,
                                        const struct op_tensor *t, const struct image *im,
                                        struct run *r)
{
    enum emu_status s;
    uint64_t bytes;
    uint8_t *data;

    TRY(pack(g, k, t, im, &data, &bytes));
    s = run_input_write(r, g->value[g->input[k]].name, data, bytes);
    emu_free(data);
    return s;
}

enum emu_status network_input_write(const struct op_graph *g, uint32_t k, const struct op_tensor *t,
                                    const struct op_program *p, const struct image *im,
                                    struct session *s)
{
    return im ? kept_input_write(g, k, t, im, session_run_image(s)) : op_program_write(p, s, k, t);
}

enum emu_status kept_input_fill(const struct op_graph *g, uint32_t k, const struct op_tensor *t,
                                struct image *im)
{
    enum emu_status s;
    uint64_t bytes;
    uint8_t *data;

    TRY(pack(g, k, t, im, &data, &bytes));
    s = image_fill_input(im, g->value[g->input[k]].name, data);
    emu_free(data);
    return s;
}

enum emu_status kept_output_read(const struct op_graph *g, uint32_t k, const struct image *im,
                                 const struct run *r, struct op_tensor *out)
{
    const struct op_value *v = &g->value[g->output[k]];
    enum elem e = elem_of(im, v->name, 1);
    uint64_t n = op_shape_count(&v->shape);
    enum emu_status s;
    uint8_t *data;

    memset(out, 0, sizeof(*out));
    if (e == ELEM_COUNT)
        return FAIL(BAD_IMAGE, "an image without an output %s", v->name);
    data = emu_alloc(n + 1, elem_bytes(e));
    if (!data)
        return FAIL(NO_MEMORY, "%s", v->name);
    s = run_output_read(r, v->name, data, n * elem_bytes(e));
    if (s == EMU_OK)
        s = op_numbers_unpack(e, data, &v->shape, out);
    emu_free(data);
    return s;
}
