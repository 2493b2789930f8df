/* model_inputs.c - files, pictures and drawn numbers for the inputs of a graph; outputs as files.
 */
#include "models/ask/model_inputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/hash.h"
#include "emu/base/json_read.h"
#include "emu/base/name_text.h"
#include "models/ask/model_request.h"
#include "models/graph/npy.h"
#include "models/onnx/onnx.h"
#include "models/onnx/onnx_map.h"
#include "models/picture/picture.h"
#include "models/ask/net_pictures.h"

/* What is read of the command line. */
OPTION_READ(LIST, input)
OPTION_READ(LIST, save)
OPTION_READ(TEXT, weights)
OPTION_READ(LIST, image)
OPTION_READ(NUMBER, resize)
OPTION_READ(PART, crop)
OPTION_READ(FLAG, no_resize)
OPTION_READ(FLAG, whole)
OPTION_READ(TEXT, mean)
OPTION_READ(TEXT, std)
OPTION_READ(WORD, channels)
OPTION_READ(TEXT, labels)

/* ---- files ---- */

static enum emu_status read_numbers(const char *path, struct op_tensor *out)
{
    struct onnx_mapped file;
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    TRY(onnx_map(path, &file));
    if (name_ends_with(path, ".npy"))
        s = npy_read(file.at, file.bytes, path, out);
    else if (name_ends_with(path, ".pb"))
        s = onnx_tensor_read(file.at, file.bytes, path, out);
    else
        s = FAIL(USAGE, "--input %s: expected a file FILE.npy or FILE.pb", path);
    onnx_unmap(&file);
    return s;
}

/* The value of a list that an option names: "NAME=FILE", or FILE alone if there is one value.
 * *file: the part that is the file. OP_NONE: there is none. */
static uint32_t named(const struct op_graph *g, const uint32_t *list, uint32_t n, const char *text,
                      const char **file)
{
    for (uint32_t k = 0; k < n; k++) {
        const char *name = g->value[list[k]].name;
        size_t length = strlen(name);

        if (!strncmp(text, name, length) && text[length] == '=') {
            *file = text + length + 1;
            return k;
        }
    }
    *file = text;
    return n == 1 && !strchr(text, '=') ? 0 : OP_NONE;
}

/* "x, y" */
static void names_text(const struct op_graph *g, const uint32_t *list, uint32_t n, char *out,
                       size_t bytes)
{
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t k = 0; k < n && used < bytes; k++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", k ? ", " : "",
                                 g->value[list[k]].name);
}

/* An integer as a type holds it, cut off where it is too large. */
static int64_t kept_of(int64_t number, enum op_type type)
{
    struct op_tensor one = { .shape = { .type = type }, .i = &number };

    op_tensor_round(&one);
    return number;
}

/* Integers for an input of integers; they may be beyond its range. */
static enum emu_status check_integers(const struct op_graph *g, uint32_t value, const char *file,
                                      const struct op_tensor *t)
{
    const struct op_shape *want = &g->value[value].shape;
    char text[OP_SHAPE_TEXT];
    uint64_t n = op_shape_count(want);

    for (uint64_t k = 0; k < n; k++) {
        if (kept_of(t->i[k], want->type) != t->i[k])
            return FAIL(BAD_FILE,
                        "%s: number %" PRIu64 " is %" PRId64 ", for input %s, which is %s", file, k,
                        t->i[k], g->value[value].name, op_shape_text(want, text));
    }
    return EMU_OK;
}

enum emu_status model_input_take(const struct op_graph *g, uint32_t value, const char *file,
                                 struct op_tensor *t)
{
    const struct op_shape *want = &g->value[value].shape;
    char a[OP_SHAPE_TEXT], b[OP_SHAPE_TEXT];
    int floats = op_type_kind(want->type) == OP_KIND_FLOAT;
    uint64_t n = op_shape_count(&t->shape);

    if (!op_shape_equal(&t->shape, want) ||
        (!floats && op_type_kind(t->shape.type) == OP_KIND_FLOAT))
        return FAIL(BAD_FILE, "%s: %s for input %s, which is %s", file, op_shape_text(&t->shape, a),
                    g->value[value].name, op_shape_text(want, b));
    for (uint64_t k = 0; floats && op_type_kind(t->shape.type) != OP_KIND_FLOAT && k < n; k++)
        t->f[k] = op_tensor_number(t, k);
    if (op_type_kind(want->type) == OP_KIND_INT)
        TRY(check_integers(g, value, file, t));
    t->shape.type = want->type;
    op_tensor_round(t);
    return EMU_OK;
}

static enum emu_status read_files(const struct request *q, const struct op_graph *g,
                                  struct model_input *in)
{
    char names[256];

    for (size_t i = 0; i < option_input(q)->count; i++) {
        const char *file;
        uint32_t k = named(g, g->input, g->inputs, option_input(q)->item[i], &file);

        names_text(g, g->input, g->inputs, names, sizeof(names));
        if (k == OP_NONE)
            return FAIL(USAGE, "--input %s: expected NAME=FILE with the name of an input: %s",
                        option_input(q)->item[i], names);
        if (in[k].numbers.any)
            return FAIL(USAGE, "--input %s: a second file for input %s", option_input(q)->item[i],
                        g->value[g->input[k]].name);
        TRY(read_numbers(file, &in[k].numbers));
        TRY(model_input_take(g, g->input[k], file, &in[k].numbers));
        snprintf(in[k].text, sizeof(in[k].text), "%s", file);
        in[k].name = emu_alloc(1, sizeof(*in[k].name));
        if (!in[k].name)
            return FAIL(NO_MEMORY, "%s", file);
        in[k].name[0] = file;
        in[k].names = 1;
    }
    return EMU_OK;
}

/* ---- pictures ---- */

/* How an input takes pictures. */
struct picture_input {
    uint32_t planes, width, height; /* planes 0: it takes none */
    int last;                       /* [n][h][w][planes] instead of [n][planes][h][w] */
    int usual; /* a square of three channels: it gets pictures without being asked */
};

static struct picture_input picture_input_of(const struct op_shape *s)
{
    struct picture_input p = { .planes = 0 };
    int bytes = s->type == OP_TYPE_U8;

    if (s->rank != 4 || (op_type_kind(s->type) != OP_KIND_FLOAT && !bytes))
        return p;
    p.last = s->dim[1] != 1 && s->dim[1] != 3;
    p.planes = s->dim[p.last ? 3 : 1];
    p.height = s->dim[p.last ? 1 : 2];
    p.width = s->dim[p.last ? 2 : 3];
    if ((p.planes != 1 && p.planes != 3) || !p.width || !p.height || p.width > PICTURE_SIDE_MAX ||
        p.height > PICTURE_SIDE_MAX)
        p.planes = 0;
    p.usual = p.planes == 3 && !p.last && !bytes && p.width == p.height &&
              p.width >= NET_SIDE_MIN && p.width <= NET_SIDE_MAX;
    return p;
}

/* Whether an input gets pictures. With --image these are the inputs that usually take pictures; if
 * there are none of that kind, all that could. */
static int gets_pictures(const struct request *q, const struct op_graph *g, uint32_t k)
{
    struct picture_input p = picture_input_of(&g->value[g->input[k]].shape);

    for (uint32_t i = 0; !p.usual && option_image(q)->count && i < g->inputs; i++) {
        if (picture_input_of(&g->value[g->input[i]].shape).usual)
            return 0;
    }
    return p.usual || (p.planes && option_image(q)->count);
}

/* The middle is cut out of pictures as for ImageNet, but not out of gray ones, such as digits: they
 * are taken whole, as `train` takes them. */
static struct picture_recipe recipe_for(const struct op_shape *s, const struct picture_input *p)
{
    struct picture_recipe r = picture_recipe_usual(p->width, p->height);

    if (p->planes == 1) {
        picture_recipe_gray(&r);
        r.whole = 1;
    }
    r.bytes = s->type == OP_TYPE_U8;
    return r;
}

/* Numbers of pictures, which are bytes, as an input of bytes. */
static enum emu_status to_bytes(const struct op_shape *s, struct op_tensor *t)
{
    struct op_tensor bytes;

    TRY(op_tensor_new(s, &bytes));
    for (uint64_t k = 0; k < op_shape_count(s); k++)
        bytes.i[k] = (int64_t)(t->f[k] + 0.5);
    op_tensor_free(t);
    *t = bytes;
    return EMU_OK;
}

static enum emu_status read_pictures(const struct request *q, const struct op_shape *s,
                                     const struct picture_recipe *recipe,
                                     const struct option_list *files, struct model_input *in)
{
    const struct picture_input how = picture_input_of(s);
    struct picture_recipe r = recipe ? *recipe : recipe_for(s, &how);
    struct net_pictures p = { .name = NULL };
    enum emu_status st = picture_choose(q, &r);

    if (st == EMU_OK)
        st = net_pictures_read(&r, s->dim[0], files, how.last, request_notes(q), &p);
    if (st == EMU_OK && r.bytes)
        st = to_bytes(s, &p.numbers);
    if (st != EMU_OK) {
        net_pictures_free(&p);
        return st;
    }
    in->numbers = p.numbers;
    in->name = p.name;
    in->names = s->dim[0];
    picture_recipe_text(&r, in->recipe);
    snprintf(in->text, sizeof(in->text), "%.100s%s: %s", p.name[0],
             s->dim[0] > 1 && files->count != 1 ? " and more" : "", in->recipe);
    return EMU_OK;
}

int model_input_pictures(const struct op_shape *s)
{
    return picture_input_of(s).planes != 0;
}

enum emu_status model_input_read_pictures(const struct request *q, const struct op_graph *g,
                                          uint32_t value, const struct picture_recipe *recipe,
                                          const struct option_list *files, struct model_input *in)
{
    const struct op_shape *s = &g->value[value].shape;
    struct model_input read = { .names = 0 };

    if (!model_input_pictures(s))
        return FAIL(USAGE,
                    "input %s takes no pictures, which are [n][1 or 3][height][width] or "
                    "[n][height][width][1 or 3]",
                    g->value[value].name);
    TRY(read_pictures(q, s, recipe, files, &read));
    model_input_free(in);
    *in = read;
    return EMU_OK;
}

void model_input_free(struct model_input *in)
{
    op_tensor_free(&in->numbers);
    ss_free(in->name);
    in->name = NULL;
}

/* ---- drawn numbers ---- */

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return hash64(state, sizeof(*state));
}

static enum emu_status draw(const struct op_shape *s, uint32_t seed, struct model_input *in)
{
    uint64_t state = seed, n = op_shape_count(s);

    TRY(op_tensor_new(s, &in->numbers));
    for (uint64_t k = 0; k < n; k++) {
        uint64_t r = next_random(&state) >> 32;

        if (op_type_kind(s->type) == OP_KIND_FLOAT)
            in->numbers.f[k] = (double)r * 0x1p-31 - 1;
        else
            in->numbers.i[k] = (int64_t)(r & 1);
    }
    op_tensor_round(&in->numbers);
    snprintf(in->text, sizeof(in->text), "drawn numbers");
    return EMU_OK;
}

/* Options that prepare pictures, where no input takes any. */
static enum emu_status refuse_preparation(const struct request *q)
{
    const struct {
        unsigned id;
        const char *name;
    } preparing[] = { { OPTION_resize, "resize" },       { OPTION_crop, "crop" },
                      { OPTION_no_resize, "no-resize" }, { OPTION_whole, "whole" },
                      { OPTION_mean, "mean" },           { OPTION_std, "std" },
                      { OPTION_channels, "channels" } };

    for (size_t k = 0; k < EMU_COUNT_OF(preparing); k++) {
        if (request_has(q, preparing[k].id))
            return FAIL(USAGE, "--%s: no input gets pictures%s", preparing[k].name,
                        option_image(q)->count ? "" : "; --image FILE");
    }
    return EMU_OK;
}

enum emu_status model_inputs_read(const struct request *q, const struct op_graph *g,
                                  const struct picture_recipe *recipe, struct model_input *in)
{
    uint32_t pictures = 0;

    TRY(read_files(q, g, in));
    for (uint32_t k = 0; k < g->inputs; k++) {
        const struct op_shape *s = &g->value[g->input[k]].shape;

        if (in[k].numbers.any)
            continue;
        if (gets_pictures(q, g, k)) {
            TRY(read_pictures(q, s, recipe, option_image(q), &in[k]));
            pictures++;
        } else {
            TRY(draw(s, k + 1, &in[k]));
        }
    }
    if (!pictures)
        TRY(refuse_preparation(q));
    if (option_image(q)->count && pictures != 1)
        return FAIL(USAGE,
                    "--image: %u inputs take pictures, which are [n][1 or 3][height][width] or "
                    "[n][height][width][1 or 3]",
                    pictures);
    return EMU_OK;
}

/* ---- outputs ---- */

enum emu_status model_output_check(const struct request *q, const char *path)
{
    TRY(output_not_input(path, q->what));
    TRY(output_not_input(path, option_labels(q)));
    TRY(output_not_input(path, option_weights(q)));
    for (size_t i = 0; i < option_image(q)->count; i++)
        TRY(output_not_input(path, option_image(q)->item[i]));
    for (size_t i = 0; i < option_input(q)->count; i++) {
        const char *equals = strchr(option_input(q)->item[i], '=');

        TRY(output_not_input(path, equals ? equals + 1 : option_input(q)->item[i]));
    }
    return EMU_OK;
}

enum emu_status model_saves_open(const struct request *q, const struct op_graph *g,
                                 struct model_save *save)
{
    char names[256];

    for (size_t i = 0; i < option_save(q)->count; i++) {
        const char *file;

        save[i].output = named(g, g->output, g->outputs, option_save(q)->item[i], &file);
        names_text(g, g->output, g->outputs, names, sizeof(names));
        if (save[i].output == OP_NONE)
            return FAIL(USAGE, "--save %s: expected NAME=FILE.npy with the name of an output: %s",
                        option_save(q)->item[i], names);
        TRY(model_output_check(q, file));
        TRY(output_open(file, &save[i].file));
    }
    return EMU_OK;
}
