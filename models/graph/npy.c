/* npy.c - the elements of .npy files as tensors. */
#include "models/graph/npy.h"

#include <string.h>

#include "emu/base/npy_file.h"

static const struct npy_type {
    const char *code; /* without the byte order */
    enum op_type type;
} types[] = {
    { "f2", OP_TYPE_F16 }, { "f4", OP_TYPE_F32 }, { "f8", OP_TYPE_F64 }, { "i1", OP_TYPE_I8 },
    { "i2", OP_TYPE_I16 }, { "i4", OP_TYPE_I32 }, { "i8", OP_TYPE_I64 }, { "u1", OP_TYPE_U8 },
    { "u2", OP_TYPE_U16 }, { "u4", OP_TYPE_U32 }, { "u8", OP_TYPE_U64 }, { "b1", OP_TYPE_BOOL },
};

/* The first index runs fastest in the file. */
static enum emu_status from_fortran(struct op_tensor *t)
{
    uint64_t n = op_shape_count(&t->shape), *from = t->any, *to;
    struct op_tensor turned;

    TRY(op_tensor_new(&t->shape, &turned));
    to = turned.any;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t rest = k, at = 0, stride = n;

        for (unsigned d = t->shape.rank; d-- > 0;) {
            stride /= t->shape.dim[d];
            at += rest % t->shape.dim[d] * stride;
            rest /= t->shape.dim[d];
        }
        to[k] = from[at];
    }
    op_tensor_free(t);
    *t = turned;
    return EMU_OK;
}

enum emu_status npy_read(const void *data, size_t bytes, const char *name, struct op_tensor *out)
{
    struct op_shape s = { .rank = 0 };
    struct npy_array a;

    memset(out, 0, sizeof(*out));
    TRY(npy_find(data, bytes, name, &a));
    for (unsigned k = 0; k < EMU_COUNT_OF(types); k++) {
        if (!strcmp(types[k].code, a.type))
            s.type = types[k].type;
    }
    s.rank = a.rank;
    memcpy(s.dim, a.dim, a.rank * sizeof(*s.dim));
    if (op_shape_check(&s) != EMU_OK)
        return FAIL(BAD_FILE, "%s: more than 2^32 elements", name);
    TRY(op_tensor_unpack(&s, a.data, out));
    return a.fortran ? from_fortran(out) : EMU_OK;
}

enum emu_status npy_write(const struct op_tensor *t, FILE *f)
{
    const struct op_shape *s = &t->shape;
    uint64_t n = op_shape_count(s) * op_type_bytes(s->type);
    const char *code = NULL;
    void *data;

    for (unsigned k = 0; k < EMU_COUNT_OF(types); k++) {
        if (types[k].type == s->type)
            code = types[k].code;
    }
    if (!code)
        return FAIL(BAD_FILE, ".npy files have no type %s", op_type_text(s->type));
    data = emu_alloc(n + 1, 1);
    if (!data)
        return FAIL(NO_MEMORY, "a .npy file");
    npy_write_header(code, s->rank, s->dim, f);
    op_tensor_pack(t, data);
    fwrite(data, 1, n, f);
    ss_free(data);
    return EMU_OK;
}
