/* model_output.c - opens and writes the files of a run. */
#include "models/answer/model_output.h"

#include "emu/base/alloc.h"
#include "models/ask/model_request.h"
#include "models/graph/npy.h"
#include "models/weights/safetensors.h"

/* What is read of the command line. */
OPTION_READ(TEXT, digests)
OPTION_READ(TEXT, profile)
OPTION_READ(TEXT, trace_out)
OPTION_READ(TEXT, html)
OPTION_READ(TEXT, output)
OPTION_READ(TEXT, chart)
OPTION_READ(LIST, save)
OPTION_READ(TEXT, logits)

static enum emu_status open_one(const struct request *q, const char *path, struct output_file **out)
{
    TRY(model_output_check(q, path));
    return output_open(path, out);
}

enum emu_status model_files_open(const struct request *q, const struct op_graph *g,
                                 struct model_files *out)
{
    *out = (struct model_files){ .saves = option_save(q)->count };
    TRY(open_one(q, option_output(q), &out->image));
    TRY(open_one(q, option_digests(q), &out->digests));
    TRY(open_one(q, option_chart(q), &out->chart));
    TRY(open_one(q, option_logits(q), &out->logits));
    TRY(model_output_check(q, option_profile(q)));
    TRY(model_output_check(q, option_trace_out(q)));
    TRY(model_output_check(q, option_html(q)));
    TRY(profile_files_open(q, &out->profile));
    out->save = emu_alloc(option_save(q)->count + 1, sizeof(*out->save));
    return out->save ? model_saves_open(q, g, out->save) : FAIL(NO_MEMORY, "outputs");
}

void model_files_close(struct model_files *f)
{
    output_discard(f->image);
    output_discard(f->digests);
    output_discard(f->chart);
    output_discard(f->logits);
    profile_files_close(&f->profile);
    for (size_t k = 0; f->save && k < f->saves; k++)
        output_discard(f->save[k].file);
    ss_free(f->save);
}

enum emu_status model_files_save(struct model_files *f, size_t k, const struct op_tensor *out)
{
    struct model_save *save = &f->save[k];

    return output_finish(&save->file, npy_write(&out[save->output], output_stream(save->file)));
}

/* ---- logits ---- */

/* A tensor of a file; *data: its numbers, owned by the caller. */
static enum emu_status as_f32(const struct op_tensor *t, const char *name, float **data,
                              struct safetensor *out)
{
    uint64_t n = op_shape_count(&t->shape);

    *out = (struct safetensor){ .name = name,
                                .type = SAFETENSORS_F32,
                                .rank = t->shape.rank,
                                .elements = n,
                                .bytes = n * sizeof(float) };
    for (unsigned k = 0; k < t->shape.rank; k++)
        out->shape[k] = t->shape.dim[k];
    *data = emu_alloc(n + 1, sizeof(**data));
    if (!*data)
        return FAIL(NO_MEMORY, "%s", name);
    for (uint64_t k = 0; k < n; k++)
        (*data)[k] = (float)t->f[k];
    out->data = *data;
    return EMU_OK;
}

enum emu_status model_files_logits(struct model_files *f, const struct op_tensor *input,
                                   const struct op_tensor *logits)
{
    float *data[2] = { NULL, NULL };
    struct safetensor t[2];
    enum emu_status s = as_f32(input, "input", &data[0], &t[0]);

    if (s == EMU_OK)
        s = as_f32(logits, "logits", &data[1], &t[1]);
    if (s == EMU_OK)
        s = safetensors_write_to(t, EMU_COUNT_OF(t), f->logits);
    ss_free(data[0]);
    ss_free(data[1]);
    return output_finish(&f->logits, s);
}
